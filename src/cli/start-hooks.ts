import {
  type ApprovalManager,
  type ApprovalManagerOptions,
  type Notifier,
  toApprovalEvent,
} from "../approvals/index.ts";
import {
  createApprovalsFromConfig,
  createBuiltins,
  createGatewayKeys,
  createHostFromConfig,
  createLinksFromConfig,
  createNotifierFromConfig,
  type GatewayStore,
  type HostFromConfigOptions,
  type StartedHost,
  toRunNotification,
} from "../config/index.ts";
import type { Log } from "../log.ts";
import type { ApprovalLinks } from "../signing/approval-link.ts";
import { createApprovalSigner } from "../signing/approval-token.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";

type OnNews = NonNullable<ApprovalManagerOptions["onNews"]>;

/** Options of {@link startHooks}. */
export interface StartHooksOptions extends Pick<
  HostFromConfigOptions,
  "pool" | "previous" | "previousHost" | "generation" | "onDecision"
> {
  readonly host: CliHost;
  readonly log: Log;
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean;
  /** What goes on from the hooks before. @default it is made as the config says */
  readonly asking?: Pick<StartedHooks, "approvals" | "links" | "notifier"> | undefined;
  /**
   * Whether approvals stay open when the hooks are closed, for those that come after them; and, since their store does, the
   * hooks of sessions are looked up in it. @default false
   */
  readonly keepsApprovals?: boolean;
  /** Told of what becomes of approvals. @default the hooks and notifications that are started */
  readonly onNews?: OnNews | undefined;
}

/** The hooks of a config, and what asks people for them. */
export interface StartedHooks extends StartedHost {
  /** Absent when the config has neither `approvals` nor a hook that asks people. Closing the host may leave it open, and does where approvals are kept. */
  readonly approvals?: ApprovalManager<GatewayStore> | undefined;
  /** Signs links with which people decide; absent without a secret for them. */
  readonly links?: ApprovalLinks | undefined;
  /** Absent when nobody is told. Closing the host leaves it open. */
  readonly notifier?: Notifier | undefined;
}

/**
 * Starts the hooks of a config, of both systems.
 * @throws {ConfigError} as `createHostFromConfig` does
 */
export async function startHooks(
  { config, baseDir }: Pick<LoadedConfig, "config" | "baseDir">,
  { host, takesAnyName = false, asking = {}, keepsApprovals = false, onNews, ...options }: StartHooksOptions,
): Promise<StartedHooks> {
  const now = (): number => host.now();
  const { ports, tracer } = host;
  const { log } = options;
  const yaml = { ...host.yaml, env: host.env };
  let started: StartedHost | undefined;
  let { notifier } = asking;
  const tell: OnNews = (news, approval) => {
    started?.host.emit(toApprovalEvent(news, approval));
    notifier?.tell(news, approval);
  };
  const approvals =
    asking.approvals ??
    createApprovalsFromConfig(config, {
      openStore: host.openApprovals && ((address) => host.openApprovals?.(address, { baseDir, log })),
      onNews: onNews ?? tell,
      crypto: ports.crypto,
      log,
    });
  try {
    const { crypto } = ports;
    const made = approvals && (await createLinksFromConfig(config, { used: approvals.store, crypto }));
    const links = asking.links ?? made;
    const { startCommand: start } = yaml;
    const run = start && toRunNotification(start, baseDir);
    notifier ??= approvals && createNotifierFromConfig(config, { connect: ports.connect, run, links, crypto, log });
    const [key] = await createGatewayKeys(config.gateway, ports.crypto);
    const issuer = config.gateway.id;
    const signerFor = key && ((audience: string) => createApprovalSigner({ key, issuer, audience }));
    const builtins = createBuiltins({ approvals, signerFor, keepsApprovals });
    const store = approvals?.store;
    const sessionStore = keepsApprovals ? store?.sessionHooks : undefined;
    const shared = { replay: store, sessionStore, fetchKeys: host.fetchKeys };
    const reach = { ...ports, ...shared, ...options, builtins, baseDir, now, takesAnyName, tracer };
    started = await createHostFromConfig(config, { ...reach, yaml });
    return { ...started, approvals, links, notifier };
  } catch (error) {
    if (asking.approvals === undefined) await approvals?.close();
    throw error;
  }
}
