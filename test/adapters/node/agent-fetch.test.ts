import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGuardedFetch } from "../../../adapters/node/agent-fetch.ts";

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === "/moved") response.writeHead(302, { location: "/keys" }).end();
    else if (request.url === "/nothing") response.writeHead(204).end();
    else response.end(JSON.stringify({ method: request.method, accept: request.headers.accept }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe("createGuardedFetch", () => {
  test("gets a document", async () => {
    const response = await createGuardedFetch()(`${url}/keys?a=1`, { headers: { accept: "application/json" } });
    expect([response.status, await response.json()]).toEqual([200, { method: "GET", accept: "application/json" }]);
  });

  test("follows no redirect, and can be told of nothing", async () => {
    const fetch = createGuardedFetch();
    expect((await fetch(`${url}/moved`, { redirect: "follow" })).status).toBe(302);
    expect((await fetch(`${url}/nothing`, {})).status).toBe(204);
  });

  test("keeps the rules of addresses", async () => {
    await expect(createGuardedFetch({ allowPrivate: false })(url, {})).rejects.toThrow("its address is not allowed");
    await expect(createGuardedFetch()("http://169.254.169.254/", {})).rejects.toThrow("its address is not allowed");
  });

  test("ends with its signal", async () => {
    await expect(createGuardedFetch()(url, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );
  });
});
