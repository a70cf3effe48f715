import { isObject } from "../is-object.ts";
import { toAsciiJson } from "./base64url.ts";
import type { MaybePromise } from "./crypto.ts";
import type { KeySet } from "./key-set.ts";
import type { SigningKey } from "./keys.ts";
import type { ReplayStore } from "./replay.ts";
import { checkParty, CLOCK_SKEW_SECONDS, type TokenRules, type VerifiedToken, verifyToken } from "./token.ts";
import { VerificationError } from "./verification-error.ts";

/** Seconds an approval that was signed is valid: it may lie in a queue on its way. */
const APPROVAL_LIFETIME_SECONDS = 300;

/** The most seconds a peer's signed approval may be valid. */
export const MAX_APPROVAL_LIFETIME_SECONDS = 3600;

/** What a signed approval is about. The hashes are base64url of SHA-256. */
export interface ApprovedAct {
  readonly tool: string;
  /** Of the canonical JSON of the arguments. */
  readonly ah: string;
  /** Of the canonical JSON of agent, session, tool and arguments, in hex. A token without it fits any session. */
  readonly call?: string | undefined;
}

/**
 * The claims of a person's decision, signed by the service that took it: it says the same whoever carries it.
 * @see docs/approvals.md, "Signed approvals"
 */
export interface ApprovalClaims {
  /** Who took the decision: the approval service, or a gateway. */
  readonly iss: string;
  /** The gateway it is for. */
  readonly aud: string;
  /** Seconds since the epoch. */
  readonly iat: number;
  /** Seconds since the epoch; at most 3600 after `iat`. */
  readonly exp: number;
  /** The approval's id; with more behind a dot where it holds for several uses. 16 to 64 characters, never used twice. */
  readonly jti: string;
  /** The person. */
  readonly sub: string;
  readonly act: ApprovedAct;
  readonly dec: "allow" | "deny";
  readonly scope: string;
}

/** A decision to sign. */
export type ApprovalToSign = Pick<ApprovalClaims, "jti" | "sub" | "act" | "dec" | "scope">;

/** Signs decisions for one gateway; what comes is a compact JWS of type `hook-approval+jwt`. */
export interface ApprovalSigner {
  sign(approval: ApprovalToSign): MaybePromise<string>;
}

/** Options of {@link createApprovalSigner}. */
export interface ApprovalSignerOptions {
  readonly key: SigningKey;
  /** Who takes decisions, 1 to 1024 characters. */
  readonly issuer: string;
  /** The id of the gateway that they are for, 1 to 1024 characters. */
  readonly audience: string;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

/**
 * Makes a signer of decisions.
 * @throws {TypeError} when `issuer` or `audience` is not a string of 1 to 1024 characters
 */
export function createApprovalSigner({ key, now = Date.now, ...parties }: ApprovalSignerOptions): ApprovalSigner {
  const iss = checkParty("issuer", parties.issuer);
  const aud = checkParty("audience", parties.audience);
  const signClaims = key.prepare({ typ: "hook-approval+jwt" });
  return Object.freeze({
    sign({ jti, sub, act, dec, scope }: ApprovalToSign): MaybePromise<string> {
      const iat = Math.floor(now() / 1000);
      return signClaims(
        toAsciiJson({ iss, aud, iat, exp: iat + APPROVAL_LIFETIME_SECONDS, jti, sub, act, dec, scope }),
      );
    },
  });
}

/** Verifies the decisions of one approval service. */
export interface ApprovalVerifier {
  /**
   * Verifies a decision against the call that is held, and uses it up.
   * @throws {VerificationError} with the first rule that is broken: those of every token, then `approval_act_mismatch`,
   * `approval_dec_mismatch`, `approval_sub_malformed`, `jti_malformed`, `replayed`, `replay_store_unavailable`
   */
  verify(token: string, held: HeldAct): Promise<ApprovalClaims>;
}

/** The call a gateway holds, from which it has worked out the hashes itself, and what it is told of it. */
export interface HeldAct extends ApprovedAct {
  readonly call: string;
  readonly dec: "allow" | "deny";
}

/** Options of {@link createApprovalVerifier}. */
export interface ApprovalVerifierOptions {
  /** The approval service's keys. */
  readonly keys: KeySet;
  /** Who takes decisions. */
  readonly issuer: string;
  /** This gateway's id. */
  readonly audience: string;
  /** Shared by every process that answers for this gateway, and not forgotten when one ends. */
  readonly replay: ReplayStore;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

/**
 * Makes a verifier of decisions.
 * @throws {TypeError} when `issuer` or `audience` is not a string of 1 to 1024 characters
 */
export function createApprovalVerifier(options: ApprovalVerifierOptions): ApprovalVerifier {
  const { keys, replay, now = Date.now } = options;
  const rules: TokenRules = {
    typ: "hook-approval+jwt",
    keys,
    issuer: checkParty("issuer", options.issuer),
    audience: checkParty("audience", options.audience),
    now,
    maxLifetimeSeconds: MAX_APPROVAL_LIFETIME_SECONDS,
  };
  return Object.freeze({
    async verify(token: string, held: HeldAct): Promise<ApprovalClaims> {
      const claims = readClaims(await verifyToken(token, rules), held);
      await useOnce(replay, claims);
      return claims;
    },
  });
}

function readClaims({ claims, iat, exp, kid }: VerifiedToken, held: HeldAct): ApprovalClaims {
  const { iss, aud, jti, sub, act, dec, scope } = claims;
  const fits = isObject(act) && act["tool"] === held.tool && act["ah"] === held.ah;
  // One that names its call is for no other, even of the same tool and arguments.
  if (!fits || (act["call"] !== undefined && act["call"] !== held.call)) {
    throw new VerificationError("approval_act_mismatch", { kid });
  }
  if (dec !== held.dec) throw new VerificationError("approval_dec_mismatch", { kid });
  if (typeof sub !== "string" || sub === "") throw new VerificationError("approval_sub_malformed", { kid });
  if (typeof jti !== "string" || jti.length < 16 || jti.length > 64) {
    throw new VerificationError("jti_malformed", { kid });
  }
  const said = { jti, sub, act: { tool: held.tool, ah: held.ah }, dec: held.dec };
  return { iss: String(iss), aud: String(aud), iat, exp, ...said, scope: typeof scope === "string" ? scope : "once" };
}

async function useOnce(store: ReplayStore, { iss, jti, exp }: ApprovalClaims): Promise<void> {
  let isNew: boolean;
  try {
    isNew = await store.insert(`approval|${iss}|${jti}`, (exp + CLOCK_SKEW_SECONDS) * 1000);
  } catch (cause) {
    throw new VerificationError("replay_store_unavailable", { cause });
  }
  if (!isNew) throw new VerificationError("replayed");
}
