import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { createNodeGatewayClient, createSqliteApprovalStore } from "../../adapters/node/index.ts";
import { ApprovalManager } from "../../src/approvals/index.ts";
import type { ToolCheckDecision } from "../../src/picoclaw/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { makeDir, removeDir, type Running, start } from "./run.ts";

const dirs: string[] = [];
const servers: Server[] = [];
const running = new Set<Running>();

afterEach(async () => {
  for (const gateway of running) await kill(gateway);
  for (const server of servers.splice(0)) server.close();
  for (const dir of dirs.splice(0)) await removeDir(dir);
});

async function kill(gateway: Running): Promise<void> {
  gateway.signal("SIGKILL");
  await gateway.ended;
  running.delete(gateway);
}

async function newDir(config: object): Promise<string> {
  const dir = await makeDir({ "hooks.json": config });
  dirs.push(dir);
  return dir;
}

async function serve(cwd: string, env: Readonly<Record<string, string>> = {}): Promise<Running & { url: string }> {
  const started = start(["serve"], { cwd, env });
  running.add(started);
  const url = /http:\S+/.exec(await started.seen("try it:"))?.[0] ?? "";
  return Object.assign(started, { url });
}

interface Relay {
  readonly url: string;
  /** Where it sends calls on to. */
  target: string;
  /** What it makes of the answers; the last was what came. */
  tamper: (result: Record<string, unknown>) => unknown;
  last: Record<string, unknown>;
}

/** What stands between two gateways and can read and change everything. */
async function openRelay(): Promise<Relay> {
  const relay = { url: "", target: "", tamper: (result: Record<string, unknown>): unknown => result, last: {} };
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(relay.target, { method: "POST", headers, body: await text(incoming) });
      const reply = (await answer.json()) as { result: Record<string, unknown> };
      relay.last = reply.result;
      outgoing
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ ...reply, result: relay.tamper(reply.result) }));
    })();
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(relay, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
}

async function ask(url: string, command = "ls"): Promise<ToolCheckDecision> {
  const client = createNodeGatewayClient({ url });
  try {
    return await client.checkTool({ tool: "bash", arguments: { command } });
  } finally {
    await client.close();
  }
}

function kindsOf({ approved, trace }: ToolCheckDecision): unknown {
  return [approved, trace.records.map(({ kind, outcome }) => kind ?? outcome)];
}

test(
  "what people approve at one gateway counts at another, whoever is in between and whatever is killed",
  { timeout: 90_000 },
  async () => {
    const jwk = await createPrivateJwk("ES256");
    const env = { HOOKGATE_SIGNING_KEY: JSON.stringify(jwk) };
    const people = { enabled: true, config: { rules: [{ wait_ms: 0 }], sign_for: "outer" } };
    const innerDir = await newDir({
      hooks: { builtins: { human_approval: people } },
      gateway: { port: 0, id: "inner" },
    });
    const relay = await openRelay();
    const token = { issuer: "inner", key: toPublicJwk(jwk) };
    const hook = { enabled: true, transport: "http", url: relay.url, unsigned: true, handshake: "none" };
    const desk = { ...hook, intercept: ["approve_tool"], approval_token: token };
    const outerDir = await newDir({ hooks: { processes: { desk } }, gateway: { port: 0, id: "outer" } });

    let inner = await serve(innerDir, env);
    let outer = await serve(outerDir);
    relay.target = `${inner.url}/rpc`;
    const pending = await ask(outer.url);
    expect(pending).toMatchObject({ approved: false, approval: { status: "pending" } });

    await kill(inner);
    const store = createSqliteApprovalStore({ path: join(innerDir, "hookgate-approvals.db") });
    const approvals = new ApprovalManager({ store });
    const id = pending.approval?.id ?? "";
    expect((await approvals.decide(id, { by: "ann", how: "test", decision: "approve" })).status).toBe("approved");
    await store.close();
    inner = await serve(innerDir, env);
    relay.target = `${inner.url}/rpc`;
    expect(await ask(outer.url)).toMatchObject({ approved: true, approval: { id, status: "approved", by: "ann" } });

    const used = relay.last;
    relay.tamper = (result) => ({ ...result, approved: true });
    expect(kindsOf(await ask(outer.url))).toEqual([false, ["unsigned_reply"]]);
    relay.tamper = () => used;
    expect(kindsOf(await ask(outer.url, "rm"))).toEqual([false, ["bad_signature"]]);
    expect(kindsOf(await ask(outer.url))).toEqual([false, ["replayed_reply"]]);
    await kill(outer);
    outer = await serve(outerDir);
    expect(kindsOf(await ask(outer.url))).toEqual([false, ["replayed_reply"]]);
  },
);
