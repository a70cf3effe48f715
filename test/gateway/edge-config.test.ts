import { expect, test } from "vitest";
import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import { createFetchExchange } from "../../src/transport/fetch-exchange.ts";
import { sha256 } from "../records/fixtures.ts";
import { createStage, GUARDED, NO_OUTBOX, secretHook, stdioHook } from "./edge-stage.ts";

test("everything that a runtime lacks is said at once, at its place in the config", async () => {
  const service = { enabled: true, transport: "service", unsigned: true, intercept: ["before_tool"] };
  const config = {
    ...GUARDED,
    hooks: {
      builtins: { human_approval: { enabled: true, config: { rules: [{}] } } },
      processes: {
        first: stdioHook(),
        second: stdioHook(),
        third: { ...service, binding: "NOBODY" },
        fourth: { ...service, binding: "NEITHER" },
        address: { ...secretHook("${env:SECRET}"), url: "https://192.0.2.1/" },
      },
    },
    approvals: { store: "durable_object:PEOPLE", notify: [{ type: "command", command: "true" }] },
    records: { queue: "DECISIONS" },
    yaml: { user: "hooks.yaml", project: "project.yaml" },
  };
  const { ask, lines } = createStage({
    config,
    env: { SECRET: "a secret of at least thirty-two bytes" },
    approvals: {
      stores: ["durable_object"],
      open: () => Object.assign(createMemoryApprovalStore(), { outbox: () => NO_OUTBOX }),
    },
    records: { hash: sha256, writeLine: () => undefined },
    ports: {
      connect: () => ({ exchange: createFetchExchange(), fetch: () => Promise.reject(new Error()) }),
      bind: () => undefined,
      allowAddress: false,
    },
  });
  expect((await ask({ token: "test" })).status).toBe(500);
  const [error] = lines.filter(({ level }) => level === "error").map((line) => String(line["error"]));
  expect(error?.split("\n").map((line) => line.split(": ", 1)[0])).toEqual([
    "CONFIG yaml.user",
    "CONFIG yaml.project",
    "CONFIG records.queue",
    "CONFIG approvals.notify[0].type",
    "CONFIG hooks.processes.first.transport",
    "CONFIG hooks.processes.second.transport",
    "CONFIG hooks.processes.third",
    "CONFIG hooks.processes.fourth",
    "CONFIG hooks.processes.address",
  ]);
});

test.for([
  ["a table", (config: object) => config, "CONFIG hooks.builtins.deny_tool: unknown"],
  ["text", (config: object) => JSON.stringify(config), "CONFIG:1:35 hooks.builtins.deny_tool: unknown"],
] as const)("a place in %s is where it was written, or not said", async ([, toGiven, said]) => {
  const config = toGiven({ hooks: { builtins: { deny_tool: { enabled: true } } } });
  const reply = await createStage({ config, isLocal: true }).ask({ host: "localhost" });
  const { error } = (await reply.json()) as { readonly error: { readonly message: string } };
  expect(error.message).toContain(said);
});
