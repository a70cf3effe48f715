import { readFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";

/** A certificate that nobody signed, and its key: for tests only. */
export const SELF_SIGNED: string = readFileSync(join(import.meta.dirname, "self-signed.pem"), "utf8");

/** One request as it came in, and the raw socket to answer on. */
export interface Received {
  readonly socket: Socket;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly message: { readonly id?: string; readonly method?: string };
  /** How many requests came before it. */
  readonly index: number;
}

/** A server that answers with whatever bytes a fault is made of. */
export interface FaultServer {
  readonly port: number;
  /** How many requests came in. */
  readonly requestCount: number;
  close(): Promise<void>;
}

/** Options of {@link createFaultServer}. */
export interface FaultServerOptions {
  readonly tls?: boolean;
  /** Called for each connection in place of reading requests. */
  readonly onConnection?: (socket: Socket) => void;
}

/** Starts a server on a free loopback port. */
export async function createFaultServer(
  answer: (received: Received) => void,
  { tls = false, onConnection }: FaultServerOptions = {},
): Promise<FaultServer> {
  const sockets = new Set<Socket>();
  let requestCount = 0;
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    if (onConnection !== undefined) onConnection(socket);
    else readRequests(socket, (request) => answer({ ...request, index: requestCount++ }));
  };
  const server: Server = tls ? createTlsServer({ key: SELF_SIGNED, cert: SELF_SIGNED }, accept) : createServer(accept);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    get requestCount() {
      return requestCount;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function readRequests(socket: Socket, onRequest: (request: Omit<Received, "index">) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const end = bytes.indexOf("\r\n\r\n");
      if (end === -1) return;
      const lines = bytes.subarray(0, end).toString("latin1").split("\r\n").slice(1);
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
      );
      const length = Number(headers["content-length"] ?? 0);
      if (bytes.length < end + 4 + length) return;
      const body = bytes.subarray(end + 4, end + 4 + length);
      bytes = bytes.subarray(end + 4 + length);
      const parsed: unknown = JSON.parse(body.toString());
      const message = typeof parsed === "object" && parsed !== null ? parsed : {};
      onRequest({ socket, headers, body, message });
    }
  });
}

/** Options of {@link reply}. */
export interface ReplyParts {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default the body's own length */
  readonly contentLength?: number | "none";
}

/** The bytes of a reply. */
export function toReply(body: string | Buffer, { status = 200, headers = {}, contentLength }: ReplyParts = {}): Buffer {
  const length = contentLength ?? Buffer.byteLength(body);
  const all = {
    "content-type": "application/json",
    ...(length === "none" ? {} : { "content-length": String(length) }),
    ...headers,
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Status\r\n${head.join("")}\r\n`, "latin1"), Buffer.from(body)]);
}

/** The result that every point takes as a verdict. */
export const VERDICT = { action: "continue", approved: true } as const;

/** A JSON-RPC reply, with some of it replaced. */
export function toJson(
  { message }: Pick<Received, "message">,
  changes: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ jsonrpc: "2.0", id: message.id, result: VERDICT, ...changes });
}
