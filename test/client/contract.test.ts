import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNodeGatewayClient, type GatewayListener, serveGateway } from "../../adapters/node/index.ts";
import { createGatewayClient } from "../../src/client/index.ts";
import { createGateway } from "../../src/gateway/index.ts";
import { type HookHost, HookManager } from "../../src/picoclaw/index.ts";
import { contract } from "./host-contract.ts";

/** The manager behind the server; each test mounts its own hooks. */
let manager = new HookManager();
let listener: GatewayListener;

beforeAll(async () => {
  // The server outlives the managers of the single tests.
  const gateway = createGateway({ host: manager, hooks: () => [] });
  const fetch: typeof gateway.fetch = (request, info) =>
    createGateway({ host: manager, hooks: () => manager.hooks() }).fetch(request, info);
  listener = await serveGateway({ ...gateway, fetch }, { port: 0 });
});

afterAll(() => listener.close());

async function mount(hooks: (typeof contract)[number]["hooks"]): Promise<HookManager> {
  const mounted = new HookManager();
  for (const [name, hook] of Object.entries(hooks)) await mounted.mount(hook, { name });
  return mounted;
}

/** A decision without what is another each time. */
function stable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, item: unknown) => {
    if (key === "ms") return typeof item;
    return key === "id" && typeof item === "string" ? "id" : item;
  });
}

const CLIENTS: Readonly<Record<string, (url: string) => HookHost>> = {
  "over the platform's fetch": (url) => createGatewayClient({ url }),
  "over undici": (url) => createNodeGatewayClient({ url }),
};

describe.each(contract)("$name", ({ hooks, ask, expected }) => {
  test("by the local manager", async () => {
    expect(await ask(await mount(hooks))).toMatchObject(expected);
  });

  test.each(Object.entries(CLIENTS))("by the client %s", async (_, createClient) => {
    manager = await mount(hooks);
    const client = createClient(listener.url);
    const decision = await ask(client);
    expect(decision).toMatchObject(expected);
    expect(stable(decision)).toEqual(stable(await ask(await mount(hooks))));
    await client.close();
  });
});
