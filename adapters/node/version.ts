import { readFile } from "node:fs/promises";

/** The package's directory from beside the sources, and from beside `dist` when this is built. */
const ROOTS = ["../../", "../../../"];

/**
 * The text of a file of this package.
 * @throws when there is none
 */
export async function readPackageFile(path: string): Promise<string> {
  for (const root of ROOTS) {
    const text = await readFile(new URL(root + path, import.meta.url), "utf8").catch(() => undefined);
    if (text !== undefined) return text;
  }
  throw new Error(`this package has no ${path}`);
}

/** The version of this package, from its manifest. */
export async function readVersion(): Promise<string> {
  const manifest = await readPackageFile("package.json").catch(() => "");
  return /"version": *"([^"]+)"/.exec(manifest)?.[1] ?? "unknown";
}
