import * as z from "zod";
import { MAX_DELAY_MS } from "../wait.ts";
import {
  EXECUTION_MODES,
  type FailureEffect,
  FAILURE_EFFECTS,
  type HookExecutionMode,
  type HookMatch,
  matchSchema,
} from "../picoclaw/index.ts";

/** What a no-verdict means, by cause. */
export interface FailureConfig {
  readonly on_error?: FailureEffect;
  readonly on_timeout?: FailureEffect;
  readonly on_invalid?: FailureEffect;
  readonly on_unreachable?: FailureEffect;
}

/** How far a hook's replies may be used again. */
export interface CacheConfig {
  readonly max_ttl_ms: number;
  readonly max_entries: number;
}

/** How a hook is called, and what follows when it gives no verdict. */
export interface OperationConfig extends FailureConfig {
  readonly timeout_ms?: number;
  readonly match?: HookMatch;
  readonly parallel?: boolean;
  readonly read_only?: boolean;
  readonly mode?: HookExecutionMode;
  readonly detached?: boolean;
  readonly cache?: CacheConfig;
}

type Optional<T extends z.ZodType> = z.ZodExactOptional<T>;

function effect(when: string): Optional<z.ZodType<FailureEffect, FailureEffect>> {
  return z
    .enum(FAILURE_EFFECTS)
    .exactOptional()
    .describe(
      `What follows when ${when}. "continue": as if the hook were absent, so an approver that fails then lets tools run unapproved. "deny" aborts the turn at points that have no denial. Default: that of the hook's class.`,
    );
}

type FailureShape = { readonly [K in keyof FailureConfig]-?: ReturnType<typeof effect> };

/** What a no-verdict means, by cause; it stands on a hook and, for a class, in the defaults. */
export const failureShape: FailureShape = {
  on_error: effect("the hook throws, answers with an error, or dies"),
  on_timeout: effect("the hook does not answer in time, or the time of its point is used up"),
  on_invalid: effect("what the hook answers is no verdict, or is not proven to be its own"),
  on_unreachable: effect("the hook cannot be asked"),
};

const cacheSchema: z.ZodType<CacheConfig> = z
  .strictObject({
    max_ttl_ms: z
      .int()
      .min(1)
      .max(86_400_000)
      .default(60_000)
      .describe("The longest time a verdict is used again, whatever the hook asks for, in milliseconds."),
    max_entries: z
      .int()
      .min(1)
      .max(100_000)
      .default(1000)
      .describe("How many verdicts are kept; the one not used for longest goes first."),
  })
  .describe(
    "Lets the hook say that a verdict may be used again. Without it, what it says is not looked at: what was approved would stay so, whatever has happened since.",
  );

/** The keys of {@link OperationConfig}. */
export const operationShape: z.ZodRawShape & FailureShape = {
  timeout_ms: z
    .int()
    .min(1)
    .max(MAX_DELAY_MS)
    .exactOptional()
    .describe("Deadline of one call, in milliseconds. Default: that of the hook's class."),
  ...failureShape,
  match: matchSchema.exactOptional(),
  parallel: z
    .boolean()
    .exactOptional()
    .describe(
      "Whether it is called at the same time as its neighbours that say so too: for approvers, and interceptors that are read-only. Default: false.",
    ),
  read_only: z
    .boolean()
    .exactOptional()
    .describe("Whether it may only continue, deny or abort; a change is then no verdict. Default: false."),
  mode: z
    .enum(EXECUTION_MODES)
    .exactOptional()
    .describe('"audit": it is called, and what it would have done is recorded and not applied. Default: "enforce".'),
  detached: z
    .boolean()
    .exactOptional()
    .describe("Whether a hook in audit mode is called after the verdict, outside of the turn. Default: false."),
  cache: cacheSchema.exactOptional(),
};

/** The part of an entry that says how the hook is called; whatever else is there is not looked at. */
export const operationSchema: z.ZodType<OperationConfig> = z.object(operationShape);

/** How many calls of a hook may be under way. */
export function concurrencySchema(fallback: string): Optional<z.ZodInt> {
  return z
    .int()
    .min(1)
    .max(65_536)
    .exactOptional()
    .describe(
      `How many calls may be under way; as many more wait within their deadlines, approvals first. Default: ${fallback}.`,
    );
}
