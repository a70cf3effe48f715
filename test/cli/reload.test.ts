import { createHash } from "node:crypto";
import { once } from "node:events";
import { rename, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { hook, makeDir, removeDir, run, type Running, start } from "./run.ts";

const IN_FLIGHT = 2000;

let dir = "";
let gateway: Running | undefined;
let url = "";
const agent = new Agent({ connections: IN_FLIGHT + 100, bodyTimeout: 0, headersTimeout: 0 });

afterEach(async () => {
  gateway?.signal("SIGKILL");
  await gateway?.ended;
  gateway = undefined;
  await removeDir(dir);
});

async function serve(config: unknown, files: Readonly<Record<string, unknown>> = {}): Promise<void> {
  dir = await makeDir({ "hooks.json": config, ...files });
  gateway = start(["serve", "--port", "0"], { cwd: dir });
  url = /http:\S+/.exec(await gateway.seen("try it:"))?.[0] ?? "";
}

/** Writes the config in one step, as a deployment does. */
async function write(config: unknown): Promise<void> {
  await writeFile(join(dir, "next.json"), typeof config === "string" ? config : JSON.stringify(config));
  await rename(join(dir, "next.json"), join(dir, "hooks.json"));
}

async function post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const text = body === undefined ? null : JSON.stringify(body);
  const sent = { "content-type": "application/json", ...headers };
  const answer = await request(`${url}${path}`, { method: "POST", headers: sent, body: text, dispatcher: agent });
  return answer.body.json();
}

interface CheckAnswer {
  readonly result: { readonly action: string; readonly reason?: string };
}

function check(tool: string): Promise<CheckAnswer> {
  return post("/rpc", { jsonrpc: "2.0", id: 1, method: "hook.check_tool", params: { tool } }) as Promise<CheckAnswer>;
}

async function get(path: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const response = await fetch(`${url}${path}`);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

interface HookStatus {
  readonly name: string;
  readonly pid?: number;
  readonly calls: number;
}

async function hookNamed(name: string): Promise<HookStatus> {
  const { body } = await get("/v1/hooks");
  const found = (body["hooks"] as readonly HookStatus[]).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no hook ${name}`);
  return found;
}

const denies = (reason: string): object => hook({ "hook.before_tool": { action: "deny_tool", reason } });
const config = (processes: object, gatewayPart: object = {}): unknown => ({
  hooks: { processes },
  gateway: { port: 0, limits: { max_concurrency: 10_000 }, ...gatewayPart },
});

/** Holds its calls until it has as many as told and the server it then asks has answered. */
const HOLDING = `
const [url, count] = process.argv.slice(2);
const held = [];
require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method } = JSON.parse(line);
  const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  if (method === "hook.hello") return reply(id, {});
  held.push(id);
  if (held.length !== Number(count)) return;
  await fetch(url);
  for (const each of held) reply(each, { action: "deny_tool", reason: "old" });
});`;

const both = (label: string): unknown =>
  config({
    rewrite: hook({ "hook.before_tool": {} }, { command: ["node", "telling.cjs", label] }),
    approve: hook({ "hook.approve_tool": {} }, { command: ["node", "telling.cjs", label] }),
  });

describe("a reload under load", () => {
  test("loses none of 2,000 calls in flight: they are answered by the hooks they began with", async () => {
    const control = createServer();
    const allArrived = once(control, "request") as Promise<[IncomingMessage, ServerResponse]>;
    control.listen(0, "127.0.0.1");
    await once(control, "listening");
    const address = control.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const holding = ["node", "holding.cjs", `http://127.0.0.1:${port}`, String(IN_FLIGHT)];
    const timeouts = { interceptor_timeout_ms: 120_000 };
    const first = config({
      gate: hook({ "hook.before_tool": {} }, { command: holding, max_concurrency: IN_FLIGHT }),
    }) as { hooks: object };
    await serve({ ...first, hooks: { ...first.hooks, defaults: timeouts } }, { "holding.cjs": HOLDING });

    const calls = Promise.all(Array.from({ length: IN_FLIGHT }, () => check("bash")));
    const [, held] = await allArrived;
    await write(config({ gate: denies("new") }));
    expect(await post("/v1/reload")).toMatchObject({ ok: true, generation: 2, started: ["gate"], ended: ["gate"] });
    const later = await Promise.all(Array.from({ length: 200 }, () => check("bash")));
    expect(new Set(later.map(({ result }) => result.reason))).toEqual(new Set(["new"]));
    held.end();
    const reasons = (await calls).map(({ result }) => result.reason);
    expect(reasons).toHaveLength(IN_FLIGHT);
    expect(new Set(reasons)).toEqual(new Set(["old"]));
    control.close();
    gateway?.signal("SIGTERM");
    expect(await gateway?.ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("the hooks of before are ended generation=1") as unknown,
    });
  }, 120_000);

  /** Says which config it has: as a rewrite, and beside the rewrite it is shown. */
  const TELLING = `
const [label] = process.argv.slice(2);
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const results = {
    "hook.before_tool": { action: "modify", call: { tool: "bash", arguments: { label } } },
    "hook.approve_tool": { approved: false, reason: params.arguments?.label + " " + label },
  };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
});`;

  test("never mixes two configs in one decision, whatever reload it meets", async () => {
    await serve(both("c1"), { "telling.cjs": TELLING });
    const seen = new Map<string, number>();
    const phase = { isDone: false };
    const callers = Array.from({ length: 50 }, async () => {
      while (!phase.isDone) {
        const { result } = await check("bash");
        const reason = result.reason ?? "none";
        seen.set(reason, (seen.get(reason) ?? 0) + 1);
      }
    });
    for (let generation = 2; generation <= 6; generation += 1) {
      await write(both(`c${generation}`));
      expect(await post("/v1/reload")).toMatchObject({ ok: true, generation });
      await check("bash");
    }
    phase.isDone = true;
    await Promise.all(callers);
    expect([...seen.keys()].toSorted()).toEqual(["c1 c1", "c2 c2", "c3 c3", "c4 c4", "c5 c5", "c6 c6"]);
  }, 60_000);
});

const withKey = (key: string): unknown => config({ gate: { ...denies("no"), env: { KEY: key } } });

/** A hook that asks a server for its label when it starts. */
const talks = (label: string): object =>
  hook(
    { "hook.before_tool": {} },
    {
      command: [
        "node",
        "-e",
        `process.argv.splice(1, 0, ""); require("node:http").get(process.argv[2] + "/${label}"); process.argv.splice(1, 1); require("./hook.cjs")`,
        "URL",
        "{}",
      ],
    },
  );

const tokens = (...names: readonly string[]): object => ({
  auth: {
    tokens: names.map((name) => ({
      name,
      sha256: createHash("sha256").update(name).digest("hex"),
      scopes: name === "bot" ? ["call", "observe"] : ["admin"],
    })),
  },
});

const reload = (token?: string): Promise<unknown> =>
  post("/v1/reload", undefined, token === undefined ? {} : { authorization: `Bearer ${token}` });

describe("a reload", { timeout: 60_000 }, () => {
  test("keeps a hook that is the same with its process and counters, though its place and its trust change", async () => {
    await serve(config({ same: denies("no"), other: denies("one") }));
    await check("bash");
    const before = await hookNamed("same");
    await write(config({ other: denies("two"), same: { ...denies("no"), priority: -5, grants: [] } }));
    expect(await post("/v1/reload")).toMatchObject({ ok: true, started: ["other"], kept: ["same"], ended: ["other"] });
    await check("bash");
    const after = await hookNamed("same");
    expect([after.pid, after.calls]).toEqual([before.pid, before.calls + 1]);
  });

  test("starts a hook again whose variables in the environment or in the file have changed, and shows none", async () => {
    await serve(withKey("s3cret-1"));
    const { pid } = await hookNamed("gate");
    await write(withKey("s3cret-2"));
    const report = await post("/v1/reload");
    expect(report).toMatchObject({ started: ["gate"] });
    expect(JSON.stringify(report)).not.toContain("s3cret");
    expect((await hookNamed("gate")).pid).not.toBe(pid);
    gateway?.signal("SIGTERM");
    expect((await gateway?.ended)?.stderr).not.toContain("s3cret");
  });

  test.each<readonly [string, unknown, string]>([
    ["text that is not JSON", "{", "not JSON"],
    ["an unknown key", config({ gate: { ...denies("x"), prioritty: 1 } }), 'did you mean "priority"'],
    [
      "a required hook that does not come up",
      config({ gate: denies("new"), gone: { ...denies("x"), command: ["hookgate-no-such"], required: true } }),
      'required hook "gone" did not come up',
    ],
    ["another port", config({ gate: denies("new") }, { port: 1 }), "gateway.port: another port needs a restart"],
    ["another address", config({ gate: denies("new") }, { host: "::1" }), "gateway.host: another address needs a re"],
  ])("that meets %s changes nothing and says so everywhere", async (_name, next, problem) => {
    dir = await makeDir({ "hooks.json": config({ gate: denies("old") }) });
    gateway = start(["serve"], { cwd: dir });
    url = /http:\S+/.exec(await gateway.seen("try it:"))?.[0] ?? "";
    const { pid } = await hookNamed("gate");
    await write(next);
    const told = await run(["reload", "--url", url], { cwd: dir });
    expect(told.code).toBe(1);
    expect(told.stdout).toMatch(/^not reloaded: the old config \(generation 1\) goes on\n/);
    expect(told.stdout).toContain(problem);
    const { status, body } = await get("/readyz");
    expect([status, body["status"], body["generation"]]).toEqual([200, "ready", 1]);
    expect(JSON.stringify(body["reload_failed"])).toContain(JSON.stringify(problem).slice(1, -1));
    expect((await check("bash")).result.reason).toBe("old");
    expect((await hookNamed("gate")).pid).toBe(pid);
    await write(config({ gate: denies("mended") }));
    expect((await run(["reload", "--url", url], { cwd: dir })).code).toBe(0);
    expect((await get("/readyz")).body).toEqual({
      status: "ready",
      // The file's change may have been seen before the command.
      generation: expect.any(Number) as unknown,
      hooks: [],
    });
    gateway.signal("SIGTERM");
    expect((await gateway.ended).stderr).toContain("not reloaded: the old configuration stays");
  });

  test("takes a hook that is not required and not up, with a warning, and starts it anew the next time", async () => {
    await serve(config({ gate: { ...denies("x"), command: ["node", "late.cjs"] } }));
    expect(await post("/v1/reload")).toMatchObject({
      ok: true,
      warnings: [expect.stringContaining('hook "gate" is ')],
    });
    await writeFile(
      join(dir, "late.cjs"),
      'process.argv[2] = \'{"hook.before_tool":{"action":"deny_tool"}}\'; require("./hook.cjs");',
    );
    expect(await post("/v1/reload")).toMatchObject({ ok: true, started: ["gate"], warnings: [] });
    expect((await check("bash")).result.action).toBe("deny_tool");
  });

  test("follows the file by itself, and SIGHUP", async () => {
    const starts: string[] = [];
    const waiting = new Map<string, () => void>();
    const control = createServer((incoming, response) => {
      starts.push(incoming.url ?? "");
      waiting.get(incoming.url ?? "")?.();
      response.end();
    });
    control.listen(0, "127.0.0.1");
    await once(control, "listening");
    const address = control.address();
    const at = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    const started = (label: string): Promise<void> =>
      new Promise((resolve) => {
        waiting.set(label, resolve);
        if (starts.includes(label)) resolve();
      });
    const withLabel = (label: string): unknown =>
      JSON.parse(JSON.stringify(config({ gate: talks(label) })).replace("URL", at));
    await serve(withLabel("first"));
    await write(withLabel("renamed"));
    await started("/renamed");
    await writeFile(join(dir, "hooks.json"), JSON.stringify(withLabel("written")));
    await started("/written");
    await writeFile(join(dir, "hooks.json"), JSON.stringify(withLabel("signalled")));
    gateway?.signal("SIGHUP");
    await started("/signalled");
    expect(starts).toEqual(["/first", "/renamed", "/written", "/signalled"]);
    control.close();
  }, 60_000);

  test("wants a token of scope admin where there are tokens, and takes new tokens", async () => {
    await serve(config({}, tokens("bot", "boss")));
    expect(await reload()).toMatchObject({ error: { code: -32_001 } });
    expect(await reload("bot")).toMatchObject({
      error: { code: -32_001, message: expect.stringContaining("admin") as unknown },
    });
    await write(config({}, tokens("chief")));
    expect(await reload("boss")).toMatchObject({ ok: true });
    expect(await reload("boss")).toMatchObject({ error: { code: -32_001 } });
    const told = await run(["reload", "--url", url, "--token-env", "T"], { cwd: dir, env: { T: "chief" } });
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining("reloaded: generation 3\n") as unknown });
    const refused = await run(["reload", "--url", url], { cwd: dir });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("HTTP status 401") as unknown });
  });

  test("is told apart from a gateway that is not there", async () => {
    dir = await makeDir({});
    const { code, stderr } = await run(["reload", "--url", "http://127.0.0.1:9"], { cwd: dir });
    expect(stderr).toMatch(/^error: the gateway at http:\/\/127\.0\.0\.1:9 cannot be reached: /);
    expect(code).toBe(3);
  });
});
