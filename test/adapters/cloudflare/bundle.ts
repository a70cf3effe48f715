import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROOT } from "./wrangler.ts";

/** A Worker's script as it is deployed. */
export interface Bundle {
  readonly script: string;
  readonly minifiedBytes: number;
  readonly gzipBytes: number;
}

/** Bundles and minifies a Worker as `wrangler deploy --minify` does. */
export async function bundleWorker(entry: string): Promise<Bundle> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    write: false,
    logLevel: "silent",
  });
  const script = outputFiles[0]?.text ?? "";
  const bytes = Buffer.from(script);
  return { script, minifiedBytes: bytes.length, gzipBytes: gzipSync(bytes).length };
}
