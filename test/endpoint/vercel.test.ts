import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { answerTo, createGatewaySide, ENV, HOSTILE } from "./gateway-side.ts";

/** What Vercel does with a function: its `fetch` is called with a web-standard request, and with nothing else. */
let server: Server;
let url: string;

beforeAll(async () => {
  for (const [variable, value] of Object.entries(ENV)) vi.stubEnv(variable, value);
  const { default: endpoint } = await import("../../examples/endpoint/vercel.ts");
  vi.unstubAllEnvs();
  const { fetch } = endpoint;
  const listener = getRequestListener((request) => fetch(request), { overrideGlobalObjects: false });
  server = createServer((incoming, outgoing) => void listener(incoming, outgoing)).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("the exported fetch answers a gateway", async () => {
  const side = await createGatewaySide(url);
  expect(await side.manager.approveTool({ tool: "read_file" })).toMatchObject({ approved: true });
  expect(await side.manager.beforeTool({ tool: "shell", arguments: { command: "rm -rf /" } })).toMatchObject({
    action: "deny_tool",
  });
  await side.close();
});

test.each(HOSTILE)("%s", async (_name, hostile, answer) => {
  expect(await answerTo(url, hostile)).toBe(answer);
});
