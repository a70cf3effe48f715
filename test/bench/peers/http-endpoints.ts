/**
 * What the http bench calls, in a process of its own: reads the keys as JSON from its stdin, prints the URLs by name as
 * one line of JSON, and answers `GET` on the one named `cpu` with its processor time so far, in microseconds.
 * @module
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";
import process from "node:process";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import jayson from "jayson";
import { createNodeHookEndpoint, serveEndpoint } from "../../../adapters/node/serve-endpoint.ts";
import type { HookEndpointOptions } from "../../../src/endpoint/index.ts";
import { defineHook } from "../../../src/picoclaw/hook.ts";
import { METHOD } from "../http-contestants.ts";
import type { HttpBenchKeys } from "../http-keys.ts";

// Keys come from the bench by a pipe: they are made for one run.
const { secret, pairs, gatewayUrl } = JSON.parse(await text(process.stdin)) as HttpBenchKeys;
const VERDICT = { action: "continue" };
const hook = defineHook({ beforeTool: () => ({ action: "continue" }) });

async function serve(trust: Partial<HookEndpointOptions>): Promise<string> {
  const options = { name: "endpoint", gateway: "gateway", url: "http://bench/", ...trust };
  const port = options.url === "http://bench/" ? 0 : Number(new URL(options.url ?? "").port);
  return (await serveEndpoint(createNodeHookEndpoint(hook, options), { port })).url;
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

async function serveMcp(): Promise<string> {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool("before_tool", {}, () => ({ content: [{ type: "text", text: JSON.stringify(VERDICT) }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true });
  await server.connect(transport);
  return listen(createServer((request, response) => void transport.handleRequest(request, response)));
}

const urls: Record<string, string> = {
  unsigned: await serve({ unsigned: true }),
  HS256: await serve({ secret }),
  jayson: await listen(
    new jayson.Server({
      [METHOD]: (_params: unknown, done: (error: null, result: object) => void) => done(null, VERDICT),
    }).http(),
  ),
  mcp: await serveMcp(),
  cpu: await listen(
    createServer((_request, response) => {
      const { user, system } = process.cpuUsage();
      response.end(String(user + system));
    }),
  ),
};
if (gatewayUrl !== undefined) urls["behind_gateway"] = await serve({ secret, url: gatewayUrl });
for (const { alg, gateway, own } of pairs) urls[alg] = await serve({ keys: { gateway, own } });
process.stdout.write(`${JSON.stringify(urls)}\n`);
