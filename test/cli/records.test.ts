import { writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDir, removeDir, run, start } from "./run.ts";

let dir: string;
const id = (text: string): string => (JSON.parse(text) as { result: { trace: { id: string } } }).result.trace.id;

beforeAll(async () => {
  dir = await makeDir({
    "hooks.json": {
      hooks: { builtins: { deny_tools: { enabled: true, config: { tools: ["rm"] } } } },
      records: { record: { payload: "masked", mask: ["arguments.password"] } },
    },
  });
});

afterAll(() => removeDir(dir));

test("a gateway's records are listed, shown, exported and verified", { timeout: 30_000 }, async () => {
  const gateway = start(["serve", "--port", "0"], { cwd: dir });
  const url = /listens on (\S+)/.exec(await gateway.seen("try it:"))?.[1] ?? "";
  const ask = async (tool: string): Promise<string> => {
    const params = { tool, arguments: { password: "hunter2", user: "u" }, meta: { SessionKey: "s1" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params });
    const headers = { "content-type": "application/json" };
    return id(await (await fetch(`${url}/rpc`, { method: "POST", headers, body })).text());
  };
  await ask("ls");
  const denied = await ask("rm");
  expect(await (await fetch(`${url}/metrics`)).text()).toContain("hookgate_requests_in_flight 0");
  await expect.poll(async () => (await fetch(`${url}/v1/records/${denied}`)).status, { timeout: 5000 }).toBe(200);
  gateway.signal("SIGTERM");
  expect((await gateway.ended).code).toBe(0);

  const list = await run(["records", "list", "--outcome", "deny_tool"], { cwd: dir });
  expect(list).toMatchObject({ code: 0 });
  expect(list.stdout).toMatch(new RegExp(`before_tool +rm +deny_tool .* s1 +${denied}\n$`));
  const show = await run(["records", "show", denied], { cwd: dir });
  expect(JSON.parse(show.stdout)).toMatchObject({ input: { arguments: { password: "[masked]", user: "u" } } });
  const exported = await run(["records", "export"], { cwd: dir });
  expect(exported.stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(exported.stdout).not.toContain("hunter2");
  const good = await run(["records", "verify"], { cwd: dir });
  expect(good).toMatchObject({ code: 0 });
  expect(good.stdout).toContain("2 records, nothing is wrong");
  const head = /head: (\S+)/.exec(good.stdout)?.[1] ?? "";
  expect(await run(["records", "verify", "--head", head, "--json"], { cwd: dir })).toMatchObject({ code: 0 });
  expect(await run(["records", "verify", "--head", "f".repeat(64)], { cwd: dir })).toMatchObject({ code: 2 });

  const database = new DatabaseSync(join(dir, "hookgate-records.db"));
  database.exec("DELETE FROM records WHERE seq = 2");
  database.close();
  const bad = await run(["records", "verify"], { cwd: dir });
  expect(bad).toMatchObject({ code: 2 });
  expect(bad.stdout).toContain("truncated at record 1: ends with record 1, but record 2 was written");
});

test("records that are damaged are looked at all the same, and the file is named", { timeout: 30_000 }, async () => {
  await writeFile(join(dir, "torn.jsonl"), '{"seq":1,"id":"on');
  const torn = await run(["records", "verify", "--file", "torn.jsonl", "--head", "f".repeat(64)], { cwd: dir });
  expect(torn).toMatchObject({ code: 2, stderr: "" });
  expect(torn.stdout).toContain("unreadable at record 1: not a record");
  const none = await run(["records", "show", "one", "--file", "torn.jsonl"], { cwd: dir });
  expect(none).toMatchObject({ code: 1, stderr: 'error: there is no record "one"\n' });

  const path = join(dir, "damaged.db");
  const database = new DatabaseSync(path);
  const other = new DatabaseSync(join(dir, "hookgate-records.db"));
  for (const { sql } of other.prepare("SELECT sql FROM sqlite_master WHERE type = 'table'").all()) {
    database.exec(String(sql));
  }
  other.close();
  database.exec("INSERT INTO records VALUES (1, 'one', 0, NULL, NULL, 'continue', 'not json')");
  const list = await run(["records", "list", "--file", "damaged.db"], { cwd: dir });
  expect(list).toMatchObject({ code: 0, stderr: "" });
  expect(list.stdout).toContain("unreadable");
  database.exec("DROP TABLE records");
  database.close();
  for (const action of ["verify", "list", "export"]) {
    const { code, stderr } = await run(["records", action, "--file", "damaged.db"], { cwd: dir });
    expect([code, stderr]).toEqual([1, `error: ${path} cannot be read: no such table: records\n`]);
  }
  await writeFile(path, "no database");
  const { code, stderr } = await run(["records", "verify", "--file", "damaged.db"], { cwd: dir });
  expect([code, stderr]).toEqual([1, `error: ${path} cannot be read: file is not a database\n`]);
});

test.each([
  [["records"], "expected one of list, show, verify, export"],
  [["records", "show"], "show needs the id of a record"],
  [["records", "list", "--file", "nothing.db"], "there are no records: nothing.db"],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await run(args, { cwd: dir });
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
});
