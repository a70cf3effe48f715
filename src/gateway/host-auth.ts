import { type Log, silentLog } from "../log.ts";
import { type BearerVerifier, MAX_BEARER_LENGTH } from "../signing/bearer.ts";
import { readUnverifiedIssuer } from "../signing/jws.ts";
import type { ReplySigner } from "../signing/reply.ts";
import { type RequestVerifier, verifyMethod } from "../signing/request.ts";
import { SIGNATURE_HEADER } from "../signing/token.ts";
import { isVerificationError } from "../signing/verification-error.ts";
import type { Refusal } from "./answer.ts";
import type { Authenticator, Principal, Scope } from "./auth.ts";

/** An issuer whose JWTs let hosts in. */
export interface JwtIssuer {
  /** Shown in logs, before the host's own name. */
  readonly name: string;
  /** The `iss` of its tokens. */
  readonly issuer: string;
  readonly verifier: BearerVerifier;
  /** The claim that names the host. @default "sub" */
  readonly nameClaim?: string | undefined;
  /** The claim that `scopeMap` reads: words separated by spaces, or a list of words. @default "scope" */
  readonly scopeClaim?: string | undefined;
  /** Which scopes a word stands for. Words that are not in it stand for nothing. @default none */
  readonly scopeMap?: Readonly<Record<string, readonly Scope[]>> | undefined;
  /** What a host may do for which `scopeMap` finds nothing. @default nothing */
  readonly scopes?: readonly Scope[] | undefined;
}

/** Options of the authenticators of hosts. */
export interface HostAuthOptions {
  /** Hears of what was refused: of a token only the reason and the key id. @default a log that keeps nothing */
  readonly log?: Log | undefined;
}

const BEARER = /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i;
const MAX_NAME_CHARS = 200;
const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

/**
 * Knows hosts by JWTs, sent as bearer tokens. The issuer a token names chooses which keys and rules it must pass, and
 * nothing else.
 * @throws {TypeError} when two issuers are the same
 */
export function createJwtAuthenticator(
  issuers: readonly JwtIssuer[],
  { log = silentLog }: HostAuthOptions = {},
): Authenticator {
  const known = byIssuer(issuers);
  return async ({ headers }) => {
    const token = BEARER.exec(headers.get("authorization") ?? "")?.[1];
    if (token === undefined || token.length > MAX_BEARER_LENGTH) return undefined;
    const issuer = known.get(readUnverifiedIssuer(token) ?? "");
    if (issuer === undefined) return undefined;
    try {
      const { claims } = await issuer.verifier.verify(token);
      return toPrincipal(claims, issuer);
    } catch (error) {
      return toRefusal(error, { log, caller: issuer.name });
    }
  };
}

function byIssuer<T extends { readonly issuer: string }>(entries: readonly T[]): ReadonlyMap<string, T> {
  const known = new Map(entries.map((entry) => [entry.issuer, entry]));
  if (known.size !== entries.length) throw new TypeError("issuers must be distinct, got one twice");
  return known;
}

type Claims = Readonly<Record<string, unknown>>;

function toPrincipal(claims: Claims, issuer: JwtIssuer): Principal {
  const { name, nameClaim = "sub", scopeClaim = "scope", scopeMap = {}, scopes = [] } = issuer;
  const own = claims[nameClaim];
  const mapped = toWords(claims[scopeClaim]).flatMap((word) =>
    Object.hasOwn(scopeMap, word) ? (scopeMap[word] ?? []) : [],
  );
  return {
    name: typeof own === "string" ? `${name}/${own.replace(CONTROL, " ")}`.slice(0, MAX_NAME_CHARS) : name,
    scopes: new Set(mapped.length > 0 ? mapped : scopes),
  };
}

function toWords(claim: unknown): readonly string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((word) => typeof word === "string") : [];
}

/** A host that signs each of its requests. */
export interface SigningHost {
  /** Shown in logs. */
  readonly name: string;
  /** The `iss` of its requests. */
  readonly issuer: string;
  readonly verifier: RequestVerifier;
  /**
   * What signs the answer to a request that this key signed: that key itself, where it is a shared secret. A host that
   * rotates its secret knows no newer one yet. @default answers are not signed
   */
  readonly signerFor?: ((kid: string) => ReplySigner | undefined) | undefined;
  readonly scopes: readonly Scope[];
}

/**
 * Knows hosts by the signature of the request, and signs what they are answered: a gateway is then a hook of another, and
 * may approve tools for it. The issuer a signature names chooses which keys it must pass, and nothing else.
 * @throws {TypeError} when two hosts have the same issuer
 * @see docs/protocol.md, "Signatures"
 */
export function createSignatureAuthenticator(
  hosts: readonly SigningHost[],
  { log = silentLog }: HostAuthOptions = {},
): Authenticator {
  const known = byIssuer(hosts);
  return async (asked) => {
    const { method, headers } = asked;
    const signature = headers.get(SIGNATURE_HEADER);
    const host = signature === null ? undefined : known.get(readUnverifiedIssuer(signature) ?? "");
    if (host === undefined) return undefined;
    const body = await asked.readBody();
    if (!(body instanceof Uint8Array)) return body;
    try {
      const contentType = headers.get("content-type");
      const request = await host.verifier.verify({ method, contentType, signature, body });
      const signer = host.signerFor?.(request.kid);
      const proof = {
        checkMessage: (message: unknown): void => verifyMethod(request, message),
        sign: async (reply: { readonly status: number; readonly body: string }) =>
          signer === undefined ? {} : { [SIGNATURE_HEADER]: await signer.sign({ ...reply, request }) },
      };
      return { name: host.name, scopes: new Set(host.scopes), proof };
    } catch (error) {
      return toRefusal(error, { log, caller: host.name });
    }
  };
}

/**
 * What a host is told of credentials that are of a known kind and not good: the rule that is broken.
 * @throws what is no {@link VerificationError}
 */
export function toRefusal(error: unknown, { log, caller }: { readonly log: Log; readonly caller: string }): Refusal {
  if (!isVerificationError(error)) throw error;
  const { code, message, reason, kid } = error;
  log.warn("a host's credentials were refused", { caller, reason, kid });
  return { code, message, reason };
}
