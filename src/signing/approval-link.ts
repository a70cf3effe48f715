import { toAsciiJson } from "./base64url.ts";
import type { CryptoPort } from "./crypto.ts";
import { createKeySet } from "./key-set.ts";
import { createSecretKey, type SecretKey } from "./keys.ts";
import type { ReplayStore } from "./replay.ts";
import { checkParty, CLOCK_SKEW_SECONDS, type TokenRules, verifyToken } from "./token.ts";
import { createUuidV7 } from "./uuid.ts";
import { VerificationError } from "./verification-error.ts";

/** The most seconds a link may be good for: thirty days, as long as an approval can wait. */
export const MAX_LINK_SECONDS = 2_592_000;

/** What a link lets its holder do: decide one approval, once, as one person. */
export interface ApprovalLink {
  readonly approval: string;
  /** Who decides with it. */
  readonly approver: string;
  /** Never used twice. */
  readonly jti: string;
  /** Seconds since the epoch. */
  readonly exp: number;
}

/** What {@link ApprovalLinks.sign} signs. */
export interface LinkToSign {
  /** The approval's id. */
  readonly approval: string;
  /** 1 to 300 characters. */
  readonly approver: string;
  /** Until when it is good, in milliseconds since the epoch; cut to {@link MAX_LINK_SECONDS} from now. */
  readonly expiresAtMs: number;
}

/** Signs links and verifies them. A link is a bearer's: who has it decides as the one it names. */
export interface ApprovalLinks {
  /** @returns the token that the link carries, of letters, digits, `-`, `_` and `.` */
  sign(link: LinkToSign): Promise<string>;
  /**
   * Verifies a token. Nothing is used up: whoever looks at a link, a preview among them, must not spend it.
   * @throws {VerificationError} with the first rule that is broken
   */
  verify(token: string): Promise<ApprovalLink>;
  /**
   * Uses a verified link up, in one atomic step.
   * @throws {VerificationError} `replayed` when it was used, `replay_store_unavailable` when the store cannot tell
   */
  use(link: ApprovalLink): Promise<void>;
}

/** Options of {@link createApprovalLinks}. */
export interface ApprovalLinksOptions {
  /** At least 32 random bytes, the gateway's alone. Who has it can decide as anybody. */
  readonly secret: string | Uint8Array;
  /** The gateway's id, 1 to 1024 characters. */
  readonly issuer: string;
  /** Shared by every process that answers for the gateway. */
  readonly used: ReplayStore;
  /** @default WebCrypto */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const TYP = "hook-approval-link+jwt";

/**
 * Makes what signs links and verifies them.
 * @throws {RangeError} when the secret is shorter than 32 bytes
 * @throws {TypeError} when `issuer` is not a string of 1 to 1024 characters
 * @see docs/approvals.md
 */
export async function createApprovalLinks(options: ApprovalLinksOptions): Promise<ApprovalLinks> {
  const { used, now = Date.now } = options;
  const issuer = checkParty("issuer", options.issuer);
  const key = await createSecretKey(options.secret, { crypto: options.crypto });
  const signClaims = key.prepare({ typ: TYP });
  const rules = toRules(key, issuer, now);
  return Object.freeze({
    async sign({ approval, approver, expiresAtMs }: LinkToSign): Promise<string> {
      const nowMs = now();
      const iat = Math.floor(nowMs / 1000);
      const exp = Math.min(Math.floor(expiresAtMs / 1000), iat + MAX_LINK_SECONDS);
      const jti = createUuidV7(nowMs);
      return signClaims(toAsciiJson({ iss: issuer, aud: issuer, iat, exp, jti, apr: approval, sub: approver }));
    },
    async verify(token: string): Promise<ApprovalLink> {
      const { claims, exp, kid } = await verifyToken(token, rules);
      const { jti, apr, sub } = claims;
      if (typeof jti !== "string" || jti.length < 16 || jti.length > 64) {
        throw new VerificationError("jti_malformed", { kid });
      }
      if (typeof apr !== "string" || typeof sub !== "string" || sub === "") {
        throw new VerificationError("claims_malformed", { kid });
      }
      return { approval: apr, approver: sub, jti, exp };
    },
    async use({ jti, exp }: ApprovalLink): Promise<void> {
      let isNew: boolean;
      try {
        isNew = await used.insert(`link|${issuer}|${jti}`, (exp + CLOCK_SKEW_SECONDS) * 1000);
      } catch (cause) {
        throw new VerificationError("replay_store_unavailable", { cause });
      }
      if (!isNew) throw new VerificationError("replayed");
    },
  });
}

function toRules(key: SecretKey, issuer: string, now: () => number): TokenRules {
  return {
    typ: TYP,
    keys: createKeySet([key]),
    issuer,
    audience: issuer,
    maxLifetimeSeconds: MAX_LINK_SECONDS,
    now,
  };
}
