import * as z from "zod";
import { exceedsDepth, MAX_DEPTH } from "../chain/index.ts";
import { HookgateError } from "../errors.ts";
import { type Meta, metaSchema, type Open } from "./payload.ts";

/** A tool call that waits for people. */
export interface SuspendedCall {
  /** The id of the approval that is pending. */
  readonly pending: string;
  /** RFC 3339: until when people can decide, where the approver said so. */
  readonly expires?: string;
  /** The model's id of the call; empty when it has none. */
  readonly id: string;
  /** As the model asked for it: hooks may change it again when it is resumed. */
  readonly tool: string;
  readonly arguments: Open;
}

/**
 * What a bot keeps of a turn whose calls wait for people, to go on with it later, also in another process. JSON. It lets
 * nothing run by itself: whether a call is approved is asked again.
 */
export interface SuspendedTurn {
  readonly version: 1;
  readonly meta: Partial<Meta>;
  readonly channel?: string;
  readonly chat_id?: string;
  readonly user_message?: string;
  /** How often the model was asked. */
  readonly iterations: number;
  readonly calls: readonly SuspendedCall[];
}

/** How many calls of one turn can wait for people; what comes beyond is denied. */
export const MAX_SUSPENDED = 100;

const MAX_TEXT_CHARS = 100_000;
const MAX_ARGUMENTS_CHARS = 1_048_576;

const textSchema = z.string().max(MAX_TEXT_CHARS);

const callSchema: z.ZodType<SuspendedCall> = z.strictObject({
  pending: z.string().min(1).max(300),
  expires: z.string().max(64).exactOptional(),
  id: textSchema,
  tool: textSchema,
  arguments: z.record(z.string(), z.unknown()).refine((value) => JSON.stringify(value).length <= MAX_ARGUMENTS_CHARS, {
    message: `expected at most ${MAX_ARGUMENTS_CHARS} characters of JSON`,
  }),
});

const isMeta = (value: unknown): value is Partial<Meta> => metaSchema.safeParse(value).success;

const suspendedSchema: z.ZodType<SuspendedTurn> = z.strictObject({
  version: z.literal(1),
  meta: z.custom<Partial<Meta>>(isMeta, "expected the meta of a turn"),
  channel: textSchema.exactOptional(),
  chat_id: textSchema.exactOptional(),
  user_message: z.string().max(MAX_ARGUMENTS_CHARS).exactOptional(),
  iterations: z.int().min(0),
  calls: z.array(callSchema).max(MAX_SUSPENDED),
});

/**
 * Reads a turn that was suspended.
 * @throws {HookgateError} `ERR_INVALID_PARAMS` naming the path of every problem
 */
export function parseSuspendedTurn(state: unknown): SuspendedTurn {
  if (exceedsDepth(state, MAX_DEPTH)) {
    throw new HookgateError("ERR_INVALID_PARAMS", `state: nested deeper than ${MAX_DEPTH} levels`);
  }
  const { data, error } = suspendedSchema.safeParse(state);
  if (error === undefined) return data;
  const problems = error.issues.map(({ path, message }) => `${["state", ...path.map(String)].join(".")}: ${message}`);
  throw new HookgateError("ERR_INVALID_PARAMS", problems.join("; "));
}

/** The approval that a decision says people are asked for; undefined when it says nothing of one that is pending. */
export function readPending(approval: unknown): Pick<SuspendedCall, "pending" | "expires"> | undefined {
  const { data } = noticeSchema.safeParse(approval);
  if (data === undefined) return undefined;
  const { id: pending, expires } = data;
  return expires === undefined ? { pending } : { pending, expires };
}

const noticeSchema = z.looseObject({
  id: z.string().min(1).max(300),
  status: z.literal("pending"),
  expires: z.string().max(64).exactOptional(),
});
