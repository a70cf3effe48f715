import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ChainVerifier } from "../../../src/records/index.ts";
import { type Dev, freePort, ROOT, startDev } from "./wrangler.ts";

const START_MS = 60_000;
const CALL_COUNT = 10;
const CONSUMER = `export default {
  async fetch() { return new Response("consumer"); },
  async queue(batch) { for (const { body } of batch.messages) console.log("consumed " + JSON.parse(body).id); },
};`;
const COMMON = { compatibility_date: "2026-11-01", compatibility_flags: ["enable_request_signal"] };

/** A collector that keeps lines, and can be told to fail. */
interface Collector {
  readonly server: Server;
  readonly url: string;
  readonly lines: string[];
  status: number;
  /** Resolves when it has so many lines. */
  has(count: number): Promise<void>;
}

async function startCollector(): Promise<Collector> {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const isKept = collector.status === 204 && request.headers.authorization === "Bearer collect";
      if (isKept) lines.push(...body.trimEnd().split("\n"));
      response.writeHead(isKept ? 204 : 503).end();
      for (const check of waiting) check();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const collector: Collector = {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/records`,
    lines,
    status: 204,
    has: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (lines.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
  return collector;
}

const seqOf = (text: string): number => (JSON.parse(text) as { readonly seq: number }).seq;

async function chainOf(texts: readonly string[]): Promise<unknown> {
  const verifier = new ChainVerifier((text) => createHash("sha256").update(text).digest("hex"));
  for (const text of texts.toSorted((a, b) => seqOf(a) - seqOf(b))) await verifier.add(text);
  const { count, problems } = verifier.end();
  return { count, problems };
}

let collector: Collector;
let dev: Dev;
let dir: string;

beforeAll(async () => {
  collector = await startCollector();
  dir = await mkdtemp(join(tmpdir(), "hookgate-worker-records-"));
  await writeFile(join(dir, "consumer.js"), CONSUMER);
  const http = { url: collector.url, headers: { authorization: "Bearer ${env:COLLECT}" } };
  const gateway = {
    ...COMMON,
    name: "gateway",
    main: join(ROOT, "adapters/cloudflare/worker.ts"),
    vars: {
      HOOKGATE_DEV: "1",
      COLLECT: "collect",
      HOOKGATE_CONFIG: {
        hooks: { builtins: { deny_tools: { enabled: true, config: { tools: ["format_disk"] } } } },
        records: {
          console: true,
          http,
          queue: "DECISIONS",
          record: { payload: "masked", mask: ["arguments.password"] },
        },
      },
    },
    queues: { producers: [{ binding: "DECISIONS", queue: "decisions" }] },
  };
  const consumer = {
    ...COMMON,
    name: "consumer",
    main: join(dir, "consumer.js"),
    queues: { consumers: [{ queue: "decisions", max_batch_size: 5, max_batch_timeout: 1 }] },
  };
  const configs: string[] = [];
  for (const worker of [gateway, consumer]) {
    configs.push(join(dir, `${worker.name}.json`));
    await writeFile(configs.at(-1)!, JSON.stringify(worker));
  }
  dev = await startDev({ configs, port: await freePort(), stateDir: join(dir, "state") });
}, START_MS);

afterAll(async () => {
  await dev.stop();
  collector.server.close();
  await rm(dir, { recursive: true, force: true });
});

async function call(tool: string): Promise<string> {
  const params = { tool, arguments: { password: "hunter2", path: "/" } };
  const reply = await fetch(`${dev.url}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params }),
  });
  const { result } = (await reply.json()) as { readonly result: { readonly trace: { readonly id: string } } };
  return result.trace.id;
}

test("each decision is a line on the console, at the collector and in the queue, in one chain, with nothing masked in it", async () => {
  const ids = await Promise.all(Array.from({ length: CALL_COUNT }, () => call("format_disk")));
  await collector.has(CALL_COUNT);
  const records = collector.lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  expect(records.map(({ id }) => String(id)).toSorted()).toEqual(ids.toSorted());
  for (const { action, tool, input } of records) {
    expect({ action, tool, input }).toEqual({
      action: "deny_tool",
      tool: "format_disk",
      input: expect.objectContaining({ arguments: { password: "[masked]", path: "/" } }) as unknown,
    });
  }
  expect(await chainOf(collector.lines)).toEqual({ count: CALL_COUNT, problems: [] });
  for (const id of ids) await dev.seen(`consumed ${id}`);
  const printed = dev.output().match(/^(?:\[gateway\] )?\{"action":"deny_tool".*$/gm) ?? [];
  expect(printed).toHaveLength(CALL_COUNT);
  expect(dev.output()).not.toContain("hunter2");
});

test("while the collector is down decisions go on and /readyz says so; what it missed comes with a later request", async () => {
  const before = collector.lines.length;
  collector.status = 503;
  await call("format_disk");
  await dev.seen("records cannot be written");
  const ready = await fetch(`${dev.url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([200, { status: "degraded" }]);
  collector.status = 204;
  await call("format_disk");
  await collector.has(before + 2);
  expect(await chainOf(collector.lines)).toEqual({ count: before + 2, problems: [] });
});

test("paths that a gateway on Node has say where to look instead", async () => {
  const reply = await fetch(`${dev.url}/v1/records`);
  expect([reply.status, await reply.text()]).toEqual([404, expect.stringContaining("console and http and queue")]);
});
