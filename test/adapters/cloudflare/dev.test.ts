import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGatewayClient } from "../../../src/client/index.ts";
import type { HookHost } from "../../../src/picoclaw/index.ts";
import { createSecretKey } from "../../../src/signing/keys.ts";
import { createRequestSigner } from "../../../src/signing/request.ts";
import { config, HOOK_SECRET, HOST_SECRET, signedHook, type Stage, startStage, TOKEN } from "./stage.ts";
import { type Dev, freePort, startDev } from "./wrangler.ts";

const START_MS = 60_000;
const encoder = new TextEncoder();

function bot(url: string, token: string | undefined = TOKEN): HookHost {
  return createGatewayClient({ url, token });
}

async function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
}

async function decide(host: HookHost, tool: string, command = "ls"): Promise<readonly unknown[]> {
  const { action, approved, reason, trace } = await host.checkTool({ tool, arguments: { command } });
  return [action, approved, reason, trace.records.map(({ hook, outcome }) => `${hook} ${outcome}`)];
}

function approveCall(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"hook.approve_tool","params":{"tool":"read_file"}}`;
}

describe("the wrangler.toml of this repository, with the approval worker beside it", () => {
  let dev: Dev;
  let stateDir: string;
  let host: HookHost;

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "hookgate-dev-"));
    const configs = ["wrangler.toml", "examples/approval-worker/wrangler.toml"];
    dev = await startDev({ configs, port: await freePort(), stateDir });
    host = createGatewayClient({ url: dev.url });
  }, START_MS);

  afterAll(async () => {
    await host.close();
    await dev.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  test("decides over the service binding: approved, not approved, denied by it, denied in-process", async () => {
    expect(await decide(host, "read_file")).toEqual([
      "continue",
      true,
      "",
      ["deny_tools continue", "approvals continue", "approvals approved"],
    ]);
    expect((await decide(host, "deploy")).slice(0, 3)).toEqual(["continue", false, "deploy is not in APPROVED_TOOLS"]);
    expect((await decide(host, "shell", "rm -rf /")).slice(0, 3)).toEqual([
      "deny_tool",
      false,
      "rm -rf is not allowed",
    ]);
    expect((await decide(host, "format_disk"))[3]).toEqual(["deny_tools deny_tool"]);
  });

  test("delivers events on waitUntil", async () => {
    host.emit({ Kind: "tool_exec_end", Payload: { Tool: "read_file" } });
    await host.flush(5000);
    expect(await dev.seen("event tool_exec_end")).toContain("[approval-worker]");
  });

  test("answers only what comes from this machine by its own name", async () => {
    const call = '{"jsonrpc":"2.0","id":1,"method":"hook.hello"}';
    expect((await post(`${dev.url}/rpc`, { origin: "https://evil.example" }, call)).status).toBe(403);
    expect((await post(`${dev.url}/rpc`, {}, call)).status).toBe(200);
  });
});

describe("gateways in workerd", () => {
  let stage: Stage;

  beforeAll(async () => {
    const secrets = { APPROVALS_SECRET: HOOK_SECRET, HOST_SECRET };
    const host = { name: "upstream", issuer: "upstream", secret: "${env:HOST_SECRET}" };
    stage = await startStage({
      signed: ({ hookUrl }) => ({ ...secrets, HOOKGATE_CONFIG: JSON.stringify(config(signedHook(hookUrl))) }),
      tampered: ({ hookUrl }) => ({
        APPROVALS_SECRET: HOOK_SECRET.toUpperCase(),
        HOOKGATE_CONFIG: config(signedHook(hookUrl)),
      }),
      hosts: ({ rpcUrl }) => ({
        ...secrets,
        HOOKGATE_CONFIG: config(
          { enabled: true, transport: "service", binding: "APPROVALS", unsigned: true, intercept: ["approve_tool"] },
          { id: "edge", auth: { signatures: [{ ...host, audience: rpcUrl }] } },
        ),
      }),
      stdio: () => ({
        HOOKGATE_DEV: "1",
        HOOKGATE_CONFIG: config({ enabled: true, command: ["python3", "gate.py"], intercept: ["approve_tool"] }),
      }),
      address: () => ({
        ...secrets,
        HOOKGATE_DEV: "1",
        HOOKGATE_CONFIG: config(signedHook("https://203.0.113.7/hook")),
      }),
      unbound: () => ({
        HOOKGATE_DEV: "1",
        HOOKGATE_CONFIG: config({
          enabled: true,
          transport: "service",
          binding: "NOBODY",
          unsigned: true,
          observe: ["*"],
        }),
      }),
      open: ({ hookUrl }) => ({ ...secrets, HOOKGATE_CONFIG: config(signedHook(hookUrl), { id: "edge" }) }),
      unset: () => ({ HOOKGATE_DEV: "1" }),
      misbound: () => ({
        HOOKGATE_DEV: "1",
        HOOKGATE_CONFIG: {
          hooks: { builtins: { human_approval: { enabled: true, config: { rules: [{ wait_ms: 0 }] } } } },
          approvals: { store: "durable_object:REPLAY" },
        },
      }),
    });
  }, START_MS);

  afterAll(() => stage.remove());

  test("fifty calls at once, the first of a new isolate among them, are each decided by the signed hook", async () => {
    const host = bot(stage.rpc("signed"));
    const decisions = await Promise.all(
      Array.from({ length: 50 }, (_, index) => host.checkTool({ tool: index % 2 === 0 ? "read_file" : "deploy" })),
    );
    for (const [index, { approved, trace }] of decisions.entries()) {
      const isRead = index % 2 === 0;
      const outcomes = trace.records.map(({ point, outcome }) => `${point} ${outcome}`);
      expect([approved, ...outcomes]).toEqual([
        isRead,
        "before_tool continue",
        `approve_tool ${isRead ? "approved" : "denied"}`,
      ]);
    }
    expect(stage.output()).not.toContain("different request");
    await host.close();
  });

  test("a batch of calls in one request is decided, and so is the next request", async () => {
    for (let round = 0; round < 2; round += 1) {
      const reply = await post(
        stage.rpc("signed"),
        { authorization: `Bearer ${TOKEN}` },
        `[${Array.from({ length: 10 }, (_, id) => approveCall(id)).join(",")}]`,
      );
      const results = (await reply.json()) as { readonly result: { readonly approved: boolean } }[];
      expect(results.map(({ result }) => result.approved)).toEqual(Array.from({ length: 10 }, () => true));
    }
  });

  test("events reach the signed hook, from several requests", async () => {
    const host = bot(stage.rpc("signed"));
    for (const Kind of ["turn_start", "turn_end"]) {
      host.emit({ Kind });
      await host.flush(5000);
      expect(await stage.seen(`event ${Kind}`)).toContain("[endpoint]");
    }
    await host.close();
  });

  test("with another secret than the endpoint's an approval is denied, and says of which kind", async () => {
    const host = bot(stage.rpc("tampered"));
    const { approved, reason, trace } = await host.approveTool({ tool: "read_file" });
    expect([approved, reason]).toEqual([false, 'tool approval hook "approvals" failed']);
    expect(trace.records.map(({ outcome, kind }) => [outcome, kind])).toEqual([["no_verdict", "http_status"]]);
    await host.close();
  });

  test("a signed request counts once, at the endpoint and at the gateway", async () => {
    const approve = '{"jsonrpc":"2.0","id":"1","method":"hook.approve_tool","params":{"tool":"read_file"}}';
    const hello = '{"jsonrpc":"2.0","id":"1","method":"hook.hello","params":{}}';
    const cases = [
      { secret: HOOK_SECRET, issuer: "edge", url: `${stage.url}/endpoint/hook`, method: "hook.hello", body: hello },
      { secret: HOST_SECRET, issuer: "upstream", url: stage.rpc("hosts"), method: "hook.approve_tool", body: approve },
    ];
    for (const { secret, issuer, url, method, body } of cases) {
      const signer = createRequestSigner({ key: await createSecretKey(secret), issuer, audience: url });
      const { token } = await signer.sign({ method, body: encoder.encode(body) });
      const first = await post(url, { "hook-signature": token }, body);
      expect([first.status, first.headers.has("hook-signature")], await first.text()).toEqual([200, true]);
      const again = await post(url, { "hook-signature": token }, body);
      expect([again.status, await again.text()]).toEqual([401, expect.stringContaining("replayed")]);
    }
  });

  test("nobody without a token is answered", async () => {
    const reply = await post(stage.rpc("signed"), {}, '{"jsonrpc":"2.0","id":1,"method":"hook.hello"}');
    expect(reply.status).toBe(401);
  });

  test.for([
    ["stdio", "hooks.processes.approvals", "run a gateway with this hook on Node"],
    ["address", "hooks.processes.approvals", "not an IP address"],
    ["unbound", "hooks.processes.approvals", 'no service binding "NOBODY"'],
    ["unset", "HOOKGATE_CONFIG", "missing"],
  ])("the config of gateway %s is refused: it names %s and says: %s", async ([gateway = "", ...said]) => {
    const host = bot(stage.rpc(gateway), undefined);
    const reply = await post(stage.rpc(gateway), {}, '{"jsonrpc":"2.0","id":1,"method":"hook.hello"}');
    const { error } = (await reply.json()) as { readonly error: { readonly message: string } };
    expect(reply.status).toBe(500);
    for (const text of said) expect(error.message).toContain(text);
    expect((await host.approveTool({ tool: "read_file" })).approved).toBe(false);
    await host.close();
  });

  test("where the object of approvals is of another class, the log says what to look at", async () => {
    const host = bot(stage.rpc("misbound"), undefined);
    const { approved, trace } = await host.approveTool({ tool: "read_file" });
    expect([approved, trace.records.map(({ kind }) => kind)]).toEqual([false, ["store_unavailable"]]);
    const said = "the binding of approvals gives no answer; its class must be ApprovalsObject";
    expect(await stage.seen(said)).toContain("does not implement the method");
    await host.close();
  });

  test("without authentication nothing is served, and only the log says why", async () => {
    for (const path of ["rpc", "healthz", "v1/hooks"]) {
      const reply = await fetch(`${stage.url}/open/${path}`);
      expect([reply.status, await reply.text()]).toEqual([500, expect.not.stringContaining("gateway.auth")]);
    }
    expect(await stage.seen("refusing to serve without authentication")).toContain("configure gateway.auth");
  });
});

test("the platform keeps no URL of the gateway's, for links and notifications have secrets in theirs", async () => {
  const text = await readFile(join(import.meta.dirname, "../../../wrangler.toml"), "utf8");
  expect(text).toMatch(/\[observability\.logs\]\n(?:[^[].*\n)*invocation_logs = false/);
  expect(text).toMatch(/\[observability\.traces\]\n(?:#.*\n)*enabled = false/);
  expect(text).not.toContain("[observability]");
});

test("the configs of the stage are those of the repository", async () => {
  for (const file of ["wrangler.toml", "examples/approval-worker/wrangler.toml"]) {
    const text = await readFile(join(import.meta.dirname, "../../..", file), "utf8");
    expect(text).toContain('compatibility_date = "2026-11-01"');
    expect(text).toContain('new_sqlite_classes = ["ReplayShard"]');
    expect(text).not.toMatch(/secret|password|api_?key/i);
  }
});
