import { readFile } from "node:fs/promises";

/** The manifest beside the sources, and beside `dist` when this is built. */
const MANIFESTS = ["../../package.json", "../../../package.json"];

/** The version of this package, from its manifest. */
export async function readVersion(): Promise<string> {
  for (const path of MANIFESTS) {
    const manifest = await readFile(new URL(path, import.meta.url), "utf8").catch(() => undefined);
    const version = manifest === undefined ? undefined : /"version": *"([^"]+)"/.exec(manifest)?.[1];
    if (version !== undefined) return version;
  }
  return "unknown";
}
