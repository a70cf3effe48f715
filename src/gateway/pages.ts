import type { MountedHookStatus } from "../picoclaw/index.ts";
import type { ReloadStatus } from "./reload.ts";

/** A mounted hook as the gateway shows it. */
export interface GatewayHook extends MountedHookStatus {
  /** Whether the gateway is only ready when this hook is. @default false */
  readonly required?: boolean | undefined;
}

/** What `GET /readyz` answers. */
export interface Readiness {
  readonly status: "ready" | "not_ready" | "draining";
  /** Which configuration answers, counted from 1; only where it can be read again. */
  readonly generation?: number;
  /** Why the last reload changed nothing; only for those who may see it. The old configuration goes on answering. */
  readonly reload_failed?: ReloadStatus["failed"];
  /** The hooks that cannot be called, and why; only for those who may see it. */
  readonly hooks?: readonly UnreadyHook[];
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
  readonly reload?: ReloadStatus | undefined;
}

/**
 * Whether the gateway should be sent calls: it is not draining and every required hook can be called. A hook that is not
 * required only shows here; its calls are no-verdicts, for its failure policy to decide.
 */
export function toReadiness(hooks: readonly GatewayHook[], options: ReadinessOptions): Readiness {
  const { isDraining, withHooks, reload } = options;
  const unready = hooks.filter(({ state }) => state !== "ready");
  const isReady = unready.every(({ required }) => required !== true);
  const status = isDraining ? "draining" : isReady ? "ready" : "not_ready";
  const base = { status, ...(reload && { generation: reload.generation }) } as const;
  if (!withHooks) return base;
  const failed = reload?.failed;
  return { ...base, ...(failed && { reload_failed: failed }), hooks: unready.map(toUnreadyHook) };
}

function toUnreadyHook({ name, state, required = false, lastError }: GatewayHook): UnreadyHook {
  return { name, state, required, ...(lastError === undefined ? {} : { reason: lastError }) };
}
