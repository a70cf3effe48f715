import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Receiver, startReceiver } from "./receiver.ts";
import { type Dev, freePort, ROOT, startDev } from "./wrangler.ts";

/** A Worker of one's own around the gateway, with a hook of its own. */
const OWN = `
import { ApprovalsObject, createGatewayWorker } from "${join(ROOT, "adapters/cloudflare/index.ts")}";
import { createBuiltinRegistry } from "${join(ROOT, "src/index.ts")}";

const builtins = createBuiltinRegistry();
builtins.register("own", () => ({ approveTool: ({ tool }) => ({ approved: tool !== "never", reason: "ours" }) }));
const gateway = createGatewayWorker({ builtins });

export { ApprovalsObject };
export default {
  fetch: (request, env, context) => gateway.fetch(request, env, context),
  tellApprovals: (argument, env, context) => gateway.tellApprovals(argument, env, context),
};`;

interface Asked {
  readonly approved: boolean;
  readonly reason?: string;
  readonly approval?: { readonly id: string; readonly status: string };
}

const tokenOf = (name: string): string => `token-of-${name}`;

function toToken(name: string, scopes: readonly string[]): object {
  return { name, sha256: createHash("sha256").update(tokenOf(name)).digest("hex"), scopes };
}

describe("the pages of approvals of a Worker of one's own in wrangler dev", { timeout: 60_000 }, () => {
  let dir: string;
  let dev: Dev;
  let receiver: Receiver;
  let cookie = "";

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "hookgate-page-"));
    receiver = await startReceiver();
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const gateway = {
      name: "gateway",
      main: join(dir, "own.js"),
      compatibility_date: "2026-11-01",
      vars: {
        LINK_SECRET: "a-secret-of-links-that-is-long-enough",
        HOOKGATE_CONFIG: {
          hooks: {
            builtins: {
              own: { enabled: true },
              human_approval: { enabled: true, priority: 9, config: { rules: [{}] } },
            },
          },
          approvals: {
            store: "durable_object:PEOPLE",
            url,
            link_secret: "${env:LINK_SECRET}",
            notify: [{ type: "slack", url: receiver.origin, match: { tool: ["linked"] }, approver: "cem" }],
          },
          gateway: { auth: { tokens: [toToken("ann", ["approve"]), toToken("bot", ["call"])] } },
        },
      },
      durable_objects: { bindings: [{ name: "PEOPLE", class_name: "ApprovalsObject" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["ApprovalsObject"] }],
    };
    await writeFile(join(dir, "own.js"), OWN);
    const file = join(dir, "gateway.json");
    await writeFile(file, JSON.stringify(gateway));
    dev = await startDev({ configs: [file], port, stateDir: join(dir, "state") });
  }, 60_000);

  afterAll(async () => {
    await dev.stop();
    receiver.close();
    await rm(dir, { recursive: true, force: true });
  });

  async function ask(tool: string, command: string): Promise<Asked> {
    const params = { tool, arguments: { command } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
    const headers = { "content-type": "application/json", authorization: `Bearer ${tokenOf("bot")}` };
    const answer = await fetch(`${dev.url}/rpc`, { method: "POST", headers, body });
    return ((await answer.json()) as { readonly result: Asked }).result;
  }

  /** Sends a form as a browser does. */
  function send(path: string, form: URLSearchParams, origin = dev.url): Promise<Response> {
    const headers = { origin, cookie };
    return fetch(`${dev.url}${path}`, { method: "POST", headers, body: form, redirect: "manual" });
  }

  async function look(path: string, method = "GET"): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await fetch(`${dev.url}${path}`, { method, headers: { cookie } });
    return { status: answer.status, text: await answer.text() };
  }

  /** The id of what is pending for a tool, as soon as the list shows it. */
  async function pendingOf(tool: string): Promise<string> {
    for (;;) {
      const { status, text } = await look("/approvals");
      expect(status).toBe(200);
      const [, list = ""] = text.split('id="pending"');
      for (const [item, id] of list.matchAll(/id="approval-([\w-]+)"[^]*?<\/form>/g)) {
        if (item.includes(tool) && id !== undefined) return id;
      }
    }
  }

  /** The form of an approval, filled. */
  async function fill(path: string, fields: Readonly<Record<string, string>>): Promise<URLSearchParams> {
    const { status, text } = await look(path);
    expect(status).toBe(200);
    const call = /name="call" value="([\da-f]{64})"/.exec(text)?.[1] ?? "";
    return new URLSearchParams({ call, ...fields });
  }

  test("ask to sign in, and let only an own form do it", async () => {
    const answer = await fetch(`${dev.url}/approvals`);
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining("Sign in")]);
    const form = new URLSearchParams({ token: tokenOf("ann"), next: "/approvals" });
    expect((await send("/page/sign-in", form, "https://evil.example")).status).toBe(403);
    const entered = await send("/page/sign-in", form);
    expect([entered.status, entered.headers.get("location")]).toEqual([303, "/approvals"]);
    cookie = entered.headers.getSetCookie().at(-1)?.split(";")[0] ?? "";
  });

  test("are not asked for what a hook of the Worker's own registry denies", async () => {
    const { approved, reason, approval } = await ask("never", "make");
    expect([approved, reason, approval]).toEqual([false, "ours", undefined]);
  });

  test("show what is asked, live, and approve it for an hour with a comment", async () => {
    const live = await fetch(`${dev.url}/v1/approvals/events`, { headers: { cookie } });
    const events = live.body?.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    const hear = async (text: string): Promise<void> => {
      while (!heard.includes(text)) {
        const step = await events?.read();
        if (step === undefined || step.done) throw new Error(`the stream ended after: ${heard}`);
        heard += step.value;
      }
    };
    const asked = ask("deploy", "make \u202etxt");
    await hear('"status":"pending"');
    const id = await pendingOf("deploy");
    const { text } = await look(`/approvals/${id}`);
    expect(text).toContain("U+202E");
    const form = await fill(`/approvals/${id}`, { decision: "approve", scope: "hour", comment: "only <today>" });
    expect((await send(`/approvals/${id}`, form, "https://evil.example")).status).toBe(403);
    expect((await send(`/approvals/${id}`, form)).status).toBe(303);
    expect(await asked).toMatchObject({ approved: true, approval: { id, status: "approved" } });
    await hear('"scope":"hour"');
    await events?.cancel();
    expect((await look(`/approvals/${id}`)).text).toContain("only &lt;today&gt;");
    expect(await ask("deploy", "make \u202etxt")).toMatchObject({ approved: true, approval: { id } });
  });

  test("deny, and say what was decided already", async () => {
    const asked = ask("rm", "rm -rf /");
    const id = await pendingOf("rm");
    const form = await fill(`/approvals/${id}`, { decision: "deny", scope: "once", comment: "not here" });
    expect((await send(`/approvals/${id}`, form)).status).toBe(303);
    expect(await asked).toMatchObject({ approved: false, approval: { id, status: "denied" } });
    const late = await send(`/approvals/${id}`, form);
    expect(late.status).toBe(409);
  });

  test("let a link be looked at as often as one likes, and decide once, by its form", async () => {
    const asked = ask("linked", "make");
    const [post] = await receiver.seen(1, ({ body }) => body.includes("linked"));
    const path = /\/approvals\/link\/[\w.-]+/.exec(post?.body ?? "")?.[0] ?? "";
    cookie = "";
    for (const method of ["GET", "HEAD", "GET"]) expect((await look(path, method)).status).toBe(200);
    const form = await fill(path, { decision: "approve", scope: "once", comment: "" });
    expect((await send(path, form, "https://evil.example")).status).toBe(403);
    const done = await send(path, form, "null");
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining("Approved")]);
    expect(await asked).toMatchObject({ approved: true, approval: { status: "consumed" } });
    expect((await look(path)).status).toBe(409);
    expect((await send(path, form, "null")).status).toBe(409);
    expect((await look(`${path}x`)).status).toBe(403);
  });
});
