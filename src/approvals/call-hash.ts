import { toCanonicalJson } from "../records/canonical.ts";
import { toBase64Url } from "../signing/base64url.ts";
import { type CryptoPort, webCrypto } from "../signing/crypto.ts";

/** What an approval is bound to: who runs which tool with what. */
export interface BoundCall {
  /** The `AgentID` of the call's meta. */
  readonly agent: string;
  /** The `SessionKey` of the call's meta. */
  readonly session: string;
  readonly tool: string;
  /** As the tool will be given them. Absent is the same as empty. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Base64url of the SHA-256 of the canonical JSON of a call's arguments, as a signed approval names them.
 * @param port - `@default` WebCrypto
 */
export async function toArgumentsHash(
  given: Readonly<Record<string, unknown>>,
  port: Pick<CryptoPort, "digest"> = webCrypto,
): Promise<string> {
  return toBase64Url(await port.digest(encoder.encode(toCanonicalJson(given))));
}

const encoder = new TextEncoder();

/**
 * SHA-256, in hex, of the canonical JSON of a call's agent, session, tool and arguments. Two calls that differ in any of
 * these have different hashes, so what was approved for one cannot be used for the other.
 * @param port - `@default` WebCrypto
 */
export async function toCallHash(call: BoundCall, port: Pick<CryptoPort, "digest"> = webCrypto): Promise<string> {
  const { agent, session, tool, arguments: given = {} } = call;
  const bytes = await port.digest(encoder.encode(toCanonicalJson({ agent, session, tool, arguments: given })));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
