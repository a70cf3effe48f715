import { once } from "node:events";
import { createServer, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { HookgateError } from "../../src/errors.ts";
import { answerRefusal, type Gateway } from "../../src/gateway/index.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { readIncomingBody } from "./incoming-body.ts";

/** Options of {@link serveGateway}. */
export interface ServeGatewayOptions {
  /**
   * The name or address to listen on. Any but a loopback one needs a gateway with authentication.
   * @default "127.0.0.1"
   */
  readonly hostname?: string | undefined;
  /** The port to listen on; 0 takes a free one. */
  readonly port: number;
  /** @default a log that keeps nothing */
  readonly log?: Log | undefined;
  readonly timeouts?: ServeTimeouts | undefined;
  /**
   * Whether the process's `Request` and `Response` are replaced by those of `@hono/node-server`, which are made to
   * behave the same and double the throughput.
   * @default true
   */
  readonly overrideGlobalObjects?: boolean | undefined;
}

/** How long a client may take, in milliseconds; a client that sends a byte now and then must not hold a connection. */
export interface ServeTimeouts {
  /** From the start of a request to the end of its headers. @default 10000 */
  readonly headersMs?: number | undefined;
  /** From the start of a request to the end of its body. @default 30000 */
  readonly requestMs?: number | undefined;
  /** How long an idle connection is kept; longer than clients keep theirs. @default 65000 */
  readonly keepAliveMs?: number | undefined;
  /** How long calls under way may take to finish when the server is closed. @default 10000 */
  readonly drainMs?: number | undefined;
}

/** A listening gateway. */
export interface GatewayListener {
  /** Where it listens, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Stops listening, lets calls under way finish, then closes every connection. */
  close(): Promise<void>;
}

/** How long answers that are ready may take to leave when the server is closed. */
const FLUSH_MS = 1000;

/**
 * Serves a gateway with `node:http`. A client that disconnects aborts its hook calls.
 * @throws {HookgateError} `ERR_CONFIG` when the address cannot be listened on, or when it is not a loopback one and the
 *   gateway has no authentication
 */
export async function serveGateway(gateway: Gateway, options: ServeGatewayOptions): Promise<GatewayListener> {
  const { hostname = "127.0.0.1", port, log = silentLog, timeouts = {} } = options;
  gateway.assertBindable(hostname);
  const server = createGatewayServer(gateway, { ...options, hostname, timeouts });
  const url = await listen(server, { hostname, port });
  const address = server.address();
  try {
    // A name can mean another address than one expects.
    if (address !== null && typeof address === "object") gateway.assertBindable(address.address);
  } catch (error) {
    server.close();
    throw error;
  }
  log.info("listening", { url });
  let closing: Promise<void> | undefined;
  return {
    url,
    close: () => (closing ??= shutDown(server, { gateway, drainMs: timeouts.drainMs ?? 10_000 })),
  };
}

interface ServerParts extends ServeGatewayOptions {
  readonly hostname: string;
  readonly timeouts: ServeTimeouts;
}

function createGatewayServer(gateway: Gateway, { hostname, timeouts, overrideGlobalObjects }: ServerParts): Server {
  const { headersMs = 10_000, requestMs = 30_000, keepAliveMs = 65_000 } = timeouts;
  const listener = getRequestListener(
    (request, { incoming }) =>
      gateway.fetch(request, {
        remoteAddress: incoming.socket.remoteAddress,
        boundHost: hostname,
        readBody: (maxBytes) => readIncomingBody(incoming, maxBytes),
      }),
    {
      hostname,
      overrideGlobalObjects: overrideGlobalObjects ?? true,
      // What cannot be read as a request at all, such as one with a Host that is not a name.
      errorHandler: () => answerRefusal({ code: "ERR_INVALID_REQUEST", message: "not a valid HTTP request" }),
    },
  );
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: 16 * 1024,
      connectionsCheckingInterval: Math.min(1000, headersMs, requestMs),
      noDelay: true,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.maxHeadersCount = 100;
  server.on("clientError", refuseConnection);
  return server;
}

const CLIENT_ERRORS: ReadonlyMap<string, number> = new Map([
  ["HPE_HEADER_OVERFLOW", 431],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", 413],
  ["ERR_HTTP_REQUEST_TIMEOUT", 408],
]);

function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = CLIENT_ERRORS.get(error.code ?? "") ?? 400;
  const reason = STATUS_CODES[status] ?? "";
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32600, message: reason } });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "connection: close",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "cache-control: no-store",
    "x-content-type-options: nosniff",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

const LISTEN_ERRORS: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "the port is in use"],
  ["EACCES", "this user may not use the port"],
  ["EADDRNOTAVAIL", "this machine does not have the address"],
  ["ENOTFOUND", "the name is not known"],
]);

async function listen(
  server: Server,
  { hostname, port }: { readonly hostname: string; readonly port: number },
): Promise<string> {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  server.listen(port, hostname);
  try {
    await once(server, "listening");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    const why = LISTEN_ERRORS.get(code) ?? (cause instanceof Error ? cause.message : String(cause));
    throw new HookgateError("ERR_CONFIG", `cannot listen on ${host}:${port}: ${why}`, { cause });
  }
  const address = server.address();
  return `http://${host}:${typeof address === "object" && address !== null ? address.port : port}`;
}

async function shutDown(
  server: Server,
  { gateway, drainMs }: { readonly gateway: Gateway; readonly drainMs: number },
): Promise<void> {
  const closed = new Promise<boolean>((resolve) => {
    server.close(() => resolve(true));
  });
  await gateway.drain(drainMs);
  // Answers may still be on their way: a connection is idle only when its answer has left.
  for (let waitedMs = 0; waitedMs < FLUSH_MS; waitedMs += 10) {
    server.closeIdleConnections();
    if (await Promise.race([closed, delay(10, false)])) return;
  }
  server.closeAllConnections();
  await closed;
}
