/** Options of {@link parseGatewayUrl}. */
export interface GatewayUrlOptions {
  /** Whether plain http to another machine is allowed. */
  readonly allowInsecure: boolean;
}

/**
 * Reads a gateway's URL; one without a path means its `/rpc`.
 * @throws {TypeError} when it is not http or https, holds credentials, or is plain http to another machine
 */
export function parseGatewayUrl(text: string, { allowInsecure }: GatewayUrlOptions): string {
  if (!URL.canParse(text)) throw new TypeError("url: expected an absolute URL such as http://127.0.0.1:8787");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`url: expected http or https, got "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== "" || url.password !== "") throw new TypeError("url: must not hold credentials; use `token`");
  if (url.protocol === "http:" && !allowInsecure && !isLoopback(url.hostname)) {
    throw new TypeError(
      `url: plain http to "${url.hostname}" needs allowInsecure: true; anyone on the way could decide`,
    );
  }
  if (url.pathname === "/") url.pathname = "/rpc";
  url.hash = "";
  return url.href;
}

/** Where a gateway's paths begin, of the URL that {@link parseGatewayUrl} gives. */
export function toApiBase(url: string): string {
  return url.replace(/\/(?:rpc)?\/?(?:\?.*)?$/, "");
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
