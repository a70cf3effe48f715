import * as z from "zod";
import type { HostEvent } from "./event.ts";
import type { Meta } from "./payload.ts";

/** The params of `hook.runtime_event`, the later form of events, as far as they are read. */
export interface RuntimeEvent {
  /** The event's name in either form: `agent.tool.exec_end` or `tool_exec_end`. */
  readonly kind: string;
  readonly time?: string | null | undefined;
  readonly source?: { readonly name?: string | null | undefined } | null | undefined;
  readonly scope?:
    | {
        readonly agent_id?: string | null | undefined;
        readonly session_key?: string | null | undefined;
        readonly turn_id?: string | null | undefined;
      }
    | null
    | undefined;
  readonly correlation?:
    | { readonly trace_id?: string | null | undefined; readonly parent_turn_id?: string | null | undefined }
    | null
    | undefined;
  readonly payload?: unknown;
}

const text = z.string().max(1024).nullish();

/** The schema of an event in the later form. */
export const runtimeEventSchema: z.ZodType<RuntimeEvent> = z.looseObject({
  kind: z.string().min(1).max(128),
  time: z.string().max(64).nullish(),
  source: z.looseObject({ name: text }).nullish(),
  scope: z.looseObject({ agent_id: text, session_key: text, turn_id: text }).nullish(),
  correlation: z.looseObject({ trace_id: text, parent_turn_id: text }).nullish(),
});

/** The event as hosts of this process give it: `id`, `severity` and `attrs` have no place there. */
export function toHostEvent({ kind, time, source, scope, correlation, payload }: RuntimeEvent): HostEvent {
  const meta: Readonly<Partial<Record<keyof Meta, string | null | undefined>>> = {
    AgentID: scope?.agent_id ?? source?.name,
    SessionKey: scope?.session_key,
    TurnID: scope?.turn_id,
    ParentTurnID: correlation?.parent_turn_id,
    TracePath: correlation?.trace_id,
  };
  const present = Object.entries(meta).filter(([, value]) => value !== null && value !== undefined);
  return {
    Kind: kind,
    ...(typeof time === "string" && { Time: time }),
    Meta: Object.fromEntries(present),
    ...(payload !== undefined && payload !== null && { Payload: payload }),
  };
}
