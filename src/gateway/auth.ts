import { toBase64Url } from "../signing/base64url.ts";
import { andThen, type CryptoPort, isEqualText, toHashText, webCrypto } from "../signing/crypto.ts";
import type { Refusal } from "./answer.ts";

/**
 * What a token may do. `call`: ask hooks and emit events. `observe`: emit events and read `/v1/hooks`. `admin`: read
 * `/v1/hooks`, and `POST /v1/reload`. `approve` and `register` are for routes of their own. No scope includes another.
 */
export type Scope = "call" | "observe" | "admin" | "approve" | "register";

const SCOPES: readonly string[] = ["call", "observe", "admin", "approve", "register"] satisfies readonly Scope[];

/** Who asks, and what they may do. */
export interface Principal {
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /**
   * Whom it may name as the one who decides an approval; `"anyone"` for everybody. @default itself alone
   */
  readonly speaksFor?: readonly string[] | "anyone" | undefined;
  /** Where the request itself was signed. */
  readonly proof?: RequestProof | undefined;
}

/** Proof that one request is its sender's, to be kept to and answered in kind. */
export interface RequestProof {
  /**
   * Checks that the parsed body is what was signed.
   * @throws {VerificationError} `mtd_mismatch`
   */
  checkMessage(message: unknown): void;
  /** The headers that sign the reply; its body is sent in UTF-8. */
  sign(reply: { readonly status: number; readonly body: string }): Promise<Readonly<Record<string, string>>>;
}

/** What an authenticator sees of a request. */
export interface AuthRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** The body as it came, read once for everyone; a refusal when it is too large or ended early. */
  readBody(): Promise<Uint8Array | Refusal>;
}

/**
 * Knows who asks, or answers undefined when the credentials are not of its kind or not good. A refusal says that they are
 * of its kind and why they are not good; nobody else is asked then.
 */
export type Authenticator = (
  request: AuthRequest,
) => Principal | Refusal | undefined | Promise<Principal | Refusal | undefined>;

/** Whether an authenticator has refused. */
export function isRefusal(found: Principal | Refusal): found is Refusal {
  return "code" in found;
}

/** Whether one may do what any of these scopes allows. */
export function mayAny({ scopes }: Principal, wanted: readonly Scope[]): boolean {
  return wanted.some((scope) => scopes.has(scope));
}

/** A bearer token, of which only the hash is kept. */
export interface GatewayToken {
  /** Unique; shown in logs and records in the token's place. */
  readonly name: string;
  /** SHA-256 of the token, as 64 hex digits. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** Whom it may name as the one who decides an approval, or `"anyone"`. @default itself alone */
  readonly speaksFor?: readonly string[] | "anyone" | undefined;
}

/** Who asks where nobody needs to say so: the server is bound to loopback and every scope is theirs. */
export const ANONYMOUS: Principal = {
  name: "anonymous",
  scopes: new Set<Scope>(["call", "observe", "admin", "approve", "register"]),
};

interface KnownToken {
  readonly principal: Principal;
  /** As base64url. */
  readonly hash: string;
}

/**
 * Knows hosts by bearer token. Every token's hash is compared in full, so the time taken tells nothing about them.
 * @throws {TypeError} when a token's name, hash or scopes are not valid
 */
export function createTokenAuthenticator(tokens: readonly GatewayToken[], port: CryptoPort = webCrypto): Authenticator {
  const known = parseTokens(tokens);
  const find = (hash: string): Principal | undefined => {
    let found: Principal | undefined;
    for (const token of known) if (isEqualText(token.hash, hash)) found = token.principal;
    return found;
  };
  return ({ headers }) => {
    // Two headers reach us joined by a comma, which no token has.
    const token = /^bearer ([\w.~+/-]{1,4096}=*)$/i.exec(headers.get("authorization") ?? "")?.[1];
    return token === undefined ? undefined : andThen(toHashText(token, port), find);
  };
}

function parseTokens(tokens: readonly GatewayToken[]): readonly KnownToken[] {
  const seen = new Set<string>();
  return tokens.map(({ name, sha256, scopes, speaksFor }, index) => {
    const at = `auth.tokens[${index}]`;
    if (name === "") throw new TypeError(`${at}.name: must not be empty`);
    if (!/^[\da-f]{64}$/i.test(sha256)) throw new TypeError(`${at}.sha256: expected 64 hex digits`);
    for (const key of [`name ${name}`, `hash ${sha256.toLowerCase()}`]) {
      if (seen.has(key)) throw new TypeError(`${at}: another token has the same ${key.slice(0, 4)}`);
      seen.add(key);
    }
    const unknown = scopes.find((scope) => !SCOPES.includes(scope));
    if (scopes.length === 0 || unknown !== undefined) {
      throw new TypeError(`${at}.scopes: expected at least one of ${SCOPES.join(", ")}, got ${String(unknown)}`);
    }
    const may = { scopes: new Set(scopes), ...(speaksFor !== undefined && { speaksFor }) };
    return { principal: { name, ...may }, hash: toBase64Url(fromHex(sha256)) };
  });
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}
