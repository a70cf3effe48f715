import type { HookRecord, ObservedDecision } from "../chain/index.ts";
import { toCanonicalJson } from "./canonical.ts";
import { followPointer, MASKED, type MaskPath, maskValue } from "./mask.ts";
import { diffJson, joinPointer, type PatchStep, splitPointer } from "./patch.ts";
import { MaskedValues } from "./secrets.ts";

/** What one hook did for a decision. */
export interface HookEntry {
  readonly hook: string;
  readonly source: string;
  readonly outcome: string;
  /** Why there was no verdict; beside a verdict, why a part of it was not applied. */
  readonly kind?: string;
  readonly error?: string;
  readonly ms: number;
  readonly attempt: number;
  readonly failed_open?: true;
  readonly cached?: true;
  /** What a hook in audit mode would have done. */
  readonly would?: string;
  /** What it changed, as a JSON Patch; without values where payloads are not recorded. */
  readonly changes?: readonly PatchStep[];
  /** Whether it changed more than `changes` says. */
  readonly changes_truncated?: true;
}

/** One decision: what was asked, what came of it, and which hook did what. */
export interface DecisionRecord {
  /** Unique; the trace id of the answer the host was given. */
  readonly id: string;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
  /** 32 hex digits: the W3C trace the call belongs to. */
  readonly trace_id: string;
  /** Which configuration decided, counted from 1 since the gateway started. */
  readonly generation: number;
  /** The name of the host's token. */
  readonly caller?: string;
  readonly meta?: unknown;
  readonly session?: string;
  readonly point: string;
  readonly tool?: string;
  readonly tool_call_id?: string;
  /**
   * SHA-256, in hex, of the canonical JSON of the payload as the first hook saw it; where payloads are masked, of the
   * masked one: with the other anyone could try what the masked value is.
   */
  readonly input_sha256: string;
  /** The payload, where the config has payloads recorded. */
  readonly input?: unknown;
  /** Whether the payload was too long to be recorded. */
  readonly input_truncated?: true;
  readonly action: string;
  /** At most 1000 characters. */
  readonly reason: string;
  readonly ms: number;
  readonly hooks: readonly HookEntry[];
  /** Whether more hooks were called than are listed. */
  readonly hooks_truncated?: true;
}

/** SHA-256 of a text's UTF-8, in hex. */
export type HashText = (text: string) => string | Promise<string>;

/** What of payloads is recorded: their hash alone, all but what is masked, or everything. */
export type PayloadMode = "hash" | "masked" | "full";

/** Options of {@link toDecisionRecord}. */
export interface RecordOptions {
  readonly payload: PayloadMode;
  readonly masks: readonly MaskPath[];
  /** The longest payload that is recorded, in bytes of its canonical JSON. */
  readonly maxPayloadBytes: number;
  readonly generation: number;
  readonly hash: HashText;
}

/** The most steps of a hook's patch that are kept. */
const MAX_STEPS = 32;
/** The longest patch that is kept with its values, in characters of its JSON; a longer one is kept without them. */
const MAX_PATCH_CHARS = 4096;
const MAX_HOOKS = 100;
const MAX_REASON_CHARS = 1000;
const MAX_META_CHARS = 4096;
const MAX_NAME_CHARS = 300;

/** Makes the record of a decision. */
export async function toDecisionRecord(decision: ObservedDecision, options: RecordOptions): Promise<DecisionRecord> {
  const values = findMasked(decision, options);
  const input = values === undefined ? decision.input : toShown(decision.input, { values, masks: options.masks });
  const text = toCanonicalJson(input);
  const hashed = options.hash(text);
  const isTruncated = decision.records.length > MAX_HOOKS;
  const reason = values?.scrubText(decision.reason) ?? decision.reason;
  return {
    id: decision.id,
    time: new Date(decision.atMs).toISOString(),
    trace_id: decision.traceId,
    generation: options.generation,
    ...(decision.caller !== undefined && { caller: decision.caller.slice(0, MAX_NAME_CHARS) }),
    ...toOrigin(input),
    point: decision.point,
    ...toTool(input),
    input_sha256: typeof hashed === "string" ? hashed : await hashed,
    ...toInput(input, text, options),
    action: decision.action,
    reason: reason.slice(0, MAX_REASON_CHARS),
    ms: round(decision.ms),
    hooks: toHooks(decision, { ...options, values }),
    ...(isTruncated && { hooks_truncated: true }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The values that are to be masked, in the payload and in what hooks made of it; undefined where nothing is. */
function findMasked({ input, changes }: ObservedDecision, { payload, masks }: RecordOptions): MaskedValues | undefined {
  if (payload !== "masked") return undefined;
  const values = new MaskedValues();
  maskValue(input, masks, values.add);
  for (const { before, after } of changes) {
    if (before !== input) maskValue(before, masks, values.add);
    maskValue(after, masks, values.add);
  }
  return values;
}

function toShown(input: Fields, { values, masks }: { values: MaskedValues; masks: readonly MaskPath[] }): Fields {
  const shown = values.scrub(maskValue(input, masks));
  return typeof shown === "object" && shown !== null ? { ...shown } : {};
}

/** Whose it is; the context of a YAML event has a session and no meta. */
function toOrigin({ meta, session_id: id }: Fields): Pick<DecisionRecord, "meta" | "session"> {
  if (meta === undefined || meta === null) {
    const session = shortText(id);
    return session === undefined ? {} : { session };
  }
  const session = shortText(typeof meta === "object" ? Reflect.get(meta, "SessionKey") : "");
  const isShort = JSON.stringify(meta).length <= MAX_META_CHARS;
  return { ...(isShort && { meta }), ...(session !== undefined && { session }) };
}

function toTool(input: Fields): Pick<DecisionRecord, "tool" | "tool_call_id"> {
  const { tool, tool_name: yamlTool, tool_call_id: callId, meta } = input;
  const name = shortText(tool) ?? shortText(yamlTool);
  const given = shortText(callId) ?? shortText(typeof meta === "object" && meta ? Reflect.get(meta, "ToolCallID") : "");
  return { ...(name !== undefined && { tool: name }), ...(given !== undefined && { tool_call_id: given }) };
}

function shortText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_NAME_CHARS) : undefined;
}

function toInput(
  input: Fields,
  text: string,
  { payload, maxPayloadBytes }: RecordOptions,
): Pick<DecisionRecord, "input" | "input_truncated"> {
  if (payload === "hash") return {};
  // A text has at most three bytes of UTF-8 for each of its units: most need not be counted.
  if (text.length * 3 > maxPayloadBytes && new TextEncoder().encode(text).byteLength > maxPayloadBytes) {
    return { input_truncated: true };
  }
  return { input };
}

interface HookOptions extends RecordOptions {
  readonly values: MaskedValues | undefined;
}

function toHooks({ records, changes }: ObservedDecision, options: HookOptions): readonly HookEntry[] {
  const entries = records.slice(0, MAX_HOOKS).map((record) => toEntry(record, options.values));
  for (const { index, before, after } of changes) {
    const entry = entries[index];
    if (entry !== undefined) entries[index] = { ...entry, ...toChanges(before, after, options) };
  }
  return entries;
}

function toEntry(record: HookRecord, values: MaskedValues | undefined): HookEntry {
  const { hook, source, outcome, kind, error, ms, attempt, failed_open, cached, would } = record;
  return {
    hook,
    source,
    outcome,
    ...(kind !== undefined && { kind }),
    ...(error !== undefined && { error: values?.scrubText(error) ?? error }),
    ms: round(ms),
    attempt,
    ...(failed_open === true && { failed_open }),
    ...(cached === true && { cached }),
    ...(would !== undefined && { would: values?.scrubText(would) ?? would }),
  };
}

function toChanges(
  before: unknown,
  after: unknown,
  { payload, masks, values }: HookOptions,
): Pick<HookEntry, "changes" | "changes_truncated"> {
  const { steps, isTruncated } = diffJson(before, after, { maxSteps: MAX_STEPS });
  const shown = values === undefined ? steps : maskSteps(steps, { masks, values });
  const bare = shown.map(({ op, path }) => ({ op, path }));
  const truncated = isTruncated && ({ changes_truncated: true } as const);
  if (payload === "hash") return { changes: bare, ...truncated };
  if (JSON.stringify(shown).length > MAX_PATCH_CHARS) return { changes: bare, changes_truncated: true };
  return { changes: shown, ...truncated };
}

/** Steps inside of what is masked are one step that replaces it: their paths and number are a part of it. */
function maskSteps(
  steps: readonly PatchStep[],
  { masks, values }: { readonly masks: readonly MaskPath[]; readonly values: MaskedValues },
): readonly PatchStep[] {
  const shown = new Map<string, PatchStep>();
  for (const [index, step] of steps.entries()) {
    const given = splitPointer(step.path);
    const { keys, masks: left } = followPointer(masks, given);
    const path = joinPointer(keys.map((key) => values.scrubText(key)));
    if (keys.length < given.length) shown.set(`inside ${path}`, { op: "replace", path, value: MASKED });
    else {
      const value = "value" in step ? { value: values.scrub(maskValue(step.value, left)) } : {};
      shown.set(`${index}`, { op: step.op, path, ...value });
    }
  }
  return [...shown.values()];
}

/** To the microsecond: more is noise. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
