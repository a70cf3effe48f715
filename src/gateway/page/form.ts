import { decodeUtf8, RequestBody } from "../body.ts";
import type { PeerInfo } from "../origin.ts";

/** Options of {@link readForm}. */
export interface ReadFormOptions {
  readonly info: PeerInfo;
  /** The longest body that is read, in bytes. */
  readonly maxBytes: number;
}

const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** Reads a form as a browser sends it. @returns undefined when it is none, is too long or is not UTF-8 */
export async function readForm(
  request: Request,
  { info, maxBytes }: ReadFormOptions,
): Promise<URLSearchParams | undefined> {
  if (!FORM_TYPE.test(request.headers.get("content-type") ?? "")) return undefined;
  const bytes = await new RequestBody(request, info, maxBytes).bytes();
  const text = bytes instanceof Uint8Array ? decodeUtf8(bytes) : undefined;
  return text === undefined ? undefined : new URLSearchParams(text);
}
