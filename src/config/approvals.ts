import {
  ApprovalManager,
  type ApprovalManagerOptions,
  type ApprovalStore,
  HUMAN_APPROVAL,
} from "../approvals/index.ts";
import type { SessionHookStore } from "../jcli/index.ts";
import { parseMaskPath } from "../records/index.ts";
import { DEFAULT_APPROVALS, parseStoreAddress, type StoreAddress } from "./approvals-schema.ts";
import { ConfigError } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

/** What a gateway keeps for longer than a process lasts: approvals, and the hooks of sessions. */
export interface GatewayStore extends ApprovalStore {
  /** @default the hooks of sessions are in the memory of each process */
  readonly sessionHooks?: SessionHookStore | undefined;
}

/** Opens the store at an address; undefined when the runtime has none of its kind. It does not connect. */
export type OpenApprovalStore = (address: StoreAddress) => GatewayStore | undefined;

/** Options of {@link createApprovalsFromConfig}. */
export interface ApprovalsFromConfigOptions extends Omit<ApprovalManagerOptions, "store" | "masks"> {
  readonly openStore: OpenApprovalStore | undefined;
}

/**
 * Makes what asks people, where a config has `approvals`, `human_approval` or a hook that hands on signed approvals.
 * @returns undefined where it has none of them
 * @throws {ConfigError} when the runtime has no such store
 */
export function createApprovalsFromConfig(
  config: ConfigFile,
  { openStore, ...options }: ApprovalsFromConfigOptions,
): ApprovalManager<GatewayStore> | undefined {
  const { hooks, approvals } = config;
  if (approvals === undefined && !(hooks.enabled && needsStore(hooks))) return undefined;
  const { store: text, mask } = toApprovalSettings(config);
  const address = parseStoreAddress(text);
  const store = address && openStore?.(address);
  if (store !== undefined) return new ApprovalManager({ ...options, store, masks: mask.map(parseMaskPath) });
  const message =
    address?.kind === "durable_object"
      ? `there is no Durable Object binding "${address.target}": bind the class ApprovalsObject by this name`
      : "this runtime has no such store of approvals";
  throw new ConfigError([{ path: "approvals.store", message }]);
}

function needsStore({ builtins, processes }: ConfigFile["hooks"]): boolean {
  if (builtins[HUMAN_APPROVAL]?.enabled === true) return true;
  // Where it is remembered which signed approvals were used.
  return Object.values(processes).some(
    (entry) => entry.enabled && entry.transport !== "stdio" && entry.approval_token !== undefined,
  );
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
