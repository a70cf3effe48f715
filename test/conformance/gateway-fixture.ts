import { createGateway, type Gateway, type GatewayOptions, type Scope } from "../../src/gateway/index.ts";
import { type Hook, HookManager, type HookPort } from "../../src/picoclaw/index.ts";
import { equal } from "./case.ts";

/** A gateway in front of a manager with these hooks. */
export async function gatewayOf(
  hooks: Readonly<Record<string, Hook | HookPort>> = {},
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> {
  const host = new HookManager();
  for (const [name, hook] of Object.entries(hooks)) await host.mount(hook, { name });
  return createGateway({ host, hooks: () => host.hooks(), ...options });
}

/** The parts of a request that a test says; the rest is a good call by a local client. */
export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream | null;
  readonly signal?: AbortSignal;
}

/** A request as a server hands it to the gateway. */
export function requestOf({ method = "POST", path = "/rpc", headers, body, signal }: RequestParts = {}): Request {
  return new Request(`http://127.0.0.1:8787${path}`, {
    method,
    headers: { ...(method === "POST" ? { "content-type": "application/json" } : {}), ...headers },
    ...(body === undefined ? {} : { body, duplex: "half" }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The JSON text of a call. */
export function callText(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** The text of a call that every gateway without hooks answers with `continue`. */
export const CALL: string = callText("hook.before_tool", { tool: "exec", arguments: { command: "ls" } });

/** What the gateway answers to a body. */
export async function post(gateway: Gateway, body: RequestParts["body"], headers = {}): Promise<Answer> {
  return toAnswer(await gateway.fetch(requestOf({ ...(body === undefined ? {} : { body }), headers })));
}

/** An answer that has been read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body's value; undefined when it is empty. */
  readonly json: unknown;
}

/** Reads an answer; every one has the security headers. */
export async function toAnswer(response: Response): Promise<Answer> {
  const { status, headers } = response;
  equal([headers.get("x-content-type-options"), headers.get("cache-control")], ["nosniff", "no-store"]);
  const text = await response.text();
  return { status, headers, text, json: text === "" ? undefined : JSON.parse(text) };
}

/** The JSON-RPC error of an answer, or of a part of a batch's. */
export function errorOf(json: unknown): { readonly code: number; readonly message: string; readonly data?: unknown } {
  return (json as { readonly error: { readonly code: number; readonly message: string } }).error;
}

/** The status, the id and the error code of what is refused. */
export async function refusalOf(gateway: Gateway, body: string | Uint8Array<ArrayBuffer>): Promise<readonly unknown[]> {
  const { status, json } = await post(gateway, body);
  const { id } = json as { readonly id: unknown };
  return [status, id, errorOf(json).code];
}

/** The JSON-RPC result of an answer, without its trace. */
export function resultOf(json: unknown): unknown {
  const { trace: _, ...rest } = (json as { readonly result: Record<string, unknown> }).result;
  return rest;
}

/** A token and how the gateway is told of it. */
export async function tokenOf(name: string, ...scopes: readonly Scope[]): Promise<TokenParts> {
  const token = `secret-of-${name}`;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { known: { name, sha256, scopes }, headers: { authorization: `Bearer ${token}` } };
}

/** What {@link tokenOf} gives. */
export interface TokenParts {
  readonly known: { readonly name: string; readonly sha256: string; readonly scopes: readonly Scope[] };
  readonly headers: { readonly authorization: string };
}
