import { HookgateError, isHookgateError } from "../errors.ts";
import type { HookgateErrorCode, NoVerdictKind } from "../errors.ts";

/**
 * Why a signed message was refused, in the order in which the rules are checked.
 * @see docs/protocol.md, "Signatures"
 */
export type VerificationReason =
  | "not_post"
  | "not_json"
  | "body_too_large"
  | "signature_missing"
  | "signature_duplicated"
  | "signature_malformed"
  | "signature_too_long"
  | "header_malformed"
  | "header_forbidden"
  | "typ_mismatch"
  | "alg_not_allowed"
  | "kid_unknown"
  | "keys_unavailable"
  | "signature_invalid"
  | "claims_malformed"
  | "iss_mismatch"
  | "aud_mismatch"
  | "time_malformed"
  | "lifetime_too_long"
  | "expired"
  | "not_yet_valid"
  | "htm_mismatch"
  | "bh_mismatch"
  | "mtd_malformed"
  | "jti_malformed"
  | "replayed"
  | "replay_store_unavailable"
  | "mtd_mismatch"
  | "rid_mismatch"
  | "rqh_mismatch"
  | "sts_mismatch"
  | "approval_act_mismatch"
  | "approval_dec_mismatch"
  | "approval_sub_malformed"
  | "webhook_id_malformed"
  | "webhook_timestamp_malformed"
  | "webhook_id_mismatch"
  | "webhook_reflected";

interface Row {
  readonly code: HookgateErrorCode;
  readonly kind: NoVerdictKind;
  readonly text: string;
}

function row(text: string, kind: NoVerdictKind = "bad_signature", code: HookgateErrorCode = "ERR_UNAUTHORIZED"): Row {
  return { code, kind, text };
}

/** One row per reason. The texts are constants: nothing of the message that failed can reach a log through them. */
const ROWS: Readonly<Record<VerificationReason, Row>> = {
  not_post: row("the method is not POST", "bad_signature", "ERR_INVALID_REQUEST"),
  not_json: row("the content type is not application/json", "content_type", "ERR_UNSUPPORTED_MEDIA_TYPE"),
  body_too_large: row("the body is longer than allowed", "too_large", "ERR_BODY_TOO_LARGE"),
  signature_missing: row("the signature is missing", "unsigned_reply"),
  signature_duplicated: row("there is more than one signature header"),
  signature_malformed: row("the signature header is malformed"),
  signature_too_long: row("the signature header is longer than 4096 characters"),
  header_malformed: row("the protected header is not a JSON object"),
  header_forbidden: row("the protected header has one of crit, b64, jwk, jku, x5u, x5c"),
  typ_mismatch: row("typ is not the one of this kind of message"),
  alg_not_allowed: row("alg is not allowed for this key"),
  kid_unknown: row("kid is not a trusted key"),
  keys_unavailable: row("the trusted keys could not be fetched", "bad_signature", "ERR_OVERLOADED"),
  signature_invalid: row("the signature does not verify"),
  claims_malformed: row("the claims are not a JSON object"),
  iss_mismatch: row("iss is not the configured peer"),
  aud_mismatch: row("aud is not this party"),
  time_malformed: row("iat or exp is not an integer, or exp is not after iat"),
  lifetime_too_long: row("exp is later than allowed after iat"),
  expired: row("the message has expired"),
  not_yet_valid: row("the message comes from the future"),
  htm_mismatch: row("htm is not POST"),
  bh_mismatch: row("bh is not the hash of the body"),
  mtd_malformed: row("mtd is not a method name"),
  jti_malformed: row("jti is not a string of 16 to 64 characters"),
  replayed: row("the message was seen before", "replayed_reply"),
  replay_store_unavailable: row("the replay store failed", "bad_signature", "ERR_OVERLOADED"),
  mtd_mismatch: row("mtd is not the method of the body"),
  rid_mismatch: row("rid is not the request that was sent", "replayed_reply"),
  rqh_mismatch: row("rqh is not the hash of the request that was sent", "replayed_reply"),
  sts_mismatch: row("sts is not the HTTP status"),
  approval_act_mismatch: row("act is not the call that is held"),
  approval_dec_mismatch: row("dec is not what the reply says"),
  approval_sub_malformed: row("sub is not a name"),
  webhook_id_malformed: row("webhook-id is malformed"),
  webhook_timestamp_malformed: row("webhook-timestamp is malformed"),
  webhook_id_mismatch: row("webhook-id is not the request that was sent", "replayed_reply"),
  webhook_reflected: row("the reply is the request sent back", "replayed_reply"),
};

/** Every {@link VerificationReason}, in the order of the checks. */
export const verificationReasons: readonly VerificationReason[] = Object.freeze(
  Object.keys(ROWS).filter((name): name is VerificationReason => Object.hasOwn(ROWS, name)),
);

const PRINTABLE_KID = /^[A-Za-z0-9_-]{1,64}$/;

/** Options of {@link VerificationError}. */
export interface VerificationErrorOptions {
  /** The key id the refused token named. Kept only if it is 1 to 64 base64url characters, so that it is safe to log. */
  readonly kid?: string | undefined;
  /** The failure of a store or a key source underneath; never anything of the message. */
  readonly cause?: unknown;
}

/** A signed message that was refused. `reason` and `kid` are all that may be logged of it, and all there is. */
export class VerificationError extends HookgateError {
  readonly reason: VerificationReason;
  readonly kid: string | undefined;

  constructor(reason: VerificationReason, options: VerificationErrorOptions = {}) {
    const { code, text } = ROWS[reason];
    super(code, text, "cause" in options ? { cause: options.cause } : undefined);
    this.reason = reason;
    this.kid = options.kid !== undefined && PRINTABLE_KID.test(options.kid) ? options.kid : undefined;
  }
}

/** Whether a value is a {@link VerificationError}, also one made by another copy of this package. */
export function isVerificationError(value: unknown): value is VerificationError {
  return (
    isHookgateError(value) && "reason" in value && typeof value.reason === "string" && Object.hasOwn(ROWS, value.reason)
  );
}

/** The no-verdict kind of a hook call whose reply was refused for this reason. */
export function toNoVerdictKind(reason: VerificationReason): NoVerdictKind {
  return ROWS[reason].kind;
}
