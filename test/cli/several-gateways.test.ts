import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRedisApprovalStore } from "../../adapters/node/index.ts";
import { type Approval, ApprovalManager, type ApprovalStore } from "../../src/approvals/index.ts";
import { createSecretKey } from "../../src/signing/keys.ts";
import { createRequestSigner } from "../../src/signing/request.ts";
import { SIGNATURE_HEADER } from "../../src/signing/token.ts";
import { type RedisServer, startRedis } from "../adapters/node/redis-server.ts";
import { makeDir, removeDir, type Running, start } from "./run.ts";

const AUDIENCE = "https://gate.test/rpc";
const SECRET = "fedcba9876543210fedcba9876543210";
const JSON_TYPE = { "content-type": "application/json" };

interface Node {
  readonly url: string;
  readonly process: Running;
}

let redis: RedisServer;
const dirs: string[] = [];
const nodes: Running[] = [];
const stores: ApprovalStore[] = [];

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  for (const node of nodes) node.signal("SIGKILL");
  await Promise.all(nodes.map(({ ended }) => ended));
  for (const store of stores) await store.close();
  for (const dir of dirs) await removeDir(dir);
  await redis.close();
});

async function makeConfig(gateway: object = {}, rule: object = {}): Promise<string> {
  const human = { enabled: true, config: { rules: [rule] } };
  const dir = await makeDir({
    "hooks.json": {
      hooks: { builtins: { human_approval: human } },
      gateway: { id: "gate", ...gateway },
      approvals: { store: "${env:STORE}" },
    },
  });
  dirs.push(dir);
  return dir;
}

/** A gateway in a process of its own. */
async function serve(dir: string, store: string): Promise<Node> {
  const process = start(["serve", "--port", "0"], { cwd: dir, env: { STORE: store, SECRET } });
  nodes.push(process);
  const greeting = await process.seen("try it:");
  return { process, url: /listens on (\S+)/.exec(greeting)?.[1] ?? "" };
}

interface Answer {
  readonly result?: {
    readonly approved: boolean;
    readonly approval?: { readonly id: string; readonly status: string };
  };
  readonly error?: { readonly data?: { readonly reason?: string } };
}

async function ask({ url }: Node, command: string): Promise<Answer> {
  const params = { tool: "bash", arguments: { command } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
  return (await fetch(`${url}/rpc`, { method: "POST", headers: JSON_TYPE, body })).json() as Promise<Answer>;
}

/** What people decide with, and the next approval they are asked for. */
async function people(store: ApprovalStore): Promise<{ manager: ApprovalManager; asked: Promise<Approval> }> {
  stores.push(store);
  const manager = new ApprovalManager({ store });
  const asked = new Promise<Approval>((resolve, reject) => {
    void store.subscribe((change) => {
      if (change?.status === "pending") manager.get(change.id).then(resolve, reject);
    });
  });
  await store.health();
  return { manager, asked };
}

/** What a person says at a gateway. */
async function decide({ url }: Node, id: string, decision: "approve" | "deny"): Promise<number> {
  const body = JSON.stringify({ decision });
  const path = `${url}/v1/approvals/${id}/decision`;
  return (await fetch(path, { method: "POST", headers: JSON_TYPE, body })).status;
}

describe("two gateways on one Redis", { timeout: 60_000 }, () => {
  test("what is asked at one and decided at the other ends the wait at once, and is used once", async () => {
    const store = redis.newUrl();
    const dir = await makeConfig();
    const [a, b] = await Promise.all([serve(dir, store), serve(dir, store)]);
    const { manager, asked } = await people(createRedisApprovalStore({ url: store }));
    const waiting = ask(a, "make");
    const { id, tool } = await asked;
    expect(tool).toBe("bash");
    expect(await decide(b, id, "approve")).toBe(200);
    expect(await waiting).toMatchObject({ result: { approved: true, approval: { id, status: "consumed" } } });
    expect((await manager.get(id)).status).toBe("consumed");
    expect([await decide(a, id, "approve"), await decide(b, id, "deny")]).toEqual([409, 409]);
    const again = ask(b, "make");
    const next = await nextPending(manager);
    expect(next.id).not.toBe(id);
    expect(await decide(a, next.id, "deny")).toBe(200);
    expect(await again).toMatchObject({ result: { approved: false, approval: { id: next.id, status: "denied" } } });
  });

  test("nothing that is pending is lost with the gateway it was asked at", async () => {
    const store = redis.newUrl();
    const dir = await makeConfig();
    const [a, b] = await Promise.all([serve(dir, store), serve(dir, store)]);
    const { manager, asked } = await people(createRedisApprovalStore({ url: store }));
    const lost = ask(a, "make").catch(() => "lost");
    const { id } = await asked;
    a.process.signal("SIGKILL");
    expect(await lost).toBe("lost");
    expect((await manager.get(id)).status).toBe("pending");
    const waiting = ask(b, "make");
    expect(await decide(b, id, "approve")).toBe(200);
    expect(await waiting).toMatchObject({ result: { approved: true, approval: { id } } });
    const { approvals } = await manager.list({ maxApprovals: 10 });
    expect(approvals.map((approval) => [approval.id, approval.status])).toEqual([[id, "consumed"]]);
  });
});

async function nextPending(manager: ApprovalManager): Promise<Approval> {
  for (;;) {
    const [first] = (await manager.list({ status: "pending", maxApprovals: 1 })).approvals;
    if (first !== undefined) return first;
  }
}

const SIGNED = {
  auth: { signatures: [{ name: "bot", issuer: "bot", audience: AUDIENCE, secret: "${env:SECRET}" }] },
};

/** Sends one signed request to some gateways, one after the other, and gives why each refused it. */
async function replay(to: readonly Node[]): Promise<readonly (string | undefined)[]> {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params: { tool: "ls" } });
  const body = new TextEncoder().encode(text);
  const signer = createRequestSigner({ key: await createSecretKey(SECRET), issuer: "bot", audience: AUDIENCE });
  const { token } = await signer.sign({ method: "hook.before_tool", body });
  const headers = { ...JSON_TYPE, [SIGNATURE_HEADER]: token };
  const reasons: (string | undefined)[] = [];
  for (const { url } of to) {
    const answer = (await (await fetch(`${url}/rpc`, { method: "POST", headers, body })).json()) as Answer;
    reasons.push(answer.error?.data?.reason);
  }
  return reasons;
}

describe("a Redis that is down", { timeout: 60_000 }, () => {
  test("denies with what to do about it, is said by /readyz, and has what is pending when it is back", async () => {
    const own = await startRedis(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
    try {
      const node = await serve(await makeConfig({}, { wait_ms: 0 }), own.newUrl());
      const pending = await ask(node, "make");
      expect(pending).toMatchObject({ result: { approval: { status: "pending" } } });
      expect(await readiness(node)).toMatchObject({ status: "ready", approvals: { available: true } });
      await own.kill();
      const denied = await ask(node, "make");
      expect(denied).toMatchObject({
        result: {
          approved: false,
          reason:
            'tool approval hook "human_approval" failed: the approval store is not available, so nothing can be approved. Make the same call again later',
          trace: { records: [{ hook: "human_approval", outcome: "no_verdict", kind: "store_unavailable" }] },
        },
      });
      expect(JSON.stringify(denied)).not.toMatch(new RegExp(`redis://|${own.port}|127\\.0\\.0\\.1`));
      expect(await readiness(node)).toMatchObject({ status: "degraded", approvals: { available: false } });
      await own.start();
      await expect.poll(() => readiness(node), { timeout: 20_000 }).toMatchObject({ status: "ready" });
      expect(await ask(node, "make")).toMatchObject({ result: { approval: pending.result?.approval } });
    } finally {
      await own.close();
    }
  });
});

async function readiness({ url }: Node): Promise<unknown> {
  return (await fetch(`${url}/readyz`)).json();
}

describe("a signed request", { timeout: 60_000 }, () => {
  test.each(["redis", "sqlite"])("that one gateway has accepted is refused by the others on one %s", async (kind) => {
    const dir = await makeConfig(SIGNED);
    const store = kind === "redis" ? redis.newUrl() : "sqlite:approvals.db";
    const [a, b] = await Promise.all([serve(dir, store), serve(dir, store)]);
    expect(await replay([a, b, a])).toEqual([undefined, "replayed", "replayed"]);
    expect(await replay([b, a])).toEqual([undefined, "replayed"]);
  });

  test("is refused while the store cannot be reached", async () => {
    const own = await startRedis();
    try {
      const node = await serve(await makeConfig(SIGNED), own.newUrl());
      expect(await replay([node])).toEqual([undefined]);
      await own.kill();
      expect(await replay([node])).toEqual(["replay_store_unavailable"]);
    } finally {
      await own.close();
    }
  });
});
