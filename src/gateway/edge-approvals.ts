import {
  type ApprovalManager,
  type ApprovalManagerOptions,
  OutboxNotifier,
  type OutboxPeer,
  toApprovalEvent,
} from "../approvals/index.ts";
import {
  type ApprovalStoreKind,
  type Config,
  ConfigError,
  createApprovalsFromConfig,
  createBuiltins,
  createGatewayKeys,
  createLinksFromConfig,
  createTargetsFromConfig,
  type GatewayStore,
  type HookPorts,
  keepApprovalsMs,
  type StoreAddress,
} from "../config/index.ts";
import type { Log } from "../log.ts";
import type { BuiltinRegistry, HookHost } from "../picoclaw/index.ts";
import type { ApprovalLinks } from "../signing/approval-link.ts";
import { createApprovalSigner } from "../signing/approval-token.ts";

/** What approvals can be kept in on an edge runtime. */
export interface EdgeApprovalPorts {
  readonly stores: readonly ApprovalStoreKind[];
  /**
   * Makes the store at an address; it connects to nothing yet. Undefined when nothing is bound by that name.
   * @param options - `keepMs`: how long settled approvals are kept, which is the store's own affair here.
   */
  open(address: StoreAddress, options: { readonly keepMs: number }): GatewayStore | undefined;
}

/** Options of {@link openEdgeApprovals}. */
export interface EdgeApprovalOptions {
  readonly ports: EdgeApprovalPorts | undefined;
  /** The hooks there are besides `human_approval`. @default hookgate's own */
  readonly registry?: BuiltinRegistry | undefined;
  /** Who is told of approvals, once it is there. */
  readonly host: () => HookHost | undefined;
  /** How those who are notified are reached. */
  readonly hooks: HookPorts;
  readonly log: Log;
}

/** What asks people on the edge. */
export interface EdgeApprovals {
  /** Absent when the config asks nobody. */
  readonly approvals: ApprovalManager<GatewayStore> | undefined;
  /** The built-in hooks, `human_approval` among them. */
  readonly builtins: BuiltinRegistry;
  /** Signs links with which people decide; absent without a secret for them. */
  readonly links: ApprovalLinks | undefined;
  /** Absent where nothing waits to be told. */
  readonly notifier: OutboxNotifier | undefined;
}

type OnNews = NonNullable<ApprovalManagerOptions["onNews"]>;

/**
 * Makes what asks people, where a config does.
 * @throws {ConfigError} when nothing is bound by the name of the store, or people cannot be notified as the config says
 */
export async function openEdgeApprovals(config: Config, options: EdgeApprovalOptions): Promise<EdgeApprovals> {
  const { ports, registry, host, hooks, log } = options;
  const { crypto } = hooks;
  const keepMs = keepApprovalsMs(config);
  const emit: OnNews = (news, approval) => host()?.emit(toApprovalEvent(news, approval));
  const approvals = createApprovalsFromConfig(config, {
    openStore(address) {
      const store = ports?.open(address, { keepMs });
      if (store !== undefined && store.outbox === undefined) assertTellsNobody(config);
      return store;
    },
    onNews(news, approval) {
      emit(news, approval);
      notifier?.tell(news, approval);
    },
    crypto,
    log,
  });
  const links = approvals && (await createLinksFromConfig(config, { used: approvals.store, crypto }));
  const connect = approvals?.store.outbox;
  const notifier = connect && createNotifier(config, { connect, links, onNews: emit, hooks, log });
  const { signing_key, id: issuer } = config.gateway;
  const [key] = await createGatewayKeys({ ...(signing_key && { signing_key }) }, crypto);
  const signerFor = key && ((audience: string) => createApprovalSigner({ key, issuer, audience }));
  return { approvals, builtins: createBuiltins({ registry, approvals, signerFor }), links, notifier };
}

interface NotifierParts extends Pick<EdgeApprovalOptions, "hooks" | "log"> {
  readonly connect: () => OutboxPeer;
  readonly links: ApprovalLinks | undefined;
  readonly onNews: OnNews;
}

function createNotifier(config: Config, { connect, links, onNews, hooks, log }: NotifierParts): OutboxNotifier {
  const { allowAddress, crypto, platform } = hooks;
  const targets = createTargetsFromConfig(config, { connect: hooks.connect, links, crypto, allowAddress });
  // What waits is known by the name of its target.
  const twice = targets.findIndex(({ name }, index) => targets.findIndex((other) => other.name === name) < index);
  const message = "another entry has this name: give each its own";
  if (twice !== -1) throw new ConfigError([{ path: `approvals.notify[${twice}].name`, message }]);
  const waitUntil = platform?.waitUntil ?? (() => undefined);
  return new OutboxNotifier({ targets, connect, onNews, waitUntil, log });
}

function assertTellsNobody({ approvals }: Config): void {
  if ((approvals?.notify ?? []).length === 0) return;
  const message = "this runtime notifies nobody from such a store: leave this out";
  throw new ConfigError([{ path: "approvals.notify", message }]);
}
