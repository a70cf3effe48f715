import { HookCallError, isHookgateError } from "../errors.ts";
import type { HookPort, ToolApproval } from "../picoclaw/index.ts";
import type { ApprovalVerifier } from "../signing/approval-token.ts";
import { type CryptoPort, webCrypto } from "../signing/crypto.ts";
import { isVerificationError, toNoVerdictKind } from "../signing/verification-error.ts";
import { toArgumentsHash, toCallHash } from "./call-hash.ts";

/** Options of {@link requireSignedApproval}. */
export interface SignedApprovalOptions {
  readonly verifier: ApprovalVerifier;
  /** Hashes calls. @default WebCrypto */
  readonly crypto?: Pick<CryptoPort, "digest"> | undefined;
}

/**
 * A hook whose approvals count only with a decision in them that the approval service has signed for the very call: who
 * carries it, and who answers for the hook, can neither make one nor put it to another use. A denial needs none.
 */
export function requireSignedApproval(port: HookPort, options: SignedApprovalOptions): HookPort {
  return {
    ...port,
    call(point, current, scope) {
      if (point !== "approve_tool") return port.call(point, current, scope);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a point's payload is what its rules take
      const held = current.value as ToolApproval;
      return Promise.resolve(port.call(point, current, scope)).then((reply) => checkReply(reply, held, options));
    },
  };
}

async function checkReply(reply: unknown, held: ToolApproval, options: SignedApprovalOptions): Promise<unknown> {
  if (typeof reply !== "object" || reply === null || Reflect.get(reply, "approved") !== true) return reply;
  const approval: unknown = Reflect.get(reply, "approval");
  const token: unknown = typeof approval === "object" && approval !== null && Reflect.get(approval, "token");
  if (typeof token !== "string") throw new HookCallError("unsigned_reply", "it approved without a signed approval");
  const { verifier, crypto: port = webCrypto } = options;
  const { tool, meta, arguments: given = {} } = held;
  const bound = { agent: meta.AgentID, session: meta.SessionKey, tool, arguments: given };
  const [ah, call] = await Promise.all([toArgumentsHash(given, port), toCallHash(bound, port)]);
  try {
    const { jti, sub, scope } = await verifier.verify(token, { tool, ah, call, dec: "allow" });
    // Nothing else of the reply counts: it is not signed, and may not be used again.
    return { approved: true, approval: { id: jti, status: "approved", by: sub, scope } };
  } catch (error) {
    throw toFailure(error);
  }
}

function toFailure(error: unknown): unknown {
  if (!isVerificationError(error)) return error;
  const { reason, cause } = error;
  const isStore = isHookgateError(cause) && cause.code === "ERR_STORE_UNAVAILABLE";
  const kind = isStore ? "store_unavailable" : toNoVerdictKind(reason);
  return new HookCallError(kind, `the signed approval was refused: ${error.message}`, { cause: error });
}
