import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Running, start } from "../cli/run.ts";

const ROOT = join(import.meta.dirname, "../..");
const DEFAULT_URL = "http://127.0.0.1:8787";
/** What these tests are themselves a part of, or what would not end. */
const NOT_RUN: ReadonlySet<string> = new Set(["npm ci && npm start", "npm ci && npm test"]);

interface Block {
  readonly at: string;
  readonly script: string;
  readonly needsGateway: boolean;
  readonly exitCode: number;
}

/** The shell blocks of a document; a comment before one may say `run: gateway` or `run: exit N`. */
function readBlocks(file: string): readonly Block[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return Array.from(text.matchAll(/(?:<!-- run: (?<how>[^>]+) -->\n)?```sh\n(?<script>[^]*?)```/g), (match) => {
    const { how = "", script = "" } = match.groups ?? {};
    const line = text.slice(0, match.index).split("\n").length;
    const exitCode = Number(/exit (\d+)/.exec(how)?.[1] ?? 0);
    return { at: `${file}:${line}`, script: script.trim(), needsGateway: how.includes("gateway"), exitCode };
  });
}

const documents = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)];
const blocks = documents.filter((name) => name.endsWith(".md")).flatMap(readBlocks);

let gateway: Running;
let url: string;

beforeAll(async () => {
  gateway = start(["serve", "--config", "examples/hooks.json", "--port", "0"], { cwd: ROOT });
  const greeting = await gateway.seen("try it:");
  url = /listens on (\S+)/.exec(greeting)?.[1] ?? "";
});

afterAll(async () => {
  gateway.signal("SIGTERM");
  await gateway.ended;
});

test.for(blocks.filter(({ script }) => !NOT_RUN.has(script)))("$at", { timeout: 60_000 }, async (block) => {
  const script = block.needsGateway ? block.script.replaceAll(DEFAULT_URL, url) : block.script;
  const { code, output } = await runScript(script);
  expect(output, output).not.toContain("command not found");
  expect(code, output).toBe(block.exitCode);
});

test("every document has been read", () => {
  expect(blocks.filter(({ script }) => NOT_RUN.has(script))).toHaveLength(NOT_RUN.size);
  expect(blocks.length).toBeGreaterThan(NOT_RUN.size);
});

async function runScript(script: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const path = [join(ROOT, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const env = { ...process.env, PATH: path, HOOKGATE_URL: url };
  const child = spawn("bash", ["-euo", "pipefail", "-c", script], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
