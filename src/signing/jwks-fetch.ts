import { HookgateError } from "../errors.ts";

/** The host's fetch, as far as it is used. */
export type JwksFetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of {@link fetchJwks}. */
export interface FetchJwksOptions {
  readonly url: string;
  readonly fetch: JwksFetch;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function parseUrl(option: string, value: string): URL {
  const url = URL.parse(value);
  if (url === null) throw new TypeError(`${option} must be an absolute URL`);
  if (url.username !== "" || url.password !== "") throw new TypeError(`${option} must not hold credentials`);
  return url;
}

/**
 * Checks where a JWK Set may be fetched from.
 * @param sameOriginAs - The endpoint's URL, where the set must have its origin.
 * @throws {TypeError} when a URL is not absolute or holds credentials, when the set's is neither https nor http on a
 * loopback address, or when the origins differ
 */
export function parseJwksUrl(value: string, sameOriginAs?: string): string {
  const url = parseUrl("url", value);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && LOOPBACK.test(url.hostname))) {
    throw new TypeError(`url must be https, or http on a loopback address, got ${url.protocol}`);
  }
  if (sameOriginAs !== undefined && parseUrl("sameOriginAs", sameOriginAs).origin !== url.origin) {
    throw new TypeError(`url must have the origin of the endpoint, got ${url.origin}`);
  }
  return url.href;
}

function failed(what: string, cause?: unknown): HookgateError {
  return new HookgateError("ERR_CONFIG", `cannot fetch the JWK Set: ${what}`, { cause });
}

async function readBytes(response: Response, maxBodyBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let step = await reader?.read(); step?.done === false; step = await reader?.read()) {
    const chunk: Uint8Array = step.value;
    length += chunk.length;
    if (length > maxBodyBytes) {
      await reader?.cancel();
      throw failed(`it is longer than ${maxBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

async function request(options: FetchJwksOptions, signal: AbortSignal): Promise<string> {
  // "manual", since Workers throw on "error"; a redirect is then any status but 200.
  const response = await options.fetch(options.url, {
    redirect: "manual",
    headers: { accept: "application/json, application/jwk-set+json" },
    signal,
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw failed(`status ${response.status}`);
  }
  return new TextDecoder().decode(await readBytes(response, options.maxBodyBytes));
}

/**
 * Fetches a JWK Set once, without following redirects.
 * @param parse - Reads the document, and throws `ERR_CONFIG` when it is none.
 * @throws {HookgateError} `ERR_CONFIG` when the URL does not answer with status 200 and a JWK Set, in time and size
 * @see {@link https://www.rfc-editor.org/rfc/rfc7517#section-5}
 */
export async function fetchJwks<T>(options: FetchJwksOptions, parse: (text: string) => T): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The timer settles it, also where the host's fetch does not heed its signal.
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = failed(`no answer in ${options.timeoutMs} ms`);
      reject(error);
      controller.abort(error);
    }, options.timeoutMs);
  });
  try {
    return parse(await Promise.race([request(options, controller.signal), deadline]));
  } catch (error) {
    if (error instanceof HookgateError) throw error;
    throw failed("the request failed", error);
  } finally {
    clearTimeout(timer);
  }
}
