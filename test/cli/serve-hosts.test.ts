import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createNodeGatewayClient, serveGateway } from "../../adapters/node/index.ts";
import type { GatewayClientSigning } from "../../src/client/index.ts";
import { parseConfig } from "../../src/config/index.ts";
import { createGatewayFromConfig, type Gateway } from "../../src/gateway/index.ts";
import { createRemoteKeySet } from "../../src/endpoint/index.ts";
import { createBuiltinRegistry, HookManager } from "../../src/picoclaw/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { issuerKey } from "../conformance/host-auth-setting.ts";
import { type Desk, openDesk, policy, SECRET } from "./desk.ts";
import { makeDir, type Running, removeDir, run, start } from "./run.ts";

const AUDIENCE = "https://gate.test/rpc";
const HOST_SECRET = "fedcba9876543210fedcba9876543210";

let desk: Desk;
let dir: string;
const running: Running[] = [];

beforeEach(async () => {
  desk = await openDesk();
});

afterEach(async () => {
  for (const gateway of running.splice(0)) {
    gateway.signal("SIGTERM");
    await gateway.ended;
  }
  await desk.close();
  await removeDir(dir);
});

/** A gateway in a process of its own, with the endpoint as its hook. */
async function serve(
  gateway: object,
  env: Readonly<Record<string, string>> = {},
): Promise<{ url: string; greeting: string }> {
  const remote = {
    enabled: true,
    required: true,
    transport: "http",
    url: desk.hook,
    secret: "${env:DESK}",
    intercept: ["before_tool", "approve_tool"],
  };
  dir = await makeDir({ "hooks.json": { hooks: { processes: { desk: remote } }, gateway: { port: 0, ...gateway } } });
  const started = start(["serve"], { cwd: dir, env: { DESK: SECRET, ...env } });
  running.push(started);
  const greeting = await started.seen("try it:");
  return { url: /http:\S+/.exec(greeting)?.[0] ?? "", greeting };
}

async function approve(
  url: string,
  options: { token?: string; signing?: GatewayClientSigning },
  tool = "ls",
): Promise<boolean> {
  const client = createNodeGatewayClient({ url, ...options });
  try {
    return (await client.approveTool({ tool })).approved;
  } finally {
    await client.close();
  }
}

describe("hookgate serve", () => {
  test("lets hosts in by signature, and signs what they are answered", async () => {
    const [bot, own] = [await createPrivateJwk(), await createPrivateJwk("EdDSA")];
    const signatures = [
      { name: "bot", issuer: "bot", audience: AUDIENCE, secret: "${env:BOT}" },
      { name: "other", issuer: "other", audience: AUDIENCE, key: toPublicJwk(bot) },
    ];
    const env = { BOT: HOST_SECRET, HOOKGATE_SIGNING_KEY: JSON.stringify(own) };
    const { url, greeting } = await serve({ id: "hookgate", auth: { signatures } }, env);
    expect(greeting).toContain("callers need a signature\n");
    const jwks = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as {
      readonly keys: readonly { readonly x: string }[];
    };
    expect(jwks.keys.map(({ x }) => x)).toEqual([own.x]);
    const base = { audience: AUDIENCE, gateway: "hookgate" };
    expect(await approve(url, { signing: { ...base, issuer: "bot", secret: HOST_SECRET } })).toBe(true);
    expect(await approve(url, { signing: { ...base, issuer: "bot", secret: HOST_SECRET } }, "bash")).toBe(false);
    expect(await approve(url, { signing: { ...base, issuer: "other", key: bot, gatewayKey: jwks } })).toBe(true);
    await expect(approve(url, { signing: { ...base, issuer: "bot", secret: SECRET } })).rejects.toMatchObject({
      code: "ERR_UNAUTHORIZED",
    });
    await expect(approve(url, {})).rejects.toMatchObject({ code: "ERR_UNAUTHORIZED" });
  });

  test("publishes its keys before it greets hooks, for an endpoint may have to fetch them first", async () => {
    const [gateway, own] = [await createPrivateJwk(), await createPrivateJwk()];
    const origin = async (): Promise<string> => {
      const [started] = running;
      return /listening url=(\S+)/.exec((await started?.seenError("listening url=")) ?? "")?.[1] ?? "";
    };
    const seen: string[] = [];
    const keys = createRemoteKeySet({
      url: "https://gateway.test/.well-known/jwks.json",
      // Its port is known only when it listens.
      async fetch(_url, init) {
        const url = await origin();
        const call = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
        const asked = [await fetch(`${url}/healthz`), await fetch(`${url}/readyz`), await fetch(`${url}/rpc`, call)];
        seen.push(asked.map(({ status }) => status).join(" "));
        return fetch(`${url}/.well-known/jwks.json`, init);
      },
    });
    await desk.close();
    desk = await openDesk({ keys: { gateway: keys, own } });
    const remote = { enabled: true, required: true, transport: "http", url: desk.hook, reply_key: toPublicJwk(own) };
    const processes = { desk: { ...remote, intercept: ["approve_tool"] } };
    dir = await makeDir({ "hooks.json": { hooks: { processes }, gateway: { port: 0 } } });
    const started = start(["serve"], { cwd: dir, env: { HOOKGATE_SIGNING_KEY: JSON.stringify(gateway) } });
    running.push(started);
    const greeting = await started.seen("try it:");
    expect(greeting).toMatch(/^desk +http +approve_tool +ready /m);
    expect(seen).toEqual(["200 503 503"]);
    const url = /http:\S+/.exec(greeting)?.[0] ?? "";
    expect([await approve(url, {}), await approve(url, {}, "bash")]).toEqual([true, false]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  test("lets hosts in by JWT", async () => {
    const [key, foreign] = [await issuerKey("RS256"), await issuerKey("RS256")];
    const jwt = [{ name: "idp", issuer: "https://idp.test", audience: AUDIENCE, keys: [key.jwk] }];
    const { url, greeting } = await serve({ auth: { jwt } });
    expect(greeting).toContain("callers need a JWT\n");
    const now = Math.floor(Date.now() / 1000);
    const times = { iat: now, exp: now + 60 };
    expect(await approve(url, { token: await key.token(times) })).toBe(true);
    for (const token of [await foreign.token(times), await key.token({ ...times, aud: "x" }), await key.token()]) {
      await expect(approve(url, { token })).rejects.toMatchObject({ code: "ERR_UNAUTHORIZED" });
    }
  });

  test("is a hook of another gateway, approvals and all", async () => {
    const host = new HookManager();
    await host.mount(policy, { name: "policy" });
    let url = "";
    let made: Promise<Gateway> | undefined;
    // Its own URL is known only when it listens.
    const make = (): Promise<Gateway> => {
      const signatures = [{ name: "edge", issuer: "edge", audience: url, secret: HOST_SECRET }];
      const text = JSON.stringify({ hooks: {}, gateway: { id: "inner", auth: { signatures } } });
      const { gateway } = parseConfig(text, { env: {}, builtins: createBuiltinRegistry() });
      return createGatewayFromConfig(gateway, { host, hooks: () => host.hooks() });
    };
    const late: Gateway = {
      fetch: async (request, info) => (await (made ??= make())).fetch(request, info),
      drain: () => Promise.resolve(),
      callsInFlight: () => 0,
      assertBindable() {},
    };
    const listener = await serveGateway(late, { port: 0, overrideGlobalObjects: false });
    url = `${listener.url}/rpc`;
    const inner = {
      enabled: true,
      transport: "http",
      url,
      secret: "${env:BOT}",
      intercept: ["before_tool", "approve_tool"],
    };
    dir = await makeDir({ "hooks.json": { hooks: { processes: { inner } }, gateway: { id: "edge" } } });
    const env = { BOT: HOST_SECRET };
    const allowed = await run(["call", "check_tool", "--tool", "ls"], { cwd: dir, env });
    expect([allowed.code, allowed.stderr]).toEqual([0, ""]);
    const denied = await run(["call", "check_tool", "--tool", "bash"], { cwd: dir, env });
    expect([denied.code, denied.stdout]).toEqual([2, expect.stringContaining("denied by inner: the desk says no")]);
    expect((await run(["check"], { cwd: dir, env })).stdout).toMatch(/signature +ok/);
    await listener.close();
    await host.close();
  });
});
