import { createHash } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import type { Approval } from "../../src/approvals/index.ts";
import { openReceiver, type Receiver } from "./receiver.ts";
import { makeDir, removeDir, type Running, start } from "./run.ts";

let dir = "";
let gateway: Running | undefined;
let url = "";
const receivers: Receiver[] = [];

afterEach(async () => {
  gateway?.signal("SIGKILL");
  await gateway?.ended;
  gateway = undefined;
  for (const receiver of receivers.splice(0)) await receiver.close();
  await removeDir(dir);
});

const token = (name: string, ...scopes: readonly string[]): object => ({
  name,
  sha256: createHash("sha256").update(`secret-of-${name}`).digest("hex"),
  scopes,
});

const bearer = (name: string): Record<string, string> => ({ authorization: `Bearer secret-of-${name}` });

interface ConfigParts {
  readonly rules?: readonly object[];
  readonly enabled?: boolean;
  readonly notify?: readonly object[];
}

function toConfig({ rules = [{}], enabled = true, notify }: ConfigParts = {}): unknown {
  const tokens = [token("bot", "call"), token("ann", "approve"), token("boss", "admin")];
  return {
    hooks: { builtins: { human_approval: { enabled, config: { rules } } } },
    gateway: { port: 0, auth: { tokens } },
    approvals: {
      store: "sqlite:approvals.db",
      url: "https://gate.example.com",
      link_secret: "l".repeat(32),
      ...(notify && { notify }),
    },
  };
}

/** A webhook for ann. */
function webhook(receiver: Receiver, changes: object = {}): object {
  const secret = `whsec_${Buffer.from("w".repeat(32)).toString("base64")}`;
  return { type: "webhook", name: receiver.name, url: receiver.url, secret, approver: "ann", ...changes };
}

async function newReceiver(name: string, ...statuses: readonly number[]): Promise<Receiver> {
  const receiver = await openReceiver(name, statuses);
  receivers.push(receiver);
  return receiver;
}

async function serve(parts: ConfigParts = {}): Promise<Running> {
  dir = await makeDir({ "hooks.json": toConfig(parts) });
  const started = start(["serve"], { cwd: dir });
  gateway = started;
  url = /http:\S+/.exec(await started.seen("try it:"))?.[0] ?? "";
  return started;
}

/** Writes another config, in one step, and has it read. */
async function reload(parts: ConfigParts = {}): Promise<void> {
  await writeFile(join(dir, "next.json"), JSON.stringify(toConfig(parts)));
  await rename(join(dir, "next.json"), join(dir, "hooks.json"));
  const { body } = await request(`${url}/v1/reload`, { method: "POST", headers: bearer("boss") });
  expect(await body.json()).toMatchObject({ ok: true, problems: [] });
}

interface Answer {
  readonly approved: boolean;
  readonly reason: string;
  readonly approval?: { readonly id: string; readonly status: string };
}

async function ask(tool: string): Promise<Answer> {
  const headers = { ...bearer("bot"), "content-type": "application/json" };
  const call = { jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params: { tool, arguments: { n: 1 } } };
  const { body } = await request(`${url}/rpc`, { method: "POST", headers, body: JSON.stringify(call) });
  return ((await body.json()) as { readonly result: Answer }).result;
}

async function listed(): Promise<readonly Approval[]> {
  const { body } = await request(`${url}/v1/approvals`, { headers: bearer("ann") });
  return ((await body.json()) as { readonly approvals: readonly Approval[] }).approvals;
}

/** Asks, and gives the approval that the call waits for. */
async function begin(tool: string): Promise<{ readonly asked: Promise<Answer>; readonly approval: Approval }> {
  const asked = ask(tool);
  const find = async (): Promise<Approval | undefined> =>
    (await listed()).find((each) => each.tool === tool && each.status === "pending");
  await expect.poll(find).toBeDefined();
  const approval = await find();
  if (approval === undefined) throw new Error("it is not pending any more");
  return { asked, approval };
}

async function decide(id: string, decision = "approve", scope = "once"): Promise<number> {
  const headers = { ...bearer("ann"), "content-type": "application/json" };
  const path = `${url}/v1/approvals/${id}/decision`;
  return (await request(path, { method: "POST", headers, body: JSON.stringify({ decision, scope }) })).statusCode;
}

/** Sends a form as a browser does. */
async function send(path: string, fields: Record<string, string>, headers: Record<string, string>): Promise<number> {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const body = String(new URLSearchParams(fields));
  return (await request(`${url}${path}`, { method: "POST", headers: { ...type, ...headers }, body })).statusCode;
}

/** What a form says that approves a call. */
async function yesTo(id: string): Promise<Record<string, string>> {
  const call = (await listed()).find((each) => each.id === id)?.call ?? "";
  return { decision: "approve", scope: "once", comment: "", call };
}

/** How many votes there are, and by what way they came. */
async function votesOf(id: string): Promise<readonly (readonly string[])[]> {
  const found = (await listed()).find((each) => each.id === id);
  return (found?.votes ?? []).map(({ by, how }) => [by, how]);
}

describe("a reload while a call waits for people", { timeout: 60_000 }, () => {
  test.each<readonly [string, ConfigParts, string | undefined]>([
    ["of the same config", {}, "a person has to approve this"],
    ["of other rules", { rules: [{ reason: "by other rules", risk: "high" }] }, "by other rules"],
    ["of a config that asks nobody", { enabled: false }, undefined],
  ])("%s loses neither the call nor what is decided, and people are asked on", async (_what, next, reason) => {
    const running = await serve();
    const { asked, approval } = await begin("deploy");
    await reload(next);
    expect(await decide(approval.id)).toBe(200);
    expect(await asked).toMatchObject({ approved: true, approval: { id: approval.id, status: "consumed" } });
    await running.seenError("the hooks of before are ended generation=1");
    // What closes with the hooks of before must not be what the new ones ask.
    const { body } = await request(`${url}/readyz`, { headers: bearer("boss") });
    expect(await body.json()).toMatchObject({ status: "ready", approvals: { available: true } });
    const other = reason === undefined ? undefined : await begin("other");
    if (other !== undefined) await decide(other.approval.id);
    const { approved } = await (other?.asked ?? ask("other"));
    expect([other?.approval.reason, approved]).toEqual([reason, true]);
  });

  test("by SIGHUP, again and again, loses neither", async () => {
    const running = await serve({ rules: [{ reason: "first" }] });
    const { asked, approval } = await begin("deploy");
    for (let generation = 2; generation <= 4; generation += 1) {
      running.signal("SIGHUP");
      await running.seenError(`the configuration was reloaded generation=${generation}`);
    }
    expect(await decide(approval.id)).toBe(200);
    expect(await asked).toMatchObject({ approved: true, approval: { id: approval.id } });
    const second = await begin("deploy");
    expect(second.approval.id).not.toBe(approval.id);
    expect(await decide(second.approval.id, "deny")).toBe(200);
    expect(await second.asked).toMatchObject({ approved: false, approval: { status: "denied" } });
    running.signal("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });
});

describe("a reload to stricter rules", { timeout: 60_000 }, () => {
  test("takes back what was approved by the weaker ones with the next such call, and says why", async () => {
    const weak = [{ wait_ms: 0 }];
    const running = await serve({ rules: weak });
    const id = (await ask("deploy")).approval?.id ?? "";
    expect(await decide(id, "approve", "session")).toBe(200);
    await reload({ rules: [{ wait_ms: 0, reason: "another text" }] });
    expect(await ask("deploy")).toMatchObject({ approved: true, approval: { id, status: "approved" } });
    await reload({ rules: [{ wait_ms: 0, require: 2 }] });
    const why = "the rule now needs 2 people, and 1 of those who may decide has approved";
    expect(await ask("deploy")).toMatchObject({
      approved: false,
      reason: expect.stringContaining(`What was approved before (approval ${id}) does not count: ${why}`) as string,
      approval: { status: "pending" },
    });
    const found = (await listed()).find((each) => each.id === id);
    expect(found).toMatchObject({ status: "cancelled", ending: { reason: why } });
    await running.seenError("an approval does not meet the rule any more");
    await reload({ rules: weak });
    expect(await ask("deploy")).toMatchObject({ approved: false });
  });
});

describe("a reload while a notification waits to be tried again", { timeout: 60_000 }, () => {
  const rules = [{ wait_ms: 0 }];

  test("does not lose it, whether or not the list of who is told has changed", async () => {
    const [slow, added] = [await newReceiver("slow", 503, 503, 204), await newReceiver("added", 204)];
    const running = await serve({ rules, notify: [webhook(slow)] });
    const first = await ask("first");
    await slow.seen(1);
    await reload({ rules: [{ wait_ms: 0, reason: "other rules" }], notify: [webhook(slow)] });
    expect(slow.told.length).toBe(1);
    await slow.seen(2);
    await reload({ rules, notify: [webhook(added, { on: ["requested", "decided"] })] });
    expect(slow.told.length).toBe(2);
    await slow.seen(3);
    expect(new Set(slow.told.map(({ approval }) => approval.id))).toEqual(new Set([first.approval?.id]));

    const second = await ask("second");
    await added.seen(1);
    expect(await decide(first.approval?.id ?? "", "deny")).toBe(200);
    await added.seen(2);
    expect(added.told.map(({ type, approval }) => [type, approval.id])).toEqual([
      ["approval.requested", second.approval?.id],
      ["approval.decided", first.approval?.id],
    ]);
    expect(slow.told.length).toBe(3);
    const { body } = await request(`${url}/v1/hooks`, { headers: bearer("boss") });
    expect(await body.json()).toMatchObject({ notifications: [{ name: "added", delivered: 2, waiting: 0 }] });
    running.signal("SIGTERM");
    const { code, stderr } = await running.ended;
    expect([code, stderr.includes("given up")]).toEqual([0, false]);
  });

  test("and the gateway that stops then says that it is given up", async () => {
    const never = await newReceiver("never", 503);
    const running = await serve({ rules, notify: [webhook(never)] });
    await ask("first");
    await never.seen(1);
    await reload({ rules, notify: [] });
    running.signal("SIGTERM");
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining("given up: the gateway stops")]);
  });
});

describe("what people hold from before a reload", { timeout: 60_000 }, () => {
  test("a link and a sign-in decide after it", async () => {
    const told = await newReceiver("told", 204);
    const rules = [{ wait_ms: 0 }];
    await serve({ rules, notify: [webhook(told)] });
    const [linked, paged] = [await ask("linked"), await ask("paged")];
    await told.seen(2);
    const sign = { "content-type": "application/x-www-form-urlencoded", origin: url };
    const body = String(new URLSearchParams({ token: "secret-of-ann", next: "/approvals" }));
    const { headers } = await request(`${url}/page/sign-in`, { method: "POST", headers: sign, body });
    const cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
    await reload({ rules: [{ wait_ms: 0, reason: "other rules" }], notify: [] });

    const id = paged.approval?.id ?? "";
    const path = `/approvals/${id}`;
    const page = await request(`${url}${path}`, { headers: { cookie } });
    expect([page.statusCode, await page.body.text()]).toEqual([
      200,
      expect.stringContaining('aria-label="Approve paged"'),
    ]);
    expect(await send(path, await yesTo(id), { cookie, origin: url })).toBe(303);
    expect(await votesOf(id)).toEqual([["ann", "page"]]);

    const other = linked.approval?.id ?? "";
    const link = new URL(told.told.find(({ approval }) => approval.id === other)?.link ?? "").pathname;
    expect((await request(`${url}${link}`)).statusCode).toBe(200);
    const own = { origin: "null", "sec-fetch-site": "same-origin" };
    expect(await send(link, await yesTo(other), own)).toBe(200);
    expect(await votesOf(other)).toEqual([["ann", "link"]]);
    await reload({ rules });
    expect(await send(link, await yesTo(other), own)).toBe(409);
    expect([(await ask("linked")).approved, (await ask("paged")).approved]).toEqual([true, true]);
  });
});
