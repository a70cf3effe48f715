import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type GatewayListener, serveGateway, type ServeGatewayOptions } from "../../../adapters/node/index.ts";
import { createGateway, type GatewayOptions } from "../../../src/gateway/index.ts";
import { type Hook, HookManager } from "../../../src/picoclaw/index.ts";
import { createGate } from "../../conformance/fixture.ts";
import { open, postText } from "./raw-http.ts";

const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.before_tool", params: { tool: "exec" } });

const listeners: GatewayListener[] = [];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

interface Parts {
  readonly hook?: Hook;
  readonly gateway?: Partial<GatewayOptions>;
  readonly serve?: Partial<ServeGatewayOptions>;
}

async function serve({ hook = {}, gateway = {}, serve: options = {} }: Parts = {}): Promise<GatewayListener> {
  const host = new HookManager();
  await host.mount(hook, { name: "hook" });
  const listener = await serveGateway(createGateway({ host, hooks: () => host.hooks(), ...gateway }), {
    port: 0,
    timeouts: { drainMs: 200 },
    ...options,
  });
  listeners.push(listener);
  return listener;
}

const post = (url: string, body: string): Promise<Response> =>
  fetch(`${url}/rpc`, { method: "POST", headers: { "content-type": "application/json" }, body });

/** A hook that waits for ever, and tells of its calls and of their aborts. */
function hanging(): { readonly hook: Hook; readonly called: Promise<void>; readonly aborted: Promise<unknown> } {
  const called = createGate();
  const aborted = createGate<unknown>();
  const hook: Hook = {
    beforeTool(_call, { signal }) {
      signal.addEventListener("abort", () => aborted.open(signal.reason));
      called.open();
      return new Promise(() => {});
    },
  };
  return { hook, called: called.promise, aborted: aborted.promise };
}

const callOf = (tool: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: tool, method: "hook.before_tool", params: { tool } });

/** The status of what is refused, which is always told in the same form. */
async function status(url: string, text: string): Promise<number> {
  const connection = await open(url);
  connection.write(text);
  const answer = await connection.answer();
  connection.socket.destroy();
  expect(answer.body).toMatch(/^\{"jsonrpc":"2.0","id":null,"error":\{"code":-32\d{3},/);
  expect(answer.head).toContain("x-content-type-options: nosniff");
  return answer.status;
}

describe("a call over a socket", () => {
  test("is answered, with every security header", async () => {
    const { url } = await serve();
    const response = await post(url, CALL);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 1, result: { action: "continue" } });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
    });
    expect(response.headers.has("x-powered-by") || response.headers.has("server")).toBe(false);
  });

  test("is answered without replacing the process's Request and Response too", async () => {
    const { url } = await serve({ serve: { overrideGlobalObjects: false } });
    expect(await (await post(url, CALL)).json()).toMatchObject({ id: 1, result: { action: "continue" } });
  });

  test("may be one of 200 at a time, each answered with its own id", async () => {
    const { url } = await serve({ hook: { beforeTool: async ({ tool }) => ({ call: { tool: `${tool}!` } }) } });
    const ids = Array.from({ length: 200 }, (_, id) => id);
    const answers = await Promise.all(
      ids.map(async (id) => {
        const body = { jsonrpc: "2.0", id, method: "hook.before_tool", params: { tool: `t${id}` } };
        return (await post(url, JSON.stringify(body))).json();
      }),
    );
    expect(answers).toMatchObject(ids.map((id) => ({ id, result: { call: { tool: `t${id}!` } } })));
  });

  test("may be pipelined behind another, and answers come in order", async () => {
    const { url } = await serve({
      hook: {
        beforeTool: ({ tool }) => new Promise((resolve) => setImmediate(resolve, { call: { tool: `${tool}!` } })),
      },
    });
    const connection = await open(url);
    connection.write(["a", "b", "c"].map((tool) => postText(callOf(tool))).join(""));
    const answers = [await connection.answer(), await connection.answer(), await connection.answer()];
    const tools = ["a!", "b!", "c!"].map((tool) => ({ result: { call: { tool } } }));
    expect(answers.map((answer): unknown => JSON.parse(answer.body))).toMatchObject(tools);
    connection.socket.destroy();
  });

  test("may arrive in pieces, chunked", async () => {
    const { url } = await serve();
    const connection = await open(url);
    const head =
      "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    connection.write(head);
    for (const piece of CALL.match(/.{1,7}/g) ?? []) connection.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    connection.write("0\r\n\r\n");
    expect(await connection.answer()).toMatchObject({ status: 200 });
    connection.socket.destroy();
  });
});

describe("a client that leaves", () => {
  test("aborts its hook calls", async () => {
    const { hook, called, aborted } = hanging();
    const { url } = await serve({ hook });
    const connection = await open(url);
    connection.write(postText(CALL));
    await called;
    connection.socket.destroy();
    await expect(aborted).resolves.toMatchObject({ code: "ERR_ABORTED" });
  });

  test("aborts them on a fetch that is aborted, and the next call is served", async () => {
    const { hook, called, aborted } = hanging();
    const { url } = await serve({ hook, gateway: { limits: { maxConcurrency: 1 } } });
    const gone = new AbortController();
    const headers = { "content-type": "application/json" };
    const call = fetch(`${url}/rpc`, { method: "POST", headers, body: CALL, signal: gone.signal });
    await called;
    gone.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
    await aborted;
    await expect.poll(async () => (await post(url, CALL.replace("before_tool", "hello"))).status).toBe(200);
  });

  test("in the middle of its body frees its place", async () => {
    const { url } = await serve({ gateway: { limits: { maxConcurrency: 1 } } });
    // Four may be sending for each call that may be under way.
    const connections = await Promise.all(Array.from({ length: 4 }, () => open(url)));
    for (const connection of connections) connection.write(postText(CALL).slice(0, -5));
    await expect.poll(async () => (await post(url, CALL)).status).toBe(503);
    connections[0]?.socket.destroy();
    await expect.poll(async () => (await post(url, CALL)).status).toBe(200);
    for (const connection of connections) connection.socket.destroy();
  });
});

describe("what is refused", () => {
  test("a body that says it is too large, before it is sent", async () => {
    const { url } = await serve({ gateway: { limits: { maxBodyBytes: 1000 } } });
    expect(await status(url, postText("").replace("Content-Length: 0", "Content-Length: 1001"))).toBe(413);
  });

  test("10 MB in chunks, without reading them all", async () => {
    const { url } = await serve();
    const connection = await open(url);
    connection.write(
      "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    const chunk = `${(64 * 1024).toString(16)}\r\n${" ".repeat(64 * 1024)}\r\n`;
    const answer = connection.answer();
    for (let sent = 0; sent < 160; sent += 1)
      if (!connection.socket.write(chunk)) await once(connection.socket, "drain");
    expect(await answer).toMatchObject({ status: 413 });
    connection.socket.destroy();
    expect((await post(url, CALL)).status).toBe(200);
  });

  test("another media type", async () => {
    const { url } = await serve();
    expect(await status(url, postText(CALL).replace("application/json", "text/plain"))).toBe(415);
  });

  test("a host that is not this machine's, and two hosts", async () => {
    const { url } = await serve();
    expect(await status(url, postText(CALL, ["Host: evil.example"]))).toBe(403);
    expect(await status(url, postText(CALL, ["Host: 127.0.0.1", "Host: evil.example"]))).toBe(403);
    expect(await status(url, postText(CALL, ["Host: not a name"]))).toBe(400);
  });

  test("an absolute target with another host", async () => {
    const { url } = await serve();
    const text = postText(CALL, ["Host: evil.example"]).replace("POST /rpc", "POST http://127.0.0.1/rpc");
    expect(await status(url, text)).toBe(403);
  });

  test("a foreign origin", async () => {
    const { url } = await serve();
    expect(await status(url, postText(CALL, ["Origin: https://evil.example"]))).toBe(403);
  });

  test("bad tokens, and two Authorization headers", async () => {
    const sha256 = createHash("sha256").update("good").digest("hex");
    const auth = { tokens: [{ name: "host", sha256, scopes: ["call"] }] } as const;
    const { url } = await serve({ gateway: { auth } });
    const good = "Authorization: Bearer good";
    for (const headers of [[], ["Authorization: Bearer bad"], [good, good], [good, "Authorization: Bearer bad"]]) {
      expect(await status(url, postText(CALL, headers))).toBe(401);
    }
    const connection = await open(url);
    connection.write(postText(CALL, [good]));
    expect(await connection.answer()).toMatchObject({ status: 200 });
    connection.socket.destroy();
  });

  test("what is not HTTP, and headers without end", async () => {
    const { url } = await serve();
    expect(await status(url, "\x16\x03\x01 not http\r\n\r\n")).toBe(400);
    expect(await status(url, `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`)).toBe(431);
    const both = postText(CALL, ["Transfer-Encoding: chunked"]);
    expect(await status(url, both)).toBe(400);
  });

  test("a wrong method and a wrong path", async () => {
    const { url } = await serve();
    expect(await status(url, "PUT /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).toBe(405);
    expect(await status(url, "GET /nope HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).toBe(404);
    expect(await status(url, "GET /../rpc/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).toBe(404);
    const head = await fetch(`${url}/readyz`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });
});

describe("a client that is slow on purpose", () => {
  const timeouts = { headersMs: 100, requestMs: 200, drainMs: 100 };

  test("with its headers is cut", async () => {
    const { url } = await serve({ serve: { timeouts } });
    const connection = await open(url);
    connection.write("POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    expect(await connection.answer()).toMatchObject({ status: 408 });
    await connection.closed();
  });

  test("with its body is cut, and its place is free again", async () => {
    const { url } = await serve({ serve: { timeouts }, gateway: { limits: { maxConcurrency: 1 } } });
    const connection = await open(url);
    connection.write(postText(CALL).slice(0, -5));
    await connection.closed();
    expect((await post(url, CALL)).status).toBe(200);
  });
});

describe("closing", () => {
  test("lets the call under way finish, and takes no more", async () => {
    const called = createGate();
    const held = createGate();
    const hook: Hook = {
      beforeTool() {
        called.open();
        return held.promise;
      },
    };
    const listener = await serve({ hook, serve: { timeouts: { drainMs: 5000 } } });
    const busy = await open(listener.url);
    const idle = await open(listener.url);
    idle.write(postText(CALL.replace("before_tool", "hello")));
    await idle.answer();
    busy.write(postText(CALL));
    await called.promise;
    const closed = listener.close();
    await idle.closed();
    await expect(post(listener.url, CALL)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    held.open();
    expect(await busy.answer()).toMatchObject({ status: 200 });
    await busy.closed();
    await closed;
  });

  test("cuts what hangs when its time is over", async () => {
    const { hook, called, aborted } = hanging();
    const listener = await serve({ hook, serve: { timeouts: { drainMs: 20 } } });
    const connection = await open(listener.url);
    connection.write(postText(CALL));
    await called;
    await listener.close();
    await connection.closed();
    await expect(aborted).resolves.toMatchObject({ code: "ERR_ABORTED" });
  });

  test("twice is closing once", async () => {
    const listener = await serve();
    expect(listener.close()).toBe(listener.close());
    await listener.close();
  });
});

describe("listening", () => {
  test("on a taken port says so", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { readonly port: number };
    await expect(serve({ serve: { port } })).rejects.toMatchObject({
      code: "ERR_CONFIG",
      message: `cannot listen on 127.0.0.1:${port}: the port is in use`,
    });
    other.close();
  });

  test("beyond this machine needs authentication", async () => {
    await expect(serve({ serve: { hostname: "0.0.0.0" } })).rejects.toMatchObject({ code: "ERR_CONFIG" });
    const { url } = await serve({ serve: { hostname: "0.0.0.0" }, gateway: { auth: { tokens: [] } } });
    expect((await post(url, CALL)).status).toBe(401);
  });

  test("on IPv6 loopback is reached by its name", async () => {
    const { url } = await serve({ serve: { hostname: "::1" } });
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await post(url, CALL)).status).toBe(200);
  });
});
