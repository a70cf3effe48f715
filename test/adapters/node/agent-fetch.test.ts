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
    else if (request.url === "/down") response.writeHead(500).end("it is down");
    else if (request.url === "/long") response.end("x".repeat(1_000_000));
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

  test.each(["/down", "/long"])("lets go of a body that nobody wants: %s", async (path) => {
    const failures: unknown[] = [];
    const onFailure = (error: unknown): void => void failures.push(error);
    process.on("uncaughtException", onFailure);
    try {
      const fetch = createGuardedFetch();
      const response = await fetch(url + path, {});
      await response.body?.cancel();
      const reader = (await fetch(url + path, {})).body?.getReader();
      expect((await reader?.read())?.done).toBe(false);
      await reader?.cancel();
      // What comes of a body that is let go of comes before another one is there.
      expect((await fetch(`${url}/keys`, {})).status).toBe(200);
    } finally {
      process.off("uncaughtException", onFailure);
    }
    expect(failures).toEqual([]);
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
