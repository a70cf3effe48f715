import {
  ApprovalManager,
  type ApprovalManagerOptions,
  type ApprovalStore,
  HUMAN_APPROVAL,
} from "../approvals/index.ts";
import { parseMaskPath } from "../records/index.ts";
import { DEFAULT_APPROVALS, parseStoreAddress, type StoreAddress } from "./approvals-schema.ts";
import { ConfigError } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

/** Opens the store at an address; undefined when the runtime has none of its kind. It does not connect. */
export type OpenApprovalStore = (address: StoreAddress) => ApprovalStore | undefined;

/** Options of {@link createApprovalsFromConfig}. */
export interface ApprovalsFromConfigOptions extends Omit<ApprovalManagerOptions, "store" | "masks"> {
  readonly openStore: OpenApprovalStore | undefined;
}

/**
 * Makes what asks people, where a config has `human_approval` or `approvals`.
 * @returns undefined where it has neither
 * @throws {ConfigError} when the runtime has no such store
 */
export function createApprovalsFromConfig(
  config: ConfigFile,
  { openStore, ...options }: ApprovalsFromConfigOptions,
): ApprovalManager | undefined {
  const { hooks, approvals } = config;
  const isAsked = hooks.enabled && hooks.builtins[HUMAN_APPROVAL]?.enabled === true;
  if (approvals === undefined && !isAsked) return undefined;
  const { store: text, mask } = toApprovalSettings(config);
  const address = parseStoreAddress(text);
  const store = address && openStore?.(address);
  if (store !== undefined) return new ApprovalManager({ ...options, store, masks: mask.map(parseMaskPath) });
  throw new ConfigError([{ path: "approvals.store", message: "this runtime has no such store of approvals" }]);
}

/** How long settled approvals are kept, in milliseconds. */
export function keepApprovalsMs({ approvals = DEFAULT_APPROVALS }: ConfigFile): number {
  return approvals.keep_days * 86_400_000;
}

/** What a change of needs another approval manager: where approvals are kept, and what is masked in them. */
export function toApprovalSettings({
  approvals = DEFAULT_APPROVALS,
  records,
}: Pick<ConfigFile, "approvals" | "records">): {
  readonly store: string;
  readonly mask: readonly string[];
} {
  return { store: approvals.store, mask: approvals.mask ?? records?.record.mask ?? [] };
}
