import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createRedisApprovalStore, createSqliteApprovalStore } from "../../../adapters/node/index.ts";
import { crashGateways } from "../../approvals/crash.ts";
import { startRedis } from "./redis-server.ts";

const directory = await mkdtemp(join(tmpdir(), "hookgate-crash-"));

afterAll(() => rm(directory, { recursive: true }));

test("no approval in SQLite is lost or used twice by gateways that are killed", { timeout: 600_000 }, async () => {
  const path = join(directory, "approvals.db");
  const store = createSqliteApprovalStore({ path });
  const { used, suicides } = await crashGateways({ address: `sqlite:${path}`, store, kills: 100, seed: 20_261_128 });
  // The draws have to have gone through all of it.
  expect(used).toBeGreaterThan(40);
  expect(suicides).toBeGreaterThan(40);
  await store.close();
});

test("no approval in Redis is lost or used twice by gateways that are killed", { timeout: 600_000 }, async () => {
  const server = await startRedis();
  const address = server.newUrl();
  const store = createRedisApprovalStore({ url: address });
  const { used, suicides } = await crashGateways({ address, store, kills: 100, seed: 20_261_129 });
  expect(used).toBeGreaterThan(40);
  expect(suicides).toBeGreaterThan(40);
  await store.close();
  await server.close();
});
