import { HookCallError } from "../errors.ts";

/** A request of the client to its gateway. */
export interface GatewayRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  /** Only with POST. */
  readonly body?: string;
  /** Aborts when the call is cut; what is under way is then of no use to anyone. */
  readonly signal: AbortSignal;
  /** A redirect is never followed: it could carry the token elsewhere. */
  readonly redirect: "manual";
}

/** What the client reads of a gateway's answer. A `Response` is one. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | null;
}

/** How the client reaches its gateway. The platform's `fetch` is one. */
export type GatewayFetch = (url: string, request: GatewayRequest) => Promise<GatewayResponse>;

/**
 * Reads a body as text.
 * @returns undefined when it is larger than `maxBytes`
 * @throws {HookCallError} `bad_json` when it is not UTF-8
 * @throws whatever the stream does when it ends early
 */
export async function readText(body: GatewayResponse["body"], maxBytes: number): Promise<string | undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      throw new HookCallError("bad_json", "the answer is not UTF-8", { cause });
    }
  };
  let text = "";
  let byteLength = 0;
  for await (const chunk of chunksOf(body)) {
    byteLength += chunk.byteLength;
    if (byteLength > maxBytes) return undefined;
    text += decode(chunk);
  }
  return text + decode();
}

/** The chunks of a body; one that is left before its end is cancelled, or its connection would stay taken. */
export async function* chunksOf(body: GatewayResponse["body"]): AsyncIterable<Uint8Array> {
  if (body === null) return;
  if (!("getReader" in body)) {
    yield* body;
    return;
  }
  const reader = body.getReader();
  let isDone = false;
  try {
    for (let step = await reader.read(); step.value !== undefined; step = await reader.read()) yield step.value;
    isDone = true;
  } finally {
    if (!isDone) void reader.cancel().catch(() => undefined);
  }
}
