import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, afterAll, describe, expect, test } from "vitest";
import { type RedisServer, startRedis } from "../adapters/node/redis-server.ts";
import { makeDir, removeDir, type Running, start } from "./run.ts";

const JSON_TYPE = { "content-type": "application/json" };

interface Node {
  readonly url: string;
  readonly dir: string;
  readonly process: Running;
}

let redis: RedisServer;
const dirs: string[] = [];
const nodes: Running[] = [];

beforeAll(async () => {
  redis = await startRedis(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
});

afterEach(async () => {
  for (const node of nodes) node.signal("SIGKILL");
  await Promise.all(nodes.splice(0).map(({ ended }) => ended));
  for (const dir of dirs.splice(0)) await removeDir(dir);
});

afterAll(() => redis.close());

async function makeConfig(config: object): Promise<string> {
  const dir = await makeDir({ "hooks.json": { hooks: {}, ...config } });
  dirs.push(dir);
  return dir;
}

/** A gateway in a process of its own. */
async function serve(dir: string): Promise<Node> {
  const process = start(["serve", "--port", "0"], { cwd: dir, env: { HOME: dir } });
  nodes.push(process);
  const greeting = await process.seen("try it:");
  return { process, dir, url: /listens on (\S+)/.exec(greeting)?.[1] ?? "" };
}

const BASH = { allow_session_bash: true };

/** Two gateways on one store. */
async function serveTwo(yaml: object = BASH, store = redis.newUrl()): Promise<readonly [Node, Node]> {
  const dir = await makeConfig({ yaml, approvals: { store } });
  return Promise.all([serve(dir), serve(dir)]);
}

interface Outcome {
  readonly action?: string;
  readonly retry_feedback?: string;
  readonly halted: boolean;
  readonly trace: { readonly records: readonly { readonly hook: string; readonly kind?: string }[] };
}

async function run({ url }: Node, params: object = { event: "stop", session_id: "s" }): Promise<Outcome> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.run", params });
  const answer = await fetch(`${url}/rpc`, { method: "POST", headers: JSON_TYPE, body });
  return ((await answer.json()) as { result: Outcome }).result;
}

const says = (text: string, more: object = {}): object => ({
  event: "stop",
  command: `echo '${JSON.stringify({ retry_feedback: text })}'`,
  ...more,
});

function register({ url }: Node, definition: object, session = "s"): Promise<Response> {
  const body = JSON.stringify(definition);
  return fetch(`${url}/v1/session-hooks/${session}`, { method: "POST", headers: JSON_TYPE, body });
}

function remove({ url }: Node, rest = ""): Promise<Response> {
  return fetch(`${url}/v1/session-hooks/s${rest}`, { method: "DELETE" });
}

async function list({ url }: Node, session = "s"): Promise<readonly { readonly label: string }[]> {
  const answer = await fetch(`${url}/v1/session-hooks/${session}`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { hooks: { label: string }[] }).hooks;
}

/** Runs the event until it comes to what is expected, which another gateway has changed. */
async function runsTo(node: Node, feedback: string | undefined): Promise<void> {
  while ((await run(node)).retry_feedback !== feedback);
}

describe("hooks of sessions on two gateways and one Redis", { timeout: 60_000 }, () => {
  test("are registered at one and run at the other, and are gone from both at once", async () => {
    const [a, b] = await serveTwo();
    expect((await run(b)).trace.records).toEqual([]);
    expect(await (await register(a, says("one"))).json()).toEqual({ session_index: 0 });
    expect(await list(b)).toMatchObject([{ session_index: 0, type: "bash" }]);
    expect((await run(b)).retry_feedback).toBe("one");
    expect(await (await register(b, says("two"))).json()).toEqual({ session_index: 1 });
    await runsTo(a, "two");
    expect((await remove(a, "/1")).status).toBe(200);
    await runsTo(b, "one");
    expect((await remove(b, "/1")).status).toBe(400);
    expect((await remove(a)).status).toBe(200);
    await runsTo(b, undefined);
    expect([await list(a), await list(b)]).toEqual([[], []]);
  });

  test("outlive a gateway that is killed", async () => {
    const [a, b] = await serveTwo();
    for (const text of ["one", "two"]) expect((await register(a, says(text))).status).toBe(201);
    a.process.signal("SIGKILL");
    await a.process.ended;
    expect((await run(b)).retry_feedback).toBe("two");
    const again = await serve(a.dir);
    expect(await list(again)).toHaveLength(2);
    expect((await run(again)).trace.records).toHaveLength(2);
  });

  test("are all there when fifty are registered at once, and no more than may", async () => {
    const [a, b] = await serveTwo({ ...BASH, max_session_hooks: 40 });
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const answer = await register(index % 2 === 0 ? a : b, { event: "stop", command: `true ${index}` });
        const { session_index: at } = (await answer.json()) as { session_index?: number };
        return { status: answer.status, label: `true ${index}`, at };
      }),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(10);
    expect(made).toHaveLength(40);
    const inOrder = made.toSorted((left, right) => (left.at ?? 0) - (right.at ?? 0));
    for (const node of [a, b]) {
      expect((await list(node)).map(({ label }) => label)).toEqual(inOrder.map(({ label }) => label));
    }
  });

  test("are refused with 503 while the store is down, run on where they are known, and are back with it", async () => {
    const [a, b] = await serveTwo();
    expect((await register(a, says("one"))).status).toBe(201);
    expect((await run(a)).retry_feedback).toBe("one");
    await redis.kill();
    const refused = await register(a, says("two"));
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: -32002, data: { reason: "store_unavailable" } } });
    expect((await remove(a)).status).toBe(503);
    expect((await fetch(`${b.url}/v1/session-hooks/s`)).status).toBe(503);
    const readiness = await (await fetch(`${b.url}/readyz`)).json();
    expect(readiness).toMatchObject({ status: "degraded", approvals: { store: "redis", available: false } });
    expect((await run(a)).retry_feedback).toBe("one");
    const unknown = await run(b, { event: "pre_tool_execution", session_id: "s", tool_name: "ls" });
    expect(unknown).toMatchObject({
      halted: false,
      trace: { records: [{ hook: "session.store", kind: "store_unavailable", failed_open: true }] },
    });
    expect((await run(b, { event: "stop" })).halted).toBe(false);
    await redis.start();
    await runsTo(b, "one");
    expect(await list(b)).toHaveLength(1);
    while ((await register(b, says("two"))).status !== 201);
    await runsTo(a, "two");
  });

  test("are a command only where the gateway's own config allows that", async () => {
    const store = redis.newUrl();
    const [dir, strict] = [
      await makeConfig({ yaml: BASH, approvals: { store } }),
      await makeConfig({ yaml: true, approvals: { store } }),
    ];
    const [a, b] = await Promise.all([serve(dir), serve(strict)]);
    const guard = { event: "pre_tool_execution", command: "touch owned", on_error: "abort" };
    for (const definition of [says("one"), guard]) expect((await register(a, definition)).status).toBe(201);
    expect(await run(b)).toMatchObject({ halted: false, trace: { records: [] } });
    const guarded = await run(b, { event: "pre_tool_execution", session_id: "s", tool_name: "ls" });
    expect(guarded).toMatchObject({ action: "stop", trace: { records: [{ kind: "unsupported_runtime" }] } });
    await b.process.seenError("bash hooks may not be registered here");
    expect((await run(a)).retry_feedback).toBe("one");
  });
});

describe("hooks of sessions in SQLite", { timeout: 60_000 }, () => {
  test("are there after the gateway was killed, until the session ends", async () => {
    const dir = await makeConfig({ yaml: BASH, approvals: {} });
    const first = await serve(dir);
    expect((await register(first, says("one"))).status).toBe(201);
    first.process.signal("SIGKILL");
    await first.process.ended;
    const second = await serve(dir);
    expect((await run(second)).retry_feedback).toBe("one");
    await run(second, { event: "session_end", session_id: "s" });
    expect(await list(second)).toEqual([]);
    second.process.signal("SIGTERM");
    expect((await second.process.ended).code).toBe(0);
    expect(await list(await serve(dir))).toEqual([]);
  });

  test("are seen by another gateway of the machine within a second", async () => {
    const [a, b] = await serveTwo(BASH, "sqlite:shared.db");
    expect((await run(b)).trace.records).toEqual([]);
    expect((await register(a, says("one"))).status).toBe(201);
    await runsTo(b, "one");
    expect((await remove(a)).status).toBe(200);
    await runsTo(b, undefined);
  });

  test("are no affair of a command that asks the hooks of a config by itself", async () => {
    const dir = await makeConfig({ yaml: BASH, approvals: {} });
    const node = await serve(dir);
    expect((await register(node, says("one"))).status).toBe(201);
    const here = await start(["run", "stop", "--session", "s", "--json"], { cwd: dir, env: { HOME: dir } }).ended;
    expect([here.code, JSON.parse(here.stdout)]).toMatchObject([0, { halted: false, trace: { records: [] } }]);
    const there = await start(["run", "stop", "--session", "s", "--url", node.url], { cwd: dir }).ended;
    expect(there.stdout).toContain("one");
  });

  test.each([
    ["memory", { store: "memory" }],
    ["sqlite", {}],
  ])("and in %s are neither lost nor doubled by a reload", async (_, approvals) => {
    const config = { hooks: {}, yaml: BASH, approvals };
    const dir = await makeConfig(config);
    const node = await serve(dir);
    for (const text of ["one", "two"]) expect((await register(node, says(text))).status).toBe(201);
    for (const yaml of [{ ...BASH, max_session_hooks: 9 }, BASH]) {
      await write(dir, { ...config, yaml });
      const answer = await fetch(`${node.url}/v1/reload`, { method: "POST" });
      expect(await answer.json()).toMatchObject({ ok: true, warnings: [] });
      expect(await list(node)).toHaveLength(2);
      expect(await run(node)).toMatchObject({ retry_feedback: "two", trace: { records: [{}, {}] } });
    }
  });

  test("are taken over from memory when a reload brings the store", async () => {
    const dir = await makeConfig({ yaml: BASH });
    const node = await serve(dir);
    expect((await register(node, says("one"))).status).toBe(201);
    await write(dir, { hooks: {}, yaml: BASH, approvals: {} });
    await fetch(`${node.url}/v1/reload`, { method: "POST" });
    expect((await run(node)).retry_feedback).toBe("one");
    node.process.signal("SIGKILL");
    await node.process.ended;
    expect((await run(await serve(dir))).retry_feedback).toBe("one");
  });
});

/** Puts a config in place in one step, as a deployment does. */
async function write(dir: string, config: object): Promise<void> {
  await writeFile(join(dir, "next"), JSON.stringify(config));
  await rename(join(dir, "next"), join(dir, "hooks.json"));
}
