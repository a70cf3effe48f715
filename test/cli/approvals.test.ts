import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Approval } from "../../src/approvals/index.ts";
import { makeDir, removeDir, run, type Running, start } from "./run.ts";

const HOSTILE = "rm \u202Efdp.exe \u200B--now";

let dir: string;
let gateway: Running;
let url = "";

beforeAll(async () => {
  const rules = [{ match: { tool: ["deploy"] }, require: 2, wait_ms: 0, reason: "it goes live" }, { wait_ms: 0 }];
  dir = await makeDir({
    "hooks.json": {
      hooks: { builtins: { human_approval: { enabled: true, config: { rules } } } },
      approvals: { store: "memory", mask: ["arguments.password"] },
    },
  });
  gateway = start(["serve", "--port", "0"], { cwd: dir });
  url = /listens on (\S+)/.exec(await gateway.seen("try it:"))?.[1] ?? "";
});

afterAll(async () => {
  gateway.signal("SIGTERM");
  await gateway.ended;
  await removeDir(dir);
});

interface Asked {
  readonly approved: boolean;
  readonly approval: { readonly id: string; readonly status: string };
}

async function ask(tool: string, command: string): Promise<Asked> {
  const params = { tool, arguments: { command, password: "hunter2" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
  const headers = { "content-type": "application/json" };
  const reply = await (await fetch(`${url}/rpc`, { method: "POST", headers, body })).json();
  return (reply as { result: Asked }).result;
}

const cli = (...args: readonly string[]): ReturnType<typeof run> =>
  run(["approvals", ...args, "--url", url], { cwd: dir });

describe("with a gateway that asks people", { timeout: 30_000 }, () => {
  test("what is asked is listed, shown whole, approved, and used once", async () => {
    const { approval } = await ask("bash", "make");
    expect((await cli("list", "--status", "pending")).stdout).toMatch(
      new RegExp(`pending +bash .* 0/1 +${approval.id}\n`),
    );
    const shown = await cli("show", approval.id);
    expect(shown.stdout).toContain('"command": "make"');
    expect(shown.stdout).toContain('"password": "[masked]"');
    const approved = await cli("approve", approval.id, "-m", "go on");
    expect(approved.code).toBe(0);
    expect(approved.stdout).toMatch(/^approved {2}bash[^]*approve .*: go on/);
    expect(await ask("bash", "make")).toMatchObject({ approved: true, approval: { status: "consumed" } });
    expect(await ask("bash", "make")).toMatchObject({ approved: false, approval: { status: "pending" } });
    const again = await cli("approve", approval.id);
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toMatch(/^error: /);
  });

  test("what is denied tells the agent why, and cannot be approved any more", async () => {
    const { approval } = await ask("bash", "rm -r /");
    expect(await cli("deny", approval.id, "--comment", "never", "--json")).toMatchObject({ code: 0 });
    const shown = JSON.parse((await cli("show", approval.id, "--json")).stdout) as Approval;
    expect(shown).toMatchObject({ status: "denied", votes: [{ decision: "deny", comment: "never" }] });
    expect(await cli("approve", approval.id)).toMatchObject({ code: 1 });
  });

  test("what holds for an hour is used again, until it is revoked", async () => {
    const { approval } = await ask("bash", "make test");
    expect(await cli("approve", approval.id, "--scope", "hour")).toMatchObject({ code: 0 });
    expect([await ask("bash", "make test"), await ask("bash", "make test")]).toMatchObject([
      { approved: true },
      { approved: true },
    ]);
    expect((await cli("revoke", approval.id)).stdout).toMatch(/^cancelled/);
    expect(await ask("bash", "make test")).toMatchObject({ approved: false, approval: { status: "pending" } });
  });

  test("one of two approvals leaves it pending", async () => {
    const { approval } = await ask("deploy", "live");
    const { stdout } = await cli("approve", approval.id);
    expect(stdout).toMatch(/^pending {2}deploy/);
    expect(stdout).toContain("needs    2 of anybody");
    expect(stdout).toContain("it goes live");
    expect((await cli("list", "--status", "pending")).stdout).toContain("1/2");
  });

  test("what hides or turns text around is seen, in text and in JSON", async () => {
    const { approval } = await ask("bash", HOSTILE);
    for (const args of [["show", approval.id], ["show", approval.id, "--json"], ["list"], ["list", "--json"]]) {
      const { stdout } = await cli(...args);
      expect(stdout).not.toMatch(/[\u202E\u200B]/);
    }
    expect((await cli("show", approval.id)).stdout).toContain("⟨U+202E⟩");
  });

  test("watch shows what is pending, and what is asked and decided from then on", async () => {
    const { approval } = await ask("bash", "first");
    const watching = start(["approvals", "watch", "--json", "--url", url], { cwd: dir });
    await watching.seen(approval.id);
    const { approval: later } = await ask("bash", "later");
    await watching.seen(later.id);
    await cli("deny", later.id, "-m", "seen and denied");
    await watching.seen("seen and denied");
    watching.signal("SIGINT");
    expect((await watching.ended).code).toBe(0);
  });
});

test.each<[readonly string[], number, string]>([
  [["approvals"], 1, "expected one of list, show, approve, deny, revoke, watch"],
  [["approvals", "show"], 1, "show needs the id of an approval"],
  [["approvals", "list", "ID"], 1, "list takes no id"],
  [["approvals", "list", "--status", "open"], 1, "--status: expected one of pending"],
  [["approvals", "list", "--count", "0"], 1, "--count: expected a number from 1 to 500"],
  [["approvals", "approve", "ID", "--scope", "ever"], 1, "--scope: expected one of once, hour, session"],
  [["approvals", "list", "--token-env", "NOT_SET"], 1, "the environment variable NOT_SET is not set"],
  [["approvals", "list", "--url", "ftp://x"], 1, "--url"],
  [["approvals", "list", "--url", "http://127.0.0.1:1"], 3, "cannot be reached"],
])("%j", async (args, code, message) => {
  const ran = await run(args, { cwd: dir });
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(message)]);
});
