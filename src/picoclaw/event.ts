import * as z from "zod";
import { type Meta, metaSchema } from "./payload.ts";

/** Something that happened in a turn, as observers are told of it. Keys are PascalCase on the wire. */
export interface HookEvent {
  /** The event's name, such as `tool_exec_end`. */
  readonly Kind: string;
  /** RFC 3339 date and time. */
  readonly Time: string;
  readonly Meta: Meta;
  readonly Payload?: unknown;
}

/** What a host gives to emit an event: what it leaves out is filled in. */
export interface HostEvent {
  /** The event's name in either form: `tool_exec_end` or `agent.tool.exec_end`. */
  readonly Kind: string;
  readonly Time?: string;
  readonly Meta?: Partial<Meta>;
  readonly Payload?: unknown;
}

/** Each event's documented name, and the dotted name later versions of the reference use for it. */
const RUNTIME_NAMES: ReadonlyMap<string, string> = new Map([
  ["turn_start", "agent.turn.start"],
  ["turn_end", "agent.turn.end"],
  ["llm_request", "agent.llm.request"],
  ["llm_delta", "agent.llm.delta"],
  ["llm_response", "agent.llm.response"],
  ["llm_retry", "agent.llm.retry"],
  ["context_compress", "agent.context.compress"],
  ["session_summarize", "agent.session.summarize"],
  ["tool_exec_start", "agent.tool.exec_start"],
  ["tool_exec_end", "agent.tool.exec_end"],
  ["tool_exec_skipped", "agent.tool.exec_skipped"],
  ["steering_injected", "agent.steering.injected"],
  ["follow_up_queued", "agent.follow_up.queued"],
  ["interrupt_received", "agent.interrupt.received"],
  ["subturn_spawn", "agent.subturn.spawn"],
  ["subturn_end", "agent.subturn.end"],
  ["subturn_result_delivered", "agent.subturn.result_delivered"],
  ["subturn_orphan", "agent.subturn.orphan"],
  ["approval_requested", "agent.approval.requested"],
  ["approval_decided", "agent.approval.decided"],
  ["error", "agent.error"],
]);

const DOCUMENTED_NAMES: ReadonlyMap<string, string> = new Map(
  Array.from(RUNTIME_NAMES, ([documented, runtime]) => [runtime, documented]),
);

/** Every event name that can be observed: the documented ones, then the dotted ones. */
export const EVENT_KINDS: readonly string[] = [...RUNTIME_NAMES.keys(), ...DOCUMENTED_NAMES.keys()];

/** The names that stand for every event in `observe`. */
export const OBSERVE_ALL: readonly string[] = ["*", "all"];

/** The documented name of an event; a name that is not known stays as it is. */
export function toDocumentedKind(kind: string): string {
  return DOCUMENTED_NAMES.get(kind) ?? kind;
}

/** The dotted name of an event; a name that is not known stays as it is. */
export function toRuntimeKind(kind: string): string {
  return RUNTIME_NAMES.get(kind) ?? kind;
}

/** Which events an observer is told of. */
export interface EventFilter {
  matches(documentedKind: string): boolean;
}

/** Builds the filter of an `observe` list. The names are not checked here. */
export function createEventFilter(observe: readonly string[]): EventFilter {
  if (observe.some((kind) => OBSERVE_ALL.includes(kind))) return { matches: () => true };
  const kinds = new Set(observe.map(toDocumentedKind));
  return { matches: (kind) => kinds.has(kind) };
}

/** The schema of an event as a host sends it. */
export const hostEventSchema: z.ZodType = z.looseObject({
  Kind: z.string().min(1).max(128),
  Time: z.string().max(64).optional(),
  Meta: metaSchema.optional(),
});
