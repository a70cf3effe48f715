import {
  createGateway,
  type GatewayListener,
  type GatewayOptions,
  HookManager,
  serveGateway,
} from "../../../adapters/node/index.ts";
import {
  type Approval,
  ApprovalManager,
  createHumanApprovalHook,
  createMemoryApprovalStore,
  humanApprovalSchema,
} from "../../../src/approvals/index.ts";
import { type ApprovalLinks, createApprovalLinks } from "../../../src/signing/approval-link.ts";
import { sha256 } from "../../records/fixtures.ts";

/** What a host is answered. */
export interface Asked {
  readonly approved: boolean;
  readonly reason?: string;
  readonly approval?: { readonly id: string; readonly status: string };
}

/** A gateway that asks people about every tool, as a browser and a host reach it. */
export interface ApprovalStage {
  readonly url: string;
  readonly approvals: ApprovalManager;
  readonly links: ApprovalLinks;
  /** Asks about a call as an agent's host does, over HTTP; it is answered once people have decided. */
  ask(tool: string, args?: object): Promise<Asked>;
  /** The same, and resolves with the approval that is pending then. */
  begin(tool: string, args?: object): Promise<{ readonly asked: Promise<Asked>; readonly approval: Approval }>;
  close(): Promise<void>;
}

/** Options of {@link openApprovalStage}. */
export interface ApprovalStageOptions {
  readonly hasAuth: boolean;
  /** What the rule says besides its defaults. @default nothing */
  readonly rule?: object;
  readonly options?: Partial<GatewayOptions>;
}

/** The token of a name that may do one thing. */
export function tokenOf(name: string): string {
  return `token-of-${name}`;
}

const TOKENS = [
  { name: "ann", sha256: sha256(tokenOf("ann")), scopes: ["approve"] as const },
  { name: "ben", sha256: sha256(tokenOf("ben")), scopes: ["approve", "observe"] as const },
  { name: "eye", sha256: sha256(tokenOf("eye")), scopes: ["observe"] as const },
  { name: "bot", sha256: sha256(tokenOf("bot")), scopes: ["call"] as const },
];

/** Opens a gateway with `human_approval` for every tool. */
export async function openApprovalStage({ hasAuth, rule = {}, options }: ApprovalStageOptions): Promise<ApprovalStage> {
  const store = createMemoryApprovalStore();
  const approvals = new ApprovalManager({ store });
  const manager = new HookManager();
  const hook = createHumanApprovalHook(humanApprovalSchema.parse({ rules: [rule] }), { approvals });
  await manager.mount(hook, { name: "human_approval" });
  const links = await createApprovalLinks({ secret: "s".repeat(32), issuer: "stage", used: store });
  const gateway = createGateway({
    host: manager,
    hooks: () => manager.hooks(),
    approvals,
    links,
    ...(hasAuth && { auth: { tokens: TOKENS } }),
    ...options,
  });
  const listener: GatewayListener = await serveGateway(gateway, { port: 0 });
  const { url } = listener;
  const ask = async (tool: string, args: object = {}): Promise<Asked> => {
    const meta = { AgentID: "main", SessionKey: "s1" };
    const call = { jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params: { tool, arguments: args, meta } };
    const headers = { "content-type": "application/json", authorization: `Bearer ${tokenOf("bot")}` };
    const response = await fetch(`${url}/rpc`, { method: "POST", headers, body: JSON.stringify(call) });
    const { result } = (await response.json()) as { readonly result: Asked };
    return result;
  };
  return {
    url,
    approvals,
    links,
    ask,
    async begin(tool, args) {
      const { promise: pending, resolve: onPending } = withResolver<Approval>();
      const leave = await approvals.subscribe((change) => {
        if (change?.status === "pending") void approvals.get(change.id).then(onPending);
      });
      const asked = ask(tool, args);
      const approval = await pending;
      leave();
      return { asked, approval };
    },
    async close() {
      await listener.close();
      await manager.close();
      await approvals.close();
    },
  };
}

interface Resolver<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function withResolver<T>(): Resolver<T> {
  const made: { resolve?: (value: T) => void } = {};
  const promise = new Promise<T>((resolve) => void (made.resolve = resolve));
  return { promise, resolve: (value) => made.resolve?.(value) };
}
