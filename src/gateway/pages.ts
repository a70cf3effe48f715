import type { MountedHookStatus } from "../picoclaw/index.ts";
import type { ReloadStatus } from "./reload.ts";
import type { RecorderStatus } from "../records/index.ts";

/** A mounted hook as the gateway shows it. */
export interface GatewayHook extends MountedHookStatus {
  /** Whether the gateway is only ready when this hook is. @default false */
  readonly required?: boolean | undefined;
}

/** What `GET /readyz` answers. */
export interface Readiness {
  /** `degraded`: it is ready, but records of decisions are being lost or cannot be written. */
  readonly status: "ready" | "degraded" | "not_ready" | "draining";
  /** Which configuration answers, counted from 1; only where it can be read again. */
  readonly generation?: number;
  /** Why the last reload changed nothing; only for those who may see it. The old configuration goes on answering. */
  readonly reload_failed?: ReloadStatus["failed"];
  /** The hooks that cannot be called, and why; only for those who may see it. */
  readonly hooks?: readonly UnreadyHook[];
  /** How the recording of decisions is going; only for those who may see it. */
  readonly records?: RecorderStatus;
}

interface UnreadyHook {
  readonly name: string;
  readonly state: string;
  readonly required: boolean;
  readonly reason?: string;
}

/** Options of {@link toReadiness}. */
export interface ReadinessOptions {
  readonly isDraining: boolean;
  /** Whether to say which hooks cannot be called, and why. */
  readonly withHooks: boolean;
  /** Where the configuration can be read again: what became of that. */
  readonly reload?: ReloadStatus | undefined;
  /** How the recording of decisions is going. */
  readonly records?: RecorderStatus | undefined;
}

/**
 * Whether the gateway should be sent calls: it is not draining and every required hook can be called. A hook that is not
 * required only shows here; its calls are no-verdicts, for its failure policy to decide.
 */
export function toReadiness(hooks: readonly GatewayHook[], options: ReadinessOptions): Readiness {
  const { isDraining, withHooks, records, reload } = options;
  const unready = hooks.filter(({ state }) => state !== "ready");
  const isReady = unready.every(({ required }) => required !== true);
  const status = isDraining ? "draining" : !isReady ? "not_ready" : records?.degraded ? "degraded" : "ready";
  const base: Readiness = { status, ...(reload && { generation: reload.generation }) };
  if (!withHooks) return base;
  const failed = reload?.failed;
  return {
    ...base,
    ...(failed && { reload_failed: failed }),
    hooks: unready.map(toUnreadyHook),
    ...(records && { records }),
  };
}

function toUnreadyHook({ name, state, required = false, lastError }: GatewayHook): UnreadyHook {
  return { name, state, required, ...(lastError === undefined ? {} : { reason: lastError }) };
}
