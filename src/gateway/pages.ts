import type { ApprovalStore } from "../approvals/index.ts";
import type { MountedHookStatus } from "../picoclaw/index.ts";
import type { ReloadStatus } from "./reload.ts";
import type { RecorderStatus } from "../records/index.ts";
import { settlesWithin } from "../wait.ts";

/** A mounted hook as the gateway shows it. */
export interface GatewayHook extends MountedHookStatus {
  /** Whether the gateway is only ready when this hook is. @default false */
  readonly required?: boolean | undefined;
}

/** What `GET /readyz` answers. */
export interface Readiness {
  /**
   * `degraded`: it is ready, but records of decisions are being lost or cannot be written, or human approvals cannot be
   * kept, so that what needs one is denied.
   */
  readonly status: "ready" | "degraded" | "not_ready" | "draining";
  /** Which configuration answers, counted from 1; only where it can be read again. */
  readonly generation?: number;
  /** Why the last reload changed nothing; only for those who may see it. The old configuration goes on answering. */
  readonly reload_failed?: ReloadStatus["failed"];
  /** The hooks that cannot be called, and why; only for those who may see it. */
  readonly hooks?: readonly UnreadyHook[];
  /** How the recording of decisions is going; only for those who may see it. */
  readonly records?: RecorderStatus;
  /** Whether the store of human approvals can be reached; only for those who may see it. */
  readonly approvals?: StoreStatus;
}

/** How a store of human approvals is. */
export interface StoreStatus {
  readonly store: string;
  readonly available: boolean;
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
  /** How the store of human approvals is. */
  readonly approvals?: StoreStatus | undefined;
}

/** How long a store may take to answer, in milliseconds: whoever probes does not wait for long. */
const STORE_TIMEOUT_MS = 1000;

/** Asks a store of human approvals whether it can be reached. */
export async function toStoreStatus(store: ApprovalStore): Promise<StoreStatus> {
  let available = false;
  const asked = store.health().then(
    () => void (available = true),
    () => undefined,
  );
  await settlesWithin(asked, STORE_TIMEOUT_MS);
  return { store: store.name, available };
}

/**
 * Whether the gateway should be sent calls: it is not draining and every required hook can be called. A hook that is not
 * required only shows here; its calls are no-verdicts, for its failure policy to decide.
 */
export function toReadiness(hooks: readonly GatewayHook[], options: ReadinessOptions): Readiness {
  const { isDraining, withHooks, records, reload, approvals } = options;
  const unready = hooks.filter(({ state }) => state !== "ready");
  const isReady = unready.every(({ required }) => required !== true);
  const isDegraded = records?.degraded === true || approvals?.available === false;
  const status = isDraining ? "draining" : !isReady ? "not_ready" : isDegraded ? "degraded" : "ready";
  const base: Readiness = { status, ...(reload && { generation: reload.generation }) };
  if (!withHooks) return base;
  const failed = reload?.failed;
  return {
    ...base,
    ...(failed && { reload_failed: failed }),
    hooks: unready.map(toUnreadyHook),
    ...(records && { records }),
    ...(approvals && { approvals }),
  };
}

function toUnreadyHook({ name, state, required = false, lastError }: GatewayHook): UnreadyHook {
  return { name, state, required, ...(lastError === undefined ? {} : { reason: lastError }) };
}
