import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dev, freePort, ROOT, startDev } from "./wrangler.ts";

const COMPATIBILITY = { compatibility_date: "2026-11-01", compatibility_flags: ["enable_request_signal"] };
const QUICK_MS = 1500;

/** A Worker beside the gateway, by which people decide: it is bound to the gateway's own object. */
const PEOPLE = `
import { createDurableApprovalStore } from "${join(ROOT, "adapters/cloudflare/approvals.ts")}";
import { ApprovalManager } from "${join(ROOT, "src/approvals/index.ts")}";

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname === "/rpc") return env.GATEWAY.fetch(request);
    const store = createDurableApprovalStore({ namespace: env.PEOPLE });
    const id = url.searchParams.get("id");
    const decision = url.searchParams.get("decision");
    if (decision !== null) {
      return Response.json(await new ApprovalManager({ store }).decide(id, { by: "ann", how: "token", decision }));
    }
    if (id === null) return Response.json(await store.list({ status: "pending", maxApprovals: 10 }));
    // The store alone: a manager would settle what is over by itself.
    for (;;) {
      const approval = await store.get(id);
      if (approval.status !== "pending") return Response.json(approval);
      await store.changed(id, { version: approval.version, signal: new AbortController().signal });
    }
  },
};`;

interface Answer {
  readonly result: { readonly approved: boolean; readonly approval?: { readonly id: string; readonly status: string } };
}

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly tool: string;
}

describe("human approvals in a Durable Object of wrangler dev", { timeout: 60_000 }, () => {
  let dir: string;
  let dev: Dev;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "hookgate-people-"));
    const rules = [
      { match: { tool: ["quick"] }, expires_ms: QUICK_MS, wait_ms: 0 },
      { match: { tool: ["later"] }, wait_ms: 0 },
      {},
    ];
    const human = { enabled: true, config: { rules } };
    const workers = {
      people: {
        main: join(dir, "people.js"),
        services: [{ binding: "GATEWAY", service: "gateway" }],
        durable_objects: { bindings: [{ name: "PEOPLE", class_name: "ApprovalsObject", script_name: "gateway" }] },
      },
      gateway: {
        main: join(ROOT, "adapters/cloudflare/worker.ts"),
        vars: {
          HOOKGATE_DEV: "1",
          HOOKGATE_CONFIG: {
            hooks: { builtins: { human_approval: human } },
            approvals: { store: "durable_object:PEOPLE" },
          },
        },
        durable_objects: { bindings: [{ name: "PEOPLE", class_name: "ApprovalsObject" }] },
        migrations: [{ tag: "v1", new_sqlite_classes: ["ApprovalsObject"] }],
      },
    };
    await writeFile(join(dir, "people.js"), PEOPLE);
    const configs: string[] = [];
    for (const [name, worker] of Object.entries(workers)) {
      const file = join(dir, `${name}.json`);
      await writeFile(file, JSON.stringify({ name, ...COMPATIBILITY, ...worker }));
      configs.push(file);
    }
    dev = await startDev({ configs, port: await freePort(), stateDir: join(dir, "state") });
  }, 60_000);

  afterAll(async () => {
    await dev.stop();
    await rm(dir, { recursive: true, force: true });
  });

  async function ask(tool: string, command = "ls"): Promise<Answer["result"]> {
    const params = { tool, arguments: { command } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${dev.url}/rpc`, { method: "POST", headers, body });
    return ((await answer.json()) as Answer).result;
  }

  async function people(query: string): Promise<Shown> {
    return (await (await fetch(`${dev.url}/people?${query}`)).json()) as Shown;
  }

  async function nextPending(): Promise<Shown> {
    for (;;) {
      const { approvals } = (await (await fetch(`${dev.url}/people`)).json()) as { approvals: Shown[] };
      const [first] = approvals;
      if (first !== undefined) return first;
    }
  }

  test("one that is decided ends the call that waits for it, and is used once", async () => {
    const waiting = ask("bash", "make");
    const { id, tool } = await nextPending();
    expect(tool).toBe("bash");
    expect((await people(`id=${id}&decision=approve`)).status).toBe("approved");
    expect(await waiting).toMatchObject({ approved: true, approval: { id, status: "consumed" } });
    const denied = ask("bash", "make");
    const second = await nextPending();
    expect(second.id).not.toBe(id);
    await people(`id=${second.id}&decision=deny`);
    expect(await denied).toMatchObject({ approved: false, approval: { id: second.id, status: "denied" } });
  });

  test("one that was decided after its call has ended is used by the next", async () => {
    const first = await ask("later");
    expect(first).toMatchObject({ approved: false, approval: { status: "pending" } });
    const id = first.approval?.id ?? "";
    await people(`id=${id}&decision=approve`);
    expect(await ask("later")).toMatchObject({ approved: true, approval: { id, status: "consumed" } });
  });

  test("one that nobody decides expires by alarm", async () => {
    const { approval } = await ask("quick");
    expect(approval?.status).toBe("pending");
    const settled = await people(`id=${approval?.id}`);
    expect(settled).toMatchObject({ id: approval?.id, status: "expired", version: 2 });
    expect(dev.output()).not.toContain("different request");
  });
});
