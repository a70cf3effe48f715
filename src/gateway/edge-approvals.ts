import { type ApprovalManager, type ApprovalStore, toApprovalEvent } from "../approvals/index.ts";
import {
  type ApprovalStoreKind,
  type Config,
  ConfigError,
  createApprovalsFromConfig,
  createBuiltins,
  createGatewayKeys,
  keepApprovalsMs,
  type StoreAddress,
} from "../config/index.ts";
import type { Log } from "../log.ts";
import type { BuiltinRegistry, HookHost } from "../picoclaw/index.ts";
import { createApprovalSigner } from "../signing/approval-token.ts";
import type { CryptoPort } from "../signing/crypto.ts";

/** What approvals can be kept in on an edge runtime. */
export interface EdgeApprovalPorts {
  readonly stores: readonly ApprovalStoreKind[];
  /**
   * Makes the store at an address; it connects to nothing yet. Undefined when nothing is bound by that name.
   * @param options - `keepMs`: how long settled approvals are kept, which is the store's own affair here.
   */
  open(address: StoreAddress, options: { readonly keepMs: number }): ApprovalStore | undefined;
}

/** Options of {@link openEdgeApprovals}. */
export interface EdgeApprovalOptions {
  readonly ports: EdgeApprovalPorts | undefined;
  /** The hooks there are besides `human_approval`. @default hookgate's own */
  readonly registry?: BuiltinRegistry | undefined;
  /** Who is told of approvals, once it is there. */
  readonly host: () => HookHost | undefined;
  readonly crypto?: CryptoPort | undefined;
  readonly log: Log;
}

/** What asks people on the edge. */
export interface EdgeApprovals {
  /** Absent when the config asks nobody. */
  readonly approvals: ApprovalManager | undefined;
  /** The built-in hooks, `human_approval` among them. */
  readonly builtins: BuiltinRegistry;
}

/**
 * Makes what asks people, where a config does.
 * @throws {ConfigError} when nothing is bound by the name of the store, or people are to be notified
 */
export async function openEdgeApprovals(config: Config, options: EdgeApprovalOptions): Promise<EdgeApprovals> {
  const { ports, registry, host, crypto, log } = options;
  // A notification is tried again for hours, and nothing runs here that long.
  if ((config.approvals?.notify ?? []).length > 0) {
    throw new ConfigError([{ path: "approvals.notify", message: "this runtime notifies nobody: leave it out" }]);
  }
  const keepMs = keepApprovalsMs(config);
  const approvals = createApprovalsFromConfig(config, {
    openStore: ports && ((address) => ports.open(address, { keepMs })),
    onNews: (news, approval) => host()?.emit(toApprovalEvent(news, approval)),
    crypto,
    log,
  });
  const { signing_key, id: issuer } = config.gateway;
  const [key] = await createGatewayKeys({ ...(signing_key && { signing_key }) }, crypto);
  const signerFor = key && ((audience: string) => createApprovalSigner({ key, issuer, audience }));
  return { approvals, builtins: createBuiltins({ registry, approvals, signerFor }) };
}
