import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createHttpExchange } from "../../../adapters/node/http-exchange.ts";
import type { HttpReply } from "../../../src/transport/http-exchange.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(onSocket: (socket: Socket) => void): Promise<string> {
  const server = createServer(onSocket).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const REPLY = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

type Exchange = ReturnType<typeof createHttpExchange>;

interface Call {
  readonly signal?: AbortSignal;
  readonly maxBodyBytes?: number;
}

function send(
  exchange: Exchange,
  url: string,
  { signal = new AbortController().signal, maxBodyBytes = 1000 }: Call = {},
): Promise<HttpReply> {
  const body = new TextEncoder().encode("{}");
  return exchange.send({ url, headers: {}, body, signal, maxBodyBytes, wantsBody: () => true });
}

/** Answers each request that comes in whole, and counts them. */
async function listenForCalls(): Promise<{ readonly url: string; readonly callCount: () => number }> {
  let callCount = 0;
  const url = await listen((socket) => {
    socket.on("data", (chunk) => {
      callCount += String(chunk).split("POST / HTTP/1.1").length - 1;
      socket.write(REPLY);
    });
    socket.on("error", () => {});
  });
  return { url, callCount: () => callCount };
}

type Answer = (error: null, addresses: { readonly address: string; readonly family: number }[]) => void;

/** An exchange whose look-ups of names wait for the test. */
function createWaiting(): { readonly exchange: Exchange; readonly lookups: Answer[] } {
  const lookups: Answer[] = [];
  const resolveName = (_name: string, _options: object, done: Answer): void => void lookups.push(done);
  return { exchange: createHttpExchange({ resolveName, allowInsecure: true }), lookups };
}

const LOOPBACK = [{ address: "127.0.0.1", family: 4 }];

test("a call that is cut while it connects ends the attempt: the next one does not wait for it", async () => {
  const { url, callCount } = await listenForCalls();
  const { exchange, lookups } = createWaiting();
  const named = url.replace("127.0.0.1", "hook.test");
  const controller = new AbortController();
  const cut = send(exchange, named, controller);
  const reason = new Error("cut");
  controller.abort(reason);
  await expect(cut).rejects.toBe(reason);
  await new Promise((resolve) => void setImmediate(resolve));
  const next = send(exchange, named);
  expect(lookups).toHaveLength(2);
  lookups[1]?.(null, LOOPBACK);
  expect((await next).head.status).toBe(200);
  expect(callCount()).toBe(1);
  await exchange.close();
});

test("of two calls that wait for a connection the one that is cut is never sent, and the other is", async () => {
  const { url, callCount } = await listenForCalls();
  const { exchange, lookups } = createWaiting();
  const named = url.replace("127.0.0.1", "hook.test");
  const controller = new AbortController();
  const cut = send(exchange, named, controller);
  const kept = send(exchange, named);
  controller.abort(new Error("cut"));
  await expect(cut).rejects.toThrow("cut");
  for (const answer of lookups) answer(null, LOOPBACK);
  expect((await kept).head.status).toBe(200);
  expect((await send(exchange, named)).head.status).toBe(200);
  expect(callCount()).toBe(2);
  await exchange.close();
});

test("a call that is cut in the middle of a reply closes its connection", async () => {
  let closed: Promise<unknown> | undefined;
  const controller = new AbortController();
  const url = await listen((socket) => {
    closed = new Promise((resolve) => void socket.on("close", resolve));
    socket.on("error", () => {});
    socket.on("data", () => {
      socket.write(REPLY.slice(0, -1));
      setImmediate(() => controller.abort(new Error("cut")));
    });
  });
  const exchange = createHttpExchange();
  await expect(send(exchange, url, controller)).rejects.toThrow("cut");
  await closed;
  await exchange.close();
});

test("a body is read up to its limit and no further", async () => {
  const { url } = await listenForCalls();
  const exchange = createHttpExchange();
  expect(String(Buffer.from((await send(exchange, url, { maxBodyBytes: 2 })).body))).toBe("{}");
  await expect(send(exchange, url, { maxBodyBytes: 1 })).rejects.toMatchObject({ failure: "too_large" });
  await exchange.close();
});

test("a body in pieces comes whole", async () => {
  const url = await listen((socket) => {
    socket.on("data", () => {
      socket.write(REPLY.slice(0, -1));
      setImmediate(() => socket.write("}"));
    });
  });
  const exchange = createHttpExchange();
  const reply = await send(exchange, url);
  expect(String(Buffer.from(reply.body))).toBe("{}");
  await exchange.close();
});
