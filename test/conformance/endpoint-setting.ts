/** An endpoint and the gateway it trusts, in memory, for the cases of the endpoint. */
import type { LogFields } from "../../src/log.ts";
import { createHookEndpoint, type HookEndpoint } from "../../src/endpoint/hook-endpoint.ts";
import type { HookEndpointOptions } from "../../src/endpoint/options.ts";
import { defineHook, type Hook } from "../../src/picoclaw/hook.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey } from "../../src/signing/keys.ts";
import { createReplyVerifier, type ReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner, type RequestSigner, type SignedRequest } from "../../src/signing/request.ts";
import { ENDPOINT, ENDPOINT_URL, GATEWAY, NOW_MS, SECRET } from "./signing-setting.ts";

export const now = (): number => NOW_MS;

export const hook: Hook = defineHook({
  beforeTool({ tool }) {
    if (tool === "throws") throw new Error("the risk desk is closed");
    if (tool === "cycle") return { action: "continue", call: { arguments: { big: 1n } } };
    return tool === "shell" ? { action: "deny_tool", reason: "no shell — ⛔" } : undefined;
  },
  approveTool: ({ tool }) => ({ approved: tool === "read_file" }),
});

export const encoder = new TextEncoder();
const key = await createSecretKey(SECRET);

export const signer: RequestSigner = createRequestSigner({ key, issuer: GATEWAY, audience: ENDPOINT_URL, now });
export const replies: ReplyVerifier = createReplyVerifier({
  keys: createKeySet([key]),
  issuer: ENDPOINT,
  audience: GATEWAY,
  now,
});

/** A line that was logged. */
export interface Line {
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** An endpoint that shares {@link SECRET}, and what it logs. */
export function createEndpoint(
  options: Partial<HookEndpointOptions> = {},
  served: Hook = hook,
): { readonly endpoint: HookEndpoint; readonly lines: Line[] } {
  const lines: Line[] = [];
  const push = (message: string, fields?: LogFields): void => void lines.push({ message, fields });
  const log = { debug: push, info: push, warn: push, error: push };
  const base = { name: ENDPOINT, url: ENDPOINT_URL, gateway: GATEWAY, secret: SECRET, now, log };
  return { endpoint: createHookEndpoint(served, { ...base, ...options }), lines };
}

/** A JSON-RPC request as text. */
export function toCall(method: string, params: unknown = {}, id: string | number = "call-1"): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id });
}

/** What to send. */
export interface Post {
  readonly body: string | Uint8Array;
  /** What is signed as the method. */
  readonly mtd?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signer?: RequestSigner;
}

/** A request, and the token in it. */
export interface Signed {
  readonly request: Request;
  readonly signed: SignedRequest;
}

export function toBytes(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === "string" ? encoder.encode(body) : new Uint8Array(body);
}

/** A request with these headers. */
export function toRequest(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Request {
  const all = new Headers({ "content-type": "application/json" });
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  // Not the URL that was signed: what a proxy makes of it must not matter.
  const url = "http://10.0.0.7:3000/internal/hook";
  return new Request(url, { method: "POST", headers: all, body: toBytes(body) });
}

/** Signs a body and puts it into a request. */
export async function toSigned({ body, mtd, headers, signer: by = signer }: Post): Promise<Signed> {
  const bytes = toBytes(body);
  const method = mtd ?? String((JSON.parse(new TextDecoder().decode(bytes)) as { method?: unknown }).method);
  const signed = await by.sign({ body: bytes, method });
  return { signed, request: toRequest(bytes, { ...headers, "hook-signature": signed.token }) };
}

/** What came back, verified. */
export interface Reply {
  readonly status: number;
  readonly message: Message | undefined;
}

export interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly reason?: string } };
}

/** Sends a call, signed, and verifies the reply against it. */
export async function ask(endpoint: HookEndpoint, post: Post): Promise<Reply> {
  const { request, signed } = await toSigned(post);
  const response = await endpoint.fetch(request);
  const { status, headers } = response;
  const body = new Uint8Array(await response.arrayBuffer());
  await replies.verify({ signature: headers.get("hook-signature"), status, body, request: signed });
  return { status, message: body.length === 0 ? undefined : (JSON.parse(new TextDecoder().decode(body)) as Message) };
}

/** How a request was refused: its status and code; it must not be signed, and must not show more. */
export async function refusalOf(endpoint: HookEndpoint, request: Request): Promise<string> {
  const response = await endpoint.fetch(request);
  const text = await response.text();
  const { error } = JSON.parse(text) as Message;
  if (response.headers.has("hook-signature")) return `${response.status} but signed`;
  if (/\bat \S+:\d+|\.ts\b/.test(text)) return `a stack: ${text}`;
  return `${response.status} ${error?.data?.reason ?? error?.message}`;
}
