import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { hook, makeDir, removeDir, run, type Running, start } from "./run.ts";

let dir = "";
let gateway: Running | undefined;
let url = "";

afterEach(async () => {
  gateway?.signal("SIGKILL");
  await gateway?.ended;
  gateway = undefined;
  await removeDir(dir);
});

async function serve(config: object, files: Readonly<Record<string, string>> = {}): Promise<void> {
  dir = await makeDir({ "hooks.json": { hooks: {}, ...config }, ...files });
  gateway = start(["serve", "--port", "0"], { cwd: dir, env: { HOME: dir } });
  url = /http:\S+/.exec(await gateway.seen("try it:"))?.[0] ?? "";
}

/** Puts a file in place in one step, as a deployment does. */
async function write(name: string, content: unknown): Promise<void> {
  await writeFile(join(dir, "next"), typeof content === "string" ? content : JSON.stringify(content));
  await rename(join(dir, "next"), join(dir, name));
}

async function reload(token = ""): Promise<unknown> {
  const response = await fetch(`${url}/v1/reload`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
  return response.json();
}

async function ask(tool: string): Promise<{ readonly id: string; readonly reason: string; readonly action: string }> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params: { tool } });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/rpc`, { method: "POST", headers, body });
  const { result } = (await response.json()) as {
    result: { action: string; reason?: string; trace: { id: string } };
  };
  return { id: result.trace.id, reason: result.reason ?? "", action: result.action };
}

interface Kept {
  readonly id: string;
  readonly generation: number;
  readonly reason: string;
  readonly input?: { readonly tool: string };
}

/** What is kept in a database once the gateway has ended, oldest first. */
async function keptIn(file: string): Promise<readonly Kept[]> {
  const { stdout } = await run(["records", "export", "--file", file], { cwd: dir });
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Kept);
}

async function stop(): Promise<string> {
  gateway?.signal("SIGTERM");
  const ended = await gateway?.ended;
  gateway = undefined;
  expect(ended?.code).toBe(0);
  return ended?.stderr ?? "";
}

const denies = (reason: string): object => hook({ "hook.before_tool": { action: "deny_tool", reason } });
const recording = (reason: string, records: object): object => ({
  hooks: { processes: { gate: denies(reason) } },
  records,
});

/** A hook file whose one hook skips a tool (`deny_tool` for the host) or stops the turn (`abort_turn`). */
const yamlSaying = (action: "skip" | "stop"): string =>
  `pre_tool_execution:\n  - command: 'echo ''{"action":"${action}"}'''\n`;

const withTokens = (...names: readonly string[]): object => ({
  hooks: {},
  gateway: {
    auth: {
      tokens: [
        { name: "boss", sha256: sha256("boss"), scopes: ["admin"] },
        ...names.map((name) => ({ name, sha256: sha256(name), scopes: ["observe"] })),
      ],
    },
  },
  records: {},
});

describe("a reload", { timeout: 60_000 }, () => {
  test("gives every record the generation that decided", async () => {
    const records = { sqlite: { path: "r.db" } };
    await serve(recording("one", records));
    const first = await ask("bash");
    await write("hooks.json", recording("two", records));
    expect(await reload()).toMatchObject({ ok: true, generation: 2 });
    const second = await ask("bash");
    await write("hooks.json", "{");
    expect(await reload()).toMatchObject({ ok: false, generation: 2 });
    const third = await ask("bash");
    await stop();
    expect((await keptIn("r.db")).map(({ id, generation, reason }) => [id, generation, reason])).toEqual([
      [first.id, 1, "one"],
      [second.id, 2, "two"],
      [third.id, 2, "two"],
    ]);
    expect((await run(["records", "verify", "--file", "r.db"], { cwd: dir })).code).toBe(0);
  });

  test("records as the new config says, and loses no decision on the way", async () => {
    await serve(recording("one", { sqlite: { path: "a.db" } }));
    const phase = { isDone: false };
    const ids: string[] = [];
    const callers = Array.from({ length: 8 }, async () => {
      while (!phase.isDone) ids.push((await ask("bash")).id);
    });
    const full = { record: { payload: "full" } };
    await write("hooks.json", recording("two", { ...full, sqlite: { path: "b.db" } }));
    expect(await reload()).toMatchObject({ ok: true, warnings: [] });
    const { records } = (await (await fetch(`${url}/v1/records`)).json()) as { records: readonly Kept[] };
    expect(records.every(({ input }) => input?.tool === "bash")).toBe(true);
    // The same place with another payload: one writes after the other, so its chain stays whole.
    await write("hooks.json", recording("three", { sqlite: { path: "b.db" } }));
    expect(await reload()).toMatchObject({ ok: true, generation: 3 });
    phase.isDone = true;
    await Promise.all(callers);
    await write("hooks.json", recording("four", { enabled: false }));
    expect(await reload()).toMatchObject({ ok: true });
    expect((await ask("bash")).reason).toBe("four");
    expect((await fetch(`${url}/v1/records`)).status).toBe(404);
    await stop();
    const kept = [...(await keptIn("a.db")), ...(await keptIn("b.db"))];
    expect(kept.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    for (const file of ["a.db", "b.db"]) {
      expect((await run(["records", "verify", "--file", file], { cwd: dir })).stdout).toContain("nothing is wrong");
    }
  });

  test("waits for nothing that is put in the config's place, and reads no end of it", async () => {
    await serve({});
    const places: readonly (readonly [() => unknown, string])[] = [
      [() => execFileSync("mkfifo", [join(dir, "hooks.json")]), "hooks.json: it is not a regular file"],
      [() => mkdir(join(dir, "hooks.json")), "hooks.json: it is not a regular file"],
      [() => write("hooks.json", " ".repeat(10_000_000)), "hooks.json: the file is longer than 4194304 bytes"],
      [() => undefined, "there is no config file hooks.json"],
    ];
    for (const [put, problem] of places) {
      await rm(join(dir, "hooks.json"), { recursive: true, force: true });
      await put();
      expect(await reload()).toMatchObject({ ok: false, problems: [expect.stringContaining(problem)] });
    }
    await write("hooks.json", { hooks: {} });
    expect(await reload()).toMatchObject({ ok: true });
  });

  test("reads hooks.yaml too, and keeps the hooks of one that is broken or gone", async () => {
    await serve({ yaml: { user: "hooks.yaml" } }, { "hooks.yaml": yamlSaying("skip") });
    expect(await ask("bash")).toMatchObject({ action: "deny_tool" });
    await write("hooks.yaml", yamlSaying("stop"));
    expect(await reload()).toMatchObject({ ok: true, generation: 2 });
    expect(await ask("bash")).toMatchObject({ action: "abort_turn" });
    await write("hooks.yaml", "pre_tool_execution: [");
    expect(await reload()).toMatchObject({ ok: false, problems: [expect.stringContaining("hooks.yaml:")] });
    await rm(join(dir, "hooks.yaml"));
    expect(await reload()).toMatchObject({ ok: false, problems: [expect.stringContaining("there is no such file")] });
    expect(await ask("bash")).toMatchObject({ action: "abort_turn" });
  });

  test("follows hooks.yaml by itself, also one that was not there and one that another config names", async () => {
    await serve({ yaml: {} });
    expect(await ask("bash")).toMatchObject({ action: "continue" });
    await write("one.yaml", yamlSaying("skip"));
    await write("hooks.json", { hooks: {}, yaml: { user: "one.yaml" } });
    await gateway?.seenError("generation=2");
    expect(await ask("bash")).toMatchObject({ action: "deny_tool" });
    await write("one.yaml", yamlSaying("stop"));
    await gateway?.seenError("generation=3");
    expect(await ask("bash")).toMatchObject({ action: "abort_turn" });
    await write("hooks.json", { hooks: {}, yaml: {} });
    await gateway?.seenError("generation=4");
    expect(await ask("bash")).toMatchObject({ action: "continue" });
    await mkdir(join(dir, ".jdata/agent"), { recursive: true });
    await write(".jdata/agent/hooks.yaml", yamlSaying("skip"));
    await gateway?.seenError("generation=5");
    expect(await ask("bash")).toMatchObject({ action: "deny_tool" });
  });

  test("ends the streams of those who may not watch any more, and only then", async () => {
    await serve(withTokens("spy"));
    const tailing = start(["tail", "--url", url, "--token-env", "T"], { cwd: dir, env: { T: "spy" } });
    await tailing.seenError("connected to");
    await write("hooks.json", { ...withTokens("spy"), hooks: { processes: { gate: denies("x") } } });
    expect(await reload("boss")).toMatchObject({ ok: true });
    await write("hooks.json", withTokens());
    expect(await reload("boss")).toMatchObject({ ok: true });
    const { code, stderr } = await tailing.ended;
    expect(stderr.split("disconnected from")).toHaveLength(2);
    expect(stderr).toContain("refused: HTTP status 401");
    expect(code).toBe(1);
  });
});

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
