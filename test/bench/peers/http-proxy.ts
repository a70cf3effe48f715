/**
 * The least a gateway can be, in a process of its own: a Hono route that hands the JSON on with undici. Its argument is
 * where to; prints its URL as one line and serves until its stdin ends.
 * @module
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { Agent } from "undici";

const origin = process.argv[2] ?? "";
const agent = new Agent({ connections: 64, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
const headers = { "content-type": "application/json" };

const app = new Hono();
app.post("/rpc", async (context) => {
  const body = JSON.stringify(await context.req.json());
  const response = await agent.request({ origin, path: "/", method: "POST", headers, body });
  return context.json(await response.body.json());
});
const server = createAdaptorServer({ fetch: app.fetch });
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
process.stdin.resume();
await once(process.stdin, "end");
process.exit();
