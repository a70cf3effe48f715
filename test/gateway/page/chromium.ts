import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Starts the Chromium of this machine. It is a part of the tests, not of the package: no build of it is downloaded. */
export async function startChromium(): Promise<Browser> {
  // Chromium's sandbox does not let root in.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: findChromium(), args });
}

function findChromium(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const path = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
  if (path !== undefined) return path;
  throw new Error(
    `the tests of the pages need Chromium, and none of ${NAMES.join(", ")} is in PATH: on Debian, apt-get install chromium`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
