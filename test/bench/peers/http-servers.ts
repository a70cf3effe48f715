/**
 * The servers of the gateway bench, in a process of their own: prints their URLs as one line of JSON and serves until
 * its stdin ends.
 * @module
 */

import { hash } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { nodeCrypto } from "../../../adapters/node/crypto.ts";
import { serveGateway } from "../../../adapters/node/serve.ts";
import { createGateway } from "../../../src/gateway/index.ts";
import { HookManager } from "../../../src/picoclaw/index.ts";

const app = new Hono();
app.post("/rpc", async (context) => context.json(await context.req.json()));
const bare = createAdaptorServer({ fetch: app.fetch });
bare.listen(0, "127.0.0.1");
await once(bare, "listening");

const host = new HookManager();
await host.mount({ beforeTool: () => ({ action: "continue" }) }, { name: "bench" });
const sha256 = hash("sha256", "bench", "hex");
const tokens = [{ name: "bench", sha256, scopes: ["call"] }] as const;
const open = await serveGateway(createGateway({ host, hooks: () => host.hooks() }), { port: 0 });
const guarded = await serveGateway(
  createGateway({ host, hooks: () => host.hooks(), auth: { tokens, crypto: nodeCrypto } }),
  {
    port: 0,
  },
);

const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;
process.stdout.write(`${JSON.stringify({ bare: bareUrl, open: open.url, guarded: guarded.url })}\n`);
process.stdin.resume();
await once(process.stdin, "end");
process.exit();
