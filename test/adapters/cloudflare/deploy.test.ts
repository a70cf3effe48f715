import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startWrangler } from "./wrangler.ts";

const KIB = 1024;

// The pages are 75 KiB of the gateway, of which the style sheet is 15; approvals are 60, session hooks in a store 12.
test.for([
  { name: "the gateway", config: "wrangler.toml", maxMinifiedKib: 675, maxGzipKib: 229 },
  { name: "the endpoint", config: "examples/approval-worker/wrangler.toml", maxMinifiedKib: 180, maxGzipKib: 56 },
])("$name passes wrangler deploy --dry-run, within its size", { timeout: 60_000 }, async (worker) => {
  const { name, config, maxMinifiedKib, maxGzipKib } = worker;
  const dir = await mkdtemp(join(tmpdir(), "hookgate-deploy-"));
  const wrangler = startWrangler(["deploy", "--dry-run", "--minify", "--outdir", dir, "-c", config]);
  expect(await wrangler.ended, wrangler.output()).toBe(0);
  expect(wrangler.output()).not.toMatch(/warning/i);
  const script = await readFile(join(dir, "worker.js"));
  const [minifiedKib, gzipKib] = [script.length / KIB, gzipSync(script).length / KIB];
  console.log(`${name}: ${minifiedKib.toFixed(0)} KiB minified, ${gzipKib.toFixed(0)} KiB gzip`);
  expect(minifiedKib).toBeLessThan(maxMinifiedKib);
  expect(gzipKib).toBeLessThan(maxGzipKib);
  await rm(dir, { recursive: true });
});
