import { type ApprovalManager, toApprovalEvent } from "../approvals/index.ts";
import {
  createApprovalsFromConfig,
  createBuiltins,
  createHostFromConfig,
  type HostFromConfigOptions,
  type StartedHost,
} from "../config/index.ts";
import type { Log } from "../log.ts";
import type { HostEvent } from "../picoclaw/index.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";

/** Options of {@link startHooks}. */
export interface StartHooksOptions extends Pick<
  HostFromConfigOptions,
  "pool" | "previous" | "previousHost" | "generation" | "onDecision"
> {
  readonly host: CliHost;
  readonly log: Log;
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean;
  /** Asks people, where that goes on from the hooks before. @default it is made as the config says */
  readonly approvals?: ApprovalManager | undefined;
  /** Tells observers of what becomes of approvals. @default the hooks that are started */
  readonly emit?: ((event: HostEvent) => void) | undefined;
}

/** The hooks of a config, and what asks people for them. */
export interface StartedHooks extends StartedHost {
  /** Absent when the config has neither `approvals` nor a hook that asks people. Closing the host may leave it open. */
  readonly approvals?: ApprovalManager | undefined;
}

/**
 * Starts the hooks of a config, of both systems.
 * @throws {ConfigError} as `createHostFromConfig` does
 */
export async function startHooks(
  { config, baseDir }: Pick<LoadedConfig, "config" | "baseDir">,
  { host, takesAnyName = false, approvals: given, emit, ...options }: StartHooksOptions,
): Promise<StartedHooks> {
  const now = (): number => host.now();
  const { ports, tracer } = host;
  const { log } = options;
  const yaml = { ...host.yaml, env: host.env };
  let started: StartedHost | undefined;
  const tell = emit ?? ((event: HostEvent) => started?.host.emit(event));
  const own =
    given ??
    createApprovalsFromConfig(config, {
      openStore: host.openApprovals && ((address) => host.openApprovals?.(address, { baseDir, log })),
      onNews: (news, approval) => tell(toApprovalEvent(news, approval)),
      crypto: ports.crypto,
      log,
    });
  const reach = { ...ports, ...options, builtins: createBuiltins(own), baseDir, now, takesAnyName, tracer };
  try {
    started = await createHostFromConfig(config, { ...reach, yaml });
  } catch (error) {
    if (given === undefined) await own?.close();
    throw error;
  }
  return { ...started, approvals: own };
}
