import { HookCallError, HookgateError, isHookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import type {
  ApprovalNotice,
  ApprovalReply,
  BuiltinRegistry,
  Hook,
  HookContext,
  ToolApproval,
} from "../picoclaw/index.ts";
import { createMatcher, type Matcher } from "../picoclaw/match.ts";
import type { ApprovalSigner } from "../signing/approval-token.ts";
import type { Approval } from "./approval.ts";
import { toArgumentsHash, toCallHash } from "./call-hash.ts";
import { type HumanApprovalConfig, type HumanApprovalRule, humanApprovalSchema } from "./human-approval-schema.ts";
import type { ApprovalManager, OutdatedApproval } from "./manager.ts";
import { ApprovalError, UnreadableApprovalError } from "./refusal.ts";

/** The name of the built-in hook. */
export const HUMAN_APPROVAL = "human_approval";

/**
 * How much earlier than its deadline the hook answers, in milliseconds, or a tenth of its time where that is less: an answer
 * that comes too late says nothing of the approval.
 */
const MARGIN_MS = 1000;

/** Calls of the same agent for the same thing may use up each other's approvals; after so many the rest come again. */
const MAX_ROUNDS = 8;

const MAX_ID_CHARS = 64;

/** What {@link createHumanApprovalHook} works with. */
export interface HumanApprovalParts {
  /** Where people are asked. */
  readonly approvals: ApprovalManager;
  /** Signs decisions for a gateway, where this one has a key. */
  readonly signerFor?: ((audience: string) => ApprovalSigner) | undefined;
  /** Whether `approvals` outlive the hook: others ask people with them too, or will after it. @default false */
  readonly keepsApprovals?: boolean | undefined;
}

/** {@link HumanApprovalParts} where there may be nothing to ask people with. */
export interface OptionalApprovalParts extends Pick<HumanApprovalParts, "signerFor" | "keepsApprovals"> {
  readonly approvals?: ApprovalManager | undefined;
}

/**
 * Makes the approval hook that asks people. Closing it closes the manager, unless it is to be kept.
 * @throws {TypeError} when decisions are to be signed and nothing signs them
 */
export function createHumanApprovalHook(config: HumanApprovalConfig, parts: HumanApprovalParts): Hook {
  const { rules, sign_for: audience } = config;
  const { approvals, signerFor, keepsApprovals = false } = parts;
  const signer = audience === undefined ? undefined : signerFor?.(audience);
  if (audience !== undefined && signer === undefined) {
    throw new TypeError("sign_for: the gateway has no signing_key to sign decisions with");
  }
  const known = rules.map((rule) => ({ rule, matcher: createMatcher(rule.match ?? {}) }));
  return {
    async approveTool(request, context) {
      const rule = findRule(known, request);
      return rule === undefined ? { approved: true } : askPeople(request, { rule, approvals, signer, context });
    },
    ...(!keepsApprovals && { close: () => approvals.close() }),
  };
}

/**
 * Adds `human_approval` to the hooks that config files can name.
 * @param parts - Without `approvals` a config is checked and the hook cannot be made.
 */
export function registerHumanApproval(registry: BuiltinRegistry, parts: OptionalApprovalParts = {}): void {
  const { approvals, ...others } = parts;
  const create = (config: HumanApprovalConfig): Hook => {
    if (approvals === undefined) throw new TypeError("there is no store of approvals on this runtime");
    return createHumanApprovalHook(config, { approvals, ...others });
  };
  registry.register(HUMAN_APPROVAL, create, { schema: humanApprovalSchema });
}

function findRule(
  known: readonly { readonly rule: HumanApprovalRule; readonly matcher: Matcher }[],
  request: ToolApproval,
): HumanApprovalRule | undefined {
  return known.find(({ matcher }) => matcher.matches(request))?.rule;
}

interface Asking {
  readonly rule: HumanApprovalRule;
  readonly approvals: ApprovalManager;
  readonly signer: ApprovalSigner | undefined;
  readonly context: HookContext;
}

async function askPeople(request: ToolApproval, asking: Asking): Promise<ApprovalReply> {
  try {
    return await askUntilUsed(request, asking);
  } catch (error) {
    if (isHookgateError(error) && error.code === "ERR_BODY_TOO_LARGE")
      return { approved: false, reason: error.message };
    const isUnknown = isHookgateError(error) && error.code === "ERR_STORE_UNAVAILABLE";
    if (isUnknown || error instanceof UnreadableApprovalError) {
      throw new HookCallError("store_unavailable", error.message, { cause: error });
    }
    throw error;
  }
}

async function askUntilUsed(
  request: ToolApproval,
  { rule, approvals, signer, context }: Asking,
): Promise<ApprovalReply> {
  const earlier = await findEarlier(request, { rule, approvals });
  if (earlier !== undefined) {
    return { approved: false, reason: toReason(earlier), approval: await toSigned(earlier, request, signer) };
  }
  const { remainingMs, signal } = context;
  const waitMs = Math.min(rule.wait_ms ?? Infinity, remainingMs - Math.min(MARGIN_MS, remainingMs / 10));
  const untilMs = remainingMs - waitMs;
  const question = { ...toQuestion(request, rule), caller: context.caller };
  let outdated: OutdatedApproval | undefined;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const { approval, heldUntil, outdated: taken = outdated } = await approvals.ask(question);
    outdated = taken;
    if (heldUntil !== undefined) {
      const reason = toHeldReason(approval, heldUntil);
      return { approved: false, reason, approval: await toSigned(approval, request, signer) };
    }
    const timeoutMs = Math.max(0, context.remainingMs - untilMs);
    const settled = await approvals.wait(approval.id, { timeoutMs, signal });
    // Another call of the same kind has used it: nobody denied this one, so people are asked anew.
    if (settled.status === "consumed") continue;
    if (settled.status !== "approved") {
      const reason = `${toReason(settled)}${toOutdatedReason(outdated)}`;
      return { approved: false, reason, approval: await toSigned(settled, request, signer) };
    }
    const used = await approvals.use(approval.call, question);
    if (used !== undefined) return { approved: true, approval: await toSigned(used, request, signer) };
  }
  throw new HookgateError("ERR_CONFLICT", "the approval was used by other calls of the same tool each time");
}

/**
 * The approval that the call has waited for, where it has come to a no: who asks again by its id is told so, and people
 * are not asked anew. One that is for another call says nothing.
 */
async function findEarlier(
  request: ToolApproval,
  { rule, approvals }: Pick<Asking, "rule" | "approvals">,
): Promise<Approval | undefined> {
  const given = request["approval"];
  const id = isObject(given) ? given["id"] : undefined;
  if (typeof id !== "string" || id === "" || id.length > MAX_ID_CHARS) return undefined;
  try {
    const approval = await approvals.get(id);
    const isNo = approval.status === "denied" || approval.status === "expired" || approval.status === "cancelled";
    return isNo && approval.call === (await toCallHash(toQuestion(request, rule))) ? approval : undefined;
  } catch (error) {
    if (error instanceof ApprovalError) return undefined;
    throw error;
  }
}

function toQuestion(request: ToolApproval, rule: HumanApprovalRule): Parameters<ApprovalManager["ask"]>[0] {
  const { meta, tool, channel, chat_id: chatId } = request;
  return {
    agent: meta.AgentID,
    session: meta.SessionKey,
    turn: meta.TurnID,
    channel,
    chatId,
    tool,
    arguments: request.arguments,
    hook: HUMAN_APPROVAL,
    reason: rule.reason,
    risk: rule.risk,
    require: rule.require,
    approvers: rule.approvers,
    expiresMs: rule.expires_ms,
    useWithinMs: rule.use_within_ms,
    denialHoldsMs: rule.denial_holds_ms,
  };
}

/** What is said of an approval, with the decision signed where there is one and it is to be. */
async function toSigned(
  approval: Approval,
  { tool, arguments: given = {} }: ToolApproval,
  signer: ApprovalSigner | undefined,
): Promise<ApprovalNotice> {
  const notice = toNotice(approval);
  const { id, votes, scope = "once", status, call } = approval;
  const last = votes.at(-1);
  const isDecided = status === "denied" || status === "approved" || status === "consumed";
  if (signer === undefined || last === undefined || !isDecided) return notice;
  // What holds for longer is signed for each use: its receiver takes a token once.
  const jti = status === "approved" ? `${id}.${crypto.randomUUID().slice(0, 8)}` : id;
  const act = { tool, ah: await toArgumentsHash(given), call };
  const dec = status === "denied" ? "deny" : "allow";
  return { ...notice, token: await signer.sign({ jti, sub: last.by, act, dec, scope }) };
}

function toNotice({ id, status, expires }: Approval): ApprovalNotice {
  return status === "pending" ? { id, status, poll: `/v1/approvals/${id}?wait=55`, expires } : { id, status };
}

function toReason({ id, status, votes, ending, expires }: Approval): string {
  if (status === "pending") {
    return `approval ${id} is pending: a person has to approve this until ${expires}. Make the same call again later; it runs once it is approved`;
  }
  if (status === "expired") return `nobody approved this in time (approval ${id})`;
  if (status === "cancelled") {
    return `approval ${id} was taken back${ending?.reason === undefined ? "" : `: ${ending.reason}`}`;
  }
  const { by, comment } = toDenial(votes);
  return `${by} denied this${comment} (approval ${id})`;
}

/** Why people are asked about a call that they had approved. */
function toOutdatedReason(outdated: OutdatedApproval | undefined): string {
  if (outdated === undefined) return "";
  return `. What was approved before (approval ${outdated.id}) does not count: ${outdated.why}`;
}

/** Why nobody is asked about a call that was denied not long ago. */
function toHeldReason({ id, votes, changed }: Approval, heldUntil: string): string {
  const { by, comment } = toDenial(votes);
  return `${by} denied this at ${changed}${comment} (approval ${id}). Nobody is asked again about the same call before ${heldUntil}`;
}

/** Who denied, and what there is to say about it. */
function toDenial(votes: Approval["votes"]): { readonly by: string; readonly comment: string } {
  const vote = votes.find(({ decision }) => decision === "deny");
  return { by: vote?.by ?? "a person", comment: vote?.comment === undefined ? "" : `: ${vote.comment}` };
}
