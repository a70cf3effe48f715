import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { PortPool } from "../../src/config/index.ts";
import { createLocalPort, HookManager, ReloadableHost } from "../../src/picoclaw/index.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const RELOADS = 50;

test("a host keeps none of the managers before, though a hook goes on through all of them", async () => {
  const pool = new PortPool();
  const hook = { beforeTool: () => undefined, onEvent: () => undefined };
  const mount = async (generation: number, keptFrom?: HookManager): Promise<HookManager> => {
    const { port } = await pool.lease("gate", () => createLocalPort(hook));
    const manager = new HookManager({ generation });
    await manager.mount(port, { name: "gate", keptFrom, maxConcurrency: 4 });
    return manager;
  };
  const host = new ReloadableHost(await mount(1));
  const before: WeakRef<HookManager>[] = [];
  for (let generation = 2; generation <= RELOADS; generation += 1) {
    before.push(new WeakRef(host.manager));
    await host.beforeTool({ tool: "ls" });
    await host.swap(await mount(generation, host.manager));
  }
  // A weak reference keeps what it refers to until the task that looked at it has ended.
  await new Promise(setImmediate);
  collect();
  expect(before.filter((manager) => manager.deref() !== undefined).length).toBeLessThanOrEqual(1);
  expect(host.hooks()).toMatchObject([{ calls: RELOADS - 1 }]);
  await host.close();
});
