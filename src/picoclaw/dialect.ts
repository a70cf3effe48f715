import { type Encode } from "../chain/index.ts";
import { isObject } from "../is-object.ts";
import { HookCallError } from "../errors.ts";
import {
  acceptHello,
  encodeHello,
  encodeJson,
  encodePayload,
  EVENT_ENCODERS,
  type EventMethod,
  HELLO_METHOD,
  toModes,
} from "./codec.ts";
import type { HookEvent } from "./event.ts";
import type { Origin } from "./payload.ts";
import { HOOK_POINTS, type HookPoint } from "./point.ts";

/**
 * Which form of the protocol a hook speaks. `picoclaw-docs` is the one on the documentation site, which no released host
 * speaks but users copy.
 */
export type DialectName = "picoclaw" | "picoclaw-docs";

/** A form of the protocol: how the same calls look on the wire. */
export interface Dialect {
  /** The points it has a form for. */
  readonly points: ReadonlySet<HookPoint>;
  readonly encode: Encode<Origin>;
  encodeEvent(method: EventMethod): Encode<HookEvent>;
  /**
   * Turns a result into the standard form. What it does not understand stays for the reader of the reply to refuse.
   * @throws {HookCallError} `bad_result`
   */
  decode(point: HookPoint, result: unknown): unknown;
}

const encodeNamed: Encode<Origin> = ({ tool, arguments: args }) => encodeJson({ name: tool, args: args ?? {} });

const encodeTyped: Encode<HookEvent> = ({ Kind, Payload }) => encodeJson({ type: Kind, data: Payload ?? {} });

/** The dialects, by name. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  picoclaw: {
    points: new Set(HOOK_POINTS),
    encode: encodePayload,
    encodeEvent: (method) => EVENT_ENCODERS[method],
    decode: (_point, result) => result,
  },
  "picoclaw-docs": {
    points: new Set<HookPoint>(["before_tool", "approve_tool"]),
    encode: encodeNamed,
    encodeEvent: () => encodeTyped,
    decode(point, result) {
      if (!isObject(result)) return result;
      return point === "approve_tool" ? decodeApproval(result) : decodeDecision(result);
    },
  },
};

/** The names of the dialects. */
export const DIALECT_NAMES: readonly DialectName[] = ["picoclaw", "picoclaw-docs"];

type Fields = Readonly<Record<string, unknown>>;

function decodeApproval({ allow, reason }: Fields): Fields {
  return { approved: allow, reason };
}

function decodeDecision({ args, decision, hook_result: result }: Fields): Fields {
  if (decision !== undefined && decision !== null && !isObject(decision)) {
    throw new HookCallError("bad_result", `decision: expected an object, got ${typeof decision}`);
  }
  const call = args === undefined || args === null ? {} : { call: { arguments: args } };
  return { action: decision?.["action"], reason: decision?.["reason"], ...call, result };
}

/** Options of {@link createGreeting}. */
export interface GreetingOptions {
  /** The hook's name, as configured. */
  readonly name: string;
  readonly points: ReadonlySet<HookPoint>;
  readonly observes: boolean;
  /** @default "picoclaw" */
  readonly dialect?: DialectName | undefined;
  /** The transport's name where the hook is told of it: `http`. @default it is not */
  readonly transport?: string | undefined;
}

/** The first call to a hook, as a transport makes it. */
export interface HookGreeting {
  readonly method: string;
  readonly params: string;
  /**
   * Reads the result.
   * @throws {HookCallError} when it refuses
   */
  accept(result: unknown): void;
}

/** Makes the `hook.hello` of a hook. */
export function createGreeting(options: GreetingOptions): HookGreeting {
  const { name, points, observes, dialect = "picoclaw", transport } = options;
  const params =
    dialect === "picoclaw-docs"
      ? encodeJson({ protocol_version: 1 })
      : encodeHello(name, toModes(points, observes), transport);
  return { method: HELLO_METHOD, params, accept: acceptHello };
}
