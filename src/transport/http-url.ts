import { toAddressScope } from "./ip-address.ts";

/** Options of {@link parseHookUrl}. */
export interface HookUrlOptions {
  /**
   * Whether http may leave this machine. The threat: whoever is on the way reads every prompt and can answer in the
   * hook's place. @default false
   */
  readonly allowInsecure?: boolean | undefined;
  /**
   * Whether addresses of private networks, loopback included, may be called. False for URLs that come from strangers:
   * they would reach what only this machine can reach. @default true
   */
  readonly allowPrivate?: boolean | undefined;
  /** Whether the host may be an IP address. False where the address cannot be checked when connecting. @default true */
  readonly allowAddress?: boolean | undefined;
}

/** A hook's URL that keeps the rules. */
export interface HookUrl {
  /** As it is called: without a fragment. */
  readonly href: string;
  /** Whether it leads to this machine by name; the guard checks where it really leads. */
  readonly isLoopback: boolean;
}

/**
 * Checks the URL of a hook: https, or http on a loopback address, no credentials, no link-local or metadata address.
 * A name is checked again, by the address it resolves to, when connecting.
 * @throws {TypeError} naming the rule, never the URL: it may hold a secret
 */
export function parseHookUrl(value: string, options: HookUrlOptions = {}): HookUrl {
  const { allowInsecure = false, allowPrivate = true, allowAddress = true } = options;
  const url = URL.parse(value);
  if (url === null) throw new TypeError("url must be an absolute URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new TypeError("url must be https or http");
  if (url.username !== "" || url.password !== "") throw new TypeError("url must not hold credentials");
  const host = url.hostname.replace(/\.$/, "");
  const scope = toAddressScope(host);
  if (scope !== undefined && !allowAddress) throw new TypeError("url must have a name, not an IP address, as its host");
  if (scope === "forbidden") throw new TypeError("url must not be a link-local or cloud metadata address");
  const isLoopback = scope === "loopback" || host === "localhost" || host.endsWith(".localhost");
  if (!allowPrivate && (isLoopback || scope === "private")) {
    throw new TypeError("url must not be a private address");
  }
  if (url.protocol === "http:" && !isLoopback && !allowInsecure) {
    throw new TypeError("url must be https, or http on a loopback address");
  }
  url.hash = "";
  return { href: url.href, isLoopback };
}
