import {
  type Approval,
  ApprovalManager,
  type ApprovalStore,
  createMemoryApprovalStore,
} from "../../src/approvals/index.ts";
import type { Gateway, GatewayOptions } from "../../src/gateway/index.ts";
import { type ApprovalLinks, createApprovalLinks } from "../../src/signing/approval-link.ts";
import { gatewayOf, requestOf, tokenOf } from "./gateway-fixture.ts";
import { createFlakyStore, FakeClock } from "./human-approval-stage.ts";
import { formOf, type Page, pageOf, signIn } from "./page-fixture.ts";

/** A gateway with approvals, and people who may decide them. */
export interface ApprovalPageStage {
  readonly clock: FakeClock;
  readonly store: ApprovalStore & { isDown: boolean };
  readonly approvals: ApprovalManager;
  readonly links: ApprovalLinks;
  readonly gateway: Gateway;
  /** Asks people about a call. */
  ask(question?: Partial<Parameters<ApprovalManager["ask"]>[0]>): Promise<Approval>;
  /** The approval as it is now. */
  now(approval: Approval): Promise<Approval>;
  /** The cookie of one who signs in. */
  enter(name: string): Promise<string>;
  /** A page as somebody with this cookie sees it. */
  look(path: string, cookie?: string): Promise<Page>;
  /** Sends a form. */
  send(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>;
  /** The path of a link for a person. */
  linkOf(approval: Approval, approver?: string): Promise<string>;
}

/** Opens an {@link ApprovalPageStage}; without auth when it is told so. */
export async function openApprovalPages({
  hasAuth = true,
  ...options
}: { readonly hasAuth?: boolean } & Partial<GatewayOptions> = {}): Promise<ApprovalPageStage> {
  const clock = new FakeClock();
  const { now, startTimer } = clock;
  const store = createFlakyStore(createMemoryApprovalStore({ now }));
  const approvals = new ApprovalManager({ store, now, startTimer });
  const links = await createApprovalLinks({ secret: "s".repeat(32), issuer: "gate", used: store, now });
  const tokens = [
    (await tokenOf("ann", "approve")).known,
    (await tokenOf("ben", "approve", "observe")).known,
    (await tokenOf("eye", "observe")).known,
    (await tokenOf("bot", "call")).known,
  ];
  const gateway = await gatewayOf({}, { approvals, links, ...(hasAuth && { auth: { tokens } }), ...options });
  return {
    clock,
    store,
    approvals,
    links,
    gateway,
    async ask(question = {}) {
      const { approval } = await approvals.ask({
        agent: "main",
        session: "s1",
        tool: "bash",
        arguments: { command: "make deploy" },
        hook: "human_approval",
        reason: "it deploys",
        require: 1,
        approvers: [],
        expiresMs: 3_600_000,
        useWithinMs: 3_600_000,
        ...question,
      });
      return approval;
    },
    now: ({ id }) => approvals.get(id),
    enter: (name) => signIn(gateway, `secret-of-${name}`),
    look: (path, cookie) => pageOf(gateway, { path, headers: cookie === undefined ? {} : { cookie } }),
    send: (path, fields, headers) => pageOf(gateway, formOf(path, fields, headers)),
    async linkOf({ id, expires }, approver = "ann") {
      return `/approvals/link/${await links.sign({ approval: id, approver, expiresAtMs: Date.parse(expires) })}`;
    },
  };
}

/** What a form says that approves a call. */
export function yesTo({ call }: Approval, changes: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { decision: "approve", scope: "once", comment: "", call, ...changes };
}

/** The status of an answer without its body. */
export async function headOf({ gateway }: ApprovalPageStage, path: string, headers = {}): Promise<Response> {
  return gateway.fetch(requestOf({ method: "HEAD", path, headers }));
}
