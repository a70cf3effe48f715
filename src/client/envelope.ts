import * as z from "zod";
import { HookCallError } from "../errors.ts";

const MESSAGE_LIMIT = 1000;

const envelopeSchema: z.ZodType<Envelope> = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  result: z.unknown().exactOptional(),
  error: z.looseObject({ code: z.int(), message: z.string() }).exactOptional(),
});

/** A JSON-RPC 2.0 reply. */
export interface Envelope {
  readonly id: string | number | null;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/**
 * Reads a JSON-RPC 2.0 reply.
 * @throws {HookCallError} `bad_json` or `bad_envelope` when it is none
 */
export function parseEnvelope(text: string): Envelope {
  const { data, error } = envelopeSchema.safeParse(parseJson(text));
  if (data === undefined)
    throw new HookCallError("bad_envelope", "the answer is not a JSON-RPC 2.0 reply", { cause: error });
  return data;
}

/**
 * Reads an answer's JSON.
 * @throws {HookCallError} `bad_json` when it is not JSON
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HookCallError("bad_json", "the answer is not JSON");
  }
}

/** The error of a refusal, as far as there is one. */
export function readError(text: string): Envelope["error"] {
  try {
    return parseEnvelope(text).error;
  } catch {
    return undefined;
  }
}

/** What the other side says, fit for a log: it may have sent back the token it was given. */
export function redact(message: string, token: string | undefined): string {
  return (token === undefined ? message : message.replaceAll(token, "[token]")).slice(0, MESSAGE_LIMIT);
}
