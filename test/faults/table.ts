import { gzipSync } from "node:zlib";
import type { NoVerdictKind } from "../../src/errors.ts";
import { type Received, toJson, toReply } from "./server.ts";

/** Something that goes wrong between a gateway and a hook. */
export interface Fault {
  readonly name: string;
  /** The kind of the no-verdict; `verdict` when there is one after all. A pair where `fetch` sees it otherwise. */
  readonly kind: NoVerdictKind | "verdict" | { readonly undici: NoVerdictKind; readonly fetch: NoVerdictKind };
  readonly answer: (received: Received) => void;
  /** What the greeting is answered with; without it there is none. */
  readonly hello?: unknown;
  /** The deadline of a call, in milliseconds. */
  readonly timeoutMs?: number;
  readonly tls?: boolean;
  /** How many requests one call causes. @default 1 */
  readonly requestsPerCall?: number;
}

const SHORT_MS = 250;
const TEN_MB = 10_000_000;

function sends(make: (received: Received) => Buffer | string): Fault["answer"] {
  return (received) => received.socket.write(make(received));
}

/** A whole reply of another status. */
function status(code: number, headers: Readonly<Record<string, string>> = {}): Fault["answer"] {
  return sends((received) => toReply(toJson(received), { status: code, headers }));
}

/** A JSON-RPC reply with some of it replaced. */
function says(changes: Readonly<Record<string, unknown>>): Fault["answer"] {
  return sends((received) => toReply(toJson(received, changes)));
}

function drip({ socket }: Received): void {
  socket.write(toReply("{", { contentLength: 1000 }));
  const timer = setInterval(() => socket.write(" "), 20);
  socket.on("close", () => clearInterval(timer));
}

const connectionFaults: readonly Fault[] = [
  { name: "reset before headers", kind: "unreachable", answer: ({ socket }) => socket.resetAndDestroy() },
  { name: "closed before headers", kind: "unreachable", answer: ({ socket }) => socket.end() },
  {
    name: "reset after headers",
    kind: "unreachable",
    answer({ socket }) {
      socket.write(toReply("{", { contentLength: 100 }), () => setImmediate(() => socket.resetAndDestroy()));
    },
  },
  {
    name: "truncated body",
    kind: "unreachable",
    answer: (received) => received.socket.end(toReply(toJson(received).slice(0, 20), { contentLength: 100 })),
  },
  {
    name: "truncated chunked body",
    kind: "unreachable",
    answer: ({ socket }) =>
      socket.end(toReply('4\r\n{"js\r\n', { contentLength: "none", headers: { "transfer-encoding": "chunked" } })),
  },
  {
    name: "truncated body of no known length",
    kind: "bad_json",
    answer: (received) => received.socket.end(toReply(toJson(received).slice(0, 20), { contentLength: "none" })),
  },
  { name: "slow headers", kind: "timeout", timeoutMs: SHORT_MS, answer: () => {} },
  { name: "slow drip body past the deadline", kind: "timeout", timeoutMs: SHORT_MS, answer: drip },
  { name: "not HTTP", kind: "unreachable", answer: sends(() => "SSH-2.0-OpenSSH_9.6\r\n") },
  {
    name: "headers longer than allowed",
    kind: { undici: "too_large", fetch: "unreachable" },
    answer: sends((received) => toReply(toJson(received), { headers: { "x-long": "a".repeat(70_000) } })),
  },
  {
    name: "self-signed TLS",
    kind: "unreachable",
    tls: true,
    requestsPerCall: 0,
    answer: sends((received) => toReply(toJson(received))),
  },
];

const statusFaults: readonly Fault[] = [
  { name: "204", kind: "http_status", answer: sends(() => "HTTP/1.1 204 No Content\r\n\r\n") },
  { name: "302", kind: "redirect", answer: status(302, { location: "http://127.0.0.1:1/" }) },
  { name: "308", kind: "redirect", answer: status(308, { location: "http://127.0.0.1:1/" }) },
  { name: "401", kind: "http_status", answer: status(401) },
  {
    name: "429 with Retry-After",
    kind: "http_status",
    answer: status(429, { "retry-after": "0" }),
  },
  {
    name: "429 with a Retry-After past the deadline",
    kind: "http_status",
    hello: { idempotent: true },
    answer: status(429, { "retry-after": "60" }),
  },
  { name: "500", kind: "http_status", hello: { idempotent: true }, answer: status(500) },
  {
    name: "503 then 200",
    kind: "verdict",
    hello: { idempotent: true },
    answer: once(status(503), says({})),
    requestsPerCall: 2,
  },
  {
    name: "503 then 200, not idempotent",
    kind: "http_status",
    answer: once(status(503), says({})),
  },
  { name: "503 twice", kind: "http_status", hello: { idempotent: true }, answer: status(503), requestsPerCall: 2 },
];

/** The first answer for a call's first request, the second for its second. */
function once(first: Fault["answer"], second: Fault["answer"]): Fault["answer"] {
  const seen = new Set<string>();
  return (received) => {
    const key = received.headers["idempotency-key"] ?? "";
    const answer = seen.has(key) ? second : first;
    seen.add(key);
    answer(received);
  };
}

const bodyFaults: readonly Fault[] = [
  {
    name: "HTML with 200",
    kind: "content_type",
    answer: sends(() => toReply("<html>log in</html>", { headers: { "content-type": "text/html" } })),
  },
  {
    name: "wrong content type",
    kind: "content_type",
    answer: sends((received) => toReply(toJson(received), { headers: { "content-type": "text/plain" } })),
  },
  {
    name: "two content types",
    kind: "content_type",
    answer: sends((received) => toReply(toJson(received), { headers: { "Content-Type": "text/html" } })),
  },
  {
    name: "wrong length",
    kind: "bad_json",
    answer: sends((received) => toReply(toJson(received), { contentLength: 10 })),
  },
  { name: "an empty body", kind: "bad_json", answer: sends(() => toReply("")) },
  {
    name: "not UTF-8",
    kind: "bad_json",
    answer: sends((received) => toReply(Buffer.from(toJson(received, { note: "\u00e9" }), "latin1"))),
  },
  {
    name: "a gzip bomb",
    kind: { undici: "content_type", fetch: "too_large" },
    answer: sends(() => toReply(gzipSync(Buffer.alloc(TEN_MB, " ")), { headers: { "content-encoding": "gzip" } })),
  },
  { name: "a 10 MB body", kind: "too_large", answer: sends(() => toReply(" ".repeat(TEN_MB))) },
  {
    name: "a 10 MB body of no known length",
    kind: "too_large",
    answer: ({ socket }) => socket.end(toReply(" ".repeat(TEN_MB), { contentLength: "none" })),
  },
  { name: "two objects", kind: "bad_json", answer: sends((received) => toReply(toJson(received).repeat(2))) },
  { name: "an array", kind: "bad_envelope", answer: sends((received) => toReply(`[${toJson(received)}]`)) },
  { name: "wrong id", kind: "wrong_id", answer: says({ id: "01900000-0000-7000-8000-000000000000" }) },
  { name: "no id", kind: "wrong_id", answer: says({ id: undefined }) },
  { name: "null id", kind: "wrong_id", answer: says({ id: null }) },
  { name: "error and result together", kind: "bad_envelope", answer: says({ error: { code: 1, message: "no" } }) },
  { name: "neither error nor result", kind: "bad_envelope", answer: says({ result: undefined }) },
  { name: "a bare result", kind: "bad_envelope", answer: sends(() => toReply('{"approved":true}')) },
  { name: "another JSON-RPC", kind: "bad_envelope", answer: says({ jsonrpc: "1.0" }) },
  { name: "an error", kind: "rpc_error", answer: says({ result: undefined, error: { code: -32603, message: "no" } }) },
  { name: "an error that is text", kind: "bad_envelope", answer: says({ result: undefined, error: "no" }) },
  { name: "a result that is text", kind: "bad_result", answer: says({ result: "yes" }) },
];

/** Faults of an endpoint that answers. */
export const FAULTS: readonly Fault[] = [...connectionFaults, ...statusFaults, ...bodyFaults];
