import { describe, expect, test } from "vitest";
import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import type { EdgeGatewayOptions } from "../../src/gateway/edge.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";
import { createFetchExchange } from "../../src/transport/fetch-exchange.ts";
import { sha256 } from "../records/fixtures.ts";
import { createStage, GUARDED, NO_OUTBOX, OPEN, secretHook, type Stage, stdioHook } from "./edge-stage.ts";

describe("a gateway on the edge", () => {
  test("serves whoever has a token", async () => {
    const { ask } = createStage({ config: GUARDED });
    const reply = await ask({ token: "test" }, { remoteAddress: "203.0.113.9" });
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('"deny_tool"')]);
    expect((await ask({ token: "tesT" })).status).toBe(401);
    expect((await ask()).status).toBe(401);
  });

  test("without authentication serves nobody, and says so once in its log and not to callers", async () => {
    const { ask, lines } = createStage({});
    for (const host of ["gateway.example.com", "localhost"]) {
      const reply = await ask({ host });
      expect([reply.status, await reply.text()]).toEqual([500, expect.not.stringContaining("gateway.auth")]);
    }
    const errors = lines.filter(({ level }) => level === "error").map(({ error }) => error);
    expect(errors).toEqual([expect.stringContaining("configure gateway.auth")]);
  });

  test("on the developer's machine serves only that machine", async () => {
    const { ask } = createStage({ isLocal: true });
    expect((await ask({ host: "localhost" })).status).toBe(200);
    expect((await ask({ host: "localhost" }, { remoteAddress: "127.0.0.1" })).status).toBe(200);
    expect((await ask({ host: "localhost" }, { remoteAddress: "203.0.113.9" })).status).toBe(403);
    expect((await ask({ host: "hookgate.example.workers.dev" })).status).toBe(403);
  });

  test("is built by each request that finds none, and by no request after", async () => {
    let built = 0;
    const builtins = createBuiltinRegistry();
    builtins.register("count", () => {
      built += 1;
      return { beforeTool: () => undefined };
    });
    const config = { ...GUARDED, hooks: { builtins: { count: { enabled: true } } } };
    const { ask } = createStage({ config, builtins });
    expect(built).toBe(0);
    const replies = await Promise.all([ask({ token: "test" }), ask({ token: "test" })]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    const atFirst = built;
    await ask({ token: "test" });
    expect([atFirst, built]).toEqual([2, 2]);
  });

  test.for([
    ["no config", undefined, "$: missing"],
    ["a number", 5, "$: missing"],
    ["text that is not JSON", "{", "not JSON"],
    ["an unknown key", { hooks: { builtin: {} } }, 'did you mean "builtins"?'],
    ["a variable that is not set", { hooks: { processes: { a: secretHook("${env:NOBODY}") } } }, "NOBODY is not set"],
    ["a variable that is no text", { hooks: { processes: { a: secretHook("${env:TABLE}") } } }, "TABLE is not set"],
    ["records", { ...OPEN, records: {} }, "records: this runtime cannot record decisions"],
    ["records without a name of a queue", { ...OPEN, records: { queue: "" } }, "records.queue"],
    ["a process", { hooks: { processes: { gate: stdioHook() } } }, "hooks.processes.gate"],
    [
      "a process, and what to do",
      { hooks: { processes: { gate: stdioHook() } } },
      "run a gateway with this hook on Node",
    ],
  ] as const)("refuses %s, for good, and says why where that is safe", async ([, config, said]) => {
    const { ask } = createStage({ config, env: { TABLE: {} }, isLocal: true });
    for (let round = 0; round < 2; round += 1) {
      const reply = await ask({ host: "localhost" });
      expect([reply.status, await reply.text()]).toEqual([
        500,
        expect.stringContaining(JSON.stringify(said).slice(1, -1)),
      ]);
    }
  });
});

function createRecording(records: object): Stage & { readonly written: string[] } {
  const written: string[] = [];
  const works: Promise<unknown>[] = [];
  const queue = {
    sendBatch: async (messages: readonly { readonly body: string }[]) =>
      void written.push(...messages.map(({ body }) => `queue ${body}`)),
  };
  const stage = createStage({
    config: { ...OPEN, records },
    isLocal: true,
    env: { DECISIONS: queue },
    ports: { platform: { waitUntil: (work) => void works.push(work) } },
    fetch: () => Promise.reject(new Error("no network")),
    records: { hash: sha256, writeLine: (line) => written.push(line) },
  });
  return {
    ...stage,
    written,
    async ask(request = { host: "localhost" }, info) {
      const reply = await stage.ask(request, info);
      await Promise.all(works);
      return reply;
    },
  };
}

describe("records on the edge", () => {
  test.for([
    ["to the console where no place is named", {}, /^\{"action":"deny_tool"/],
    ["to a queue", { queue: "DECISIONS" }, /^queue \{"action":"deny_tool"/],
  ] as const)("go %s", async ([, records, line]) => {
    const { ask, written } = createRecording(records);
    expect((await ask()).status).toBe(200);
    expect(written).toEqual([expect.stringMatching(line)]);
  });

  test.for([
    [
      { sqlite: {} },
      'records.sqlite: this runtime has no such place for records: leave it out and use one of "console"',
    ],
    [{ file: { path: "x" }, console: true }, "records.file: this runtime has no such place for records"],
    [{ queue: "NOBODY" }, 'records.queue: there is no queue binding "NOBODY"'],
  ] as const)("%j is refused, and says: %s", async ([records, said]) => {
    const { ask } = createRecording(records);
    const reply = await ask();
    const { error } = (await reply.json()) as { readonly error: { readonly message: string } };
    expect([reply.status, error.message]).toEqual([500, expect.stringContaining(said)]);
  });

  test("that cannot be written show in /readyz, and nothing else changes", async () => {
    const { ask, lines } = createRecording({ http: { url: "https://collector.example" } });
    expect((await ask()).status).toBe(200);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: "error",
        message: "records cannot be written",
        error: "the collector cannot be reached: no network",
      }),
    );
    const reply = await ask({ host: "localhost", path: "/readyz" });
    expect(await reply.json()).toMatchObject({
      status: "degraded",
      records: { sinks: [{ name: "http", waiting: 1 }] },
    });
  });

  test.for([
    ["/v1/records", "they go to console"],
    ["/v1/records/1", "they go to console"],
    ["/v1/events", "they go to console"],
    ["/metrics", "no counters"],
  ] as const)("%s says where to look", async ([path, said]) => {
    const reply = await createRecording({}).ask({ host: "localhost", path });
    expect([reply.status, await reply.text()]).toEqual([404, expect.stringContaining(said)]);
  });
});

async function errorOf(config: object, approvals?: EdgeGatewayOptions["approvals"]): Promise<unknown> {
  const { ask, lines } = createStage({ config, approvals });
  expect((await ask({ token: "test" })).status).toBe(500);
  return lines.find(({ level }) => level === "error")?.["error"];
}

describe("notifications on the edge", () => {
  const approvals: EdgeGatewayOptions["approvals"] = {
    stores: ["durable_object"],
    open: () => Object.assign(createMemoryApprovalStore(), { outbox: () => NO_OUTBOX }),
  };
  const slack = { type: "slack", url: "https://hooks.slack.test/x" };
  const stageOf = (notify: readonly object[]): Stage =>
    createStage({
      config: { ...GUARDED, approvals: { store: "durable_object:PEOPLE", notify } },
      approvals,
      ports: {
        connect: () => ({ exchange: createFetchExchange(), fetch: () => Promise.reject(new Error()) }),
        allowAddress: false,
      },
    });

  test.for([
    [
      "a command",
      { type: "command", name: "desk", command: "notify" },
      'approvals.notify[1].type: "desk": this runtime runs no commands: use a webhook, or run the gateway on Node',
    ],
    [
      "an IP address",
      { type: "discord", url: "https://192.0.2.1/x" },
      "approvals.notify[1].url: url must have a name, not an IP address, as its host",
    ],
    [
      "a private address",
      { type: "webhook", url: "http://localhost/x", secret: `whsec_${"a".repeat(32)}`, allow_private: false },
      "approvals.notify[1].url: url must not be a private address",
    ],
    [
      "the API of a bot at an address",
      { type: "telegram", token: "1:a", chat_id: "1", api_url: "https://[2001:db8::1]" },
      "approvals.notify[1].api_url: url must have a name",
    ],
    [
      "a name for two",
      { ...slack, name: "slack 1" },
      "approvals.notify[1].name: another entry has this name: give each its own",
    ],
  ] as const)("%s is refused, and it is said where and what to change", async ([, entry, said]) => {
    const { ask, lines } = stageOf([slack, entry]);
    expect((await ask({ token: "test" })).status).toBe(500);
    expect(lines.find(({ level }) => level === "error")?.["error"]).toContain(said);
  });

  test("whose counts cannot be read show that, and not zeros that are none", async () => {
    const { ask } = stageOf([slack]);
    const reply = await ask({ token: "test", path: "/v1/hooks" });
    expect(await reply.json()).toMatchObject({
      notifications: [{ name: "slack 1", last_error: expect.stringContaining("cannot be read") as string }],
    });
  });
});

describe("human approvals on the edge", () => {
  const human = { enabled: true, config: { rules: [{ wait_ms: 0 }] } };
  const asking = { ...GUARDED, hooks: { builtins: { human_approval: human } } };

  test("are kept where the config says, for as long as it says", async () => {
    const opened: unknown[] = [];
    const store = createMemoryApprovalStore();
    const { ask } = createStage({
      config: { ...asking, approvals: { store: "durable_object:PEOPLE", keep_days: 2 } },
      approvals: {
        stores: ["durable_object"],
        open(address, options) {
          opened.push(address, options);
          return store;
        },
      },
    });
    expect((await ask({ token: "test" })).status).toBe(200);
    expect(opened).toEqual([{ kind: "durable_object", target: "PEOPLE" }, { keepMs: 2 * 86_400_000 }]);
    expect(await (await ask({ token: "test", path: "/readyz" })).text()).toContain('"ready"');
    await store.close();
    expect(await (await ask({ token: "test", path: "/readyz" })).text()).toContain('"degraded"');
  });

  test.for([
    ["asks people beside the hooks of a registry of its own", undefined, '"status":"pending"'],
    ["gives way to a hook of its name in a registry of its own", "human_approval", '"reason":"ours"'],
  ] as const)("human_approval %s", async ([, name, said]) => {
    const builtins = createBuiltinRegistry();
    builtins.register(name ?? "own", () => ({ approveTool: () => ({ approved: false, reason: "ours" }) }));
    const { ask } = createStage({
      config: {
        hooks: { builtins: { human_approval: name === undefined ? human : { enabled: true } } },
        approvals: { store: "durable_object:PEOPLE" },
      },
      builtins,
      isLocal: true,
      approvals: { stores: ["durable_object"], open: () => createMemoryApprovalStore() },
    });
    // Each of two builds has a registry to itself.
    const replies = await Promise.all([1, 2].map(() => ask({ host: "localhost", method: "hook.approve_tool" })));
    for (const reply of replies)
      expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining(said)]);
    expect(builtins.names).toEqual(["deny_tools", "log", name ?? "own"]);
  });

  test("are refused where there is nothing to keep them in, and so are notifications", async () => {
    const ports = { stores: ["durable_object"] as const, open: () => undefined };
    const approvals = { store: "durable_object:NOBODY" };
    const notify = [{ type: "slack", url: "https://hooks.slack.test/x" }];
    expect(await errorOf(asking)).toContain('no store of the kind "sqlite": it has none');
    expect(await errorOf(asking, ports)).toContain('no store of the kind "sqlite": it has durable_object');
    expect(await errorOf(asking, ports)).toContain('missing: the default is "sqlite:hookgate-approvals.db"');
    const unbound =
      'approvals.store: there is no Durable Object binding "NOBODY": bind the class ApprovalsObject by this name';
    expect(await errorOf({ ...asking, approvals }, ports)).toBe(`CONFIG ${unbound}`);
    expect(await errorOf({ ...asking, approvals: { ...approvals, notify } }, ports)).toBe(`CONFIG ${unbound}`);
    const memory = { stores: ["durable_object"] as const, open: () => createMemoryApprovalStore() };
    expect(await errorOf({ ...asking, approvals: { ...approvals, notify } }, memory)).toContain("notifies nobody");
  });
});
