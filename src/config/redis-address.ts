/** Where a Redis or Valkey server is, and what is its own there. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** What every key and channel begins with. */
  readonly prefix: string;
}

const DEFAULT_PORT = 6379;
const FORM = "redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]";

/**
 * Reads `redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]`; `rediss` is TLS. Gateways that share a server
 * and not their approvals have a prefix each: letters, digits, `_`, `-` and `.`, up to 64. Its default is `hookgate`.
 * @throws {TypeError} when it is not such a URL; the message does not repeat it, for it may hold a password
 * @see https://www.iana.org/assignments/uri-schemes/prov/redis
 */
export function parseRedisAddress(text: string): RedisAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === "" || url.hash !== "") {
    throw wrong("it is no such URL");
  }
  const { pathname, searchParams } = url;
  const [, database] = /^\/?(\d{1,5})?$/.exec(pathname) ?? [undefined, "none"];
  if (database === "none") throw wrong("DATABASE is not a number");
  const prefix = searchParams.get("prefix") ?? "hookgate";
  if (!/^[\w.-]{1,64}$/.test(prefix)) throw wrong("NAME is 1 to 64 letters, digits, _, - and .");
  if ([...searchParams.keys()].some((key) => key !== "prefix")) throw wrong("it has another parameter than prefix");
  return {
    // A literal of IPv6 stands in brackets in a URL, and in no other place.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    isTls: url.protocol === "rediss:",
    username: url.username === "" ? undefined : decode(url.username),
    password: url.password === "" ? undefined : decode(url.password),
    database: Number(database ?? 0),
    prefix,
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong("USER or PASSWORD has a % that is not written as %25");
  }
}

function wrong(why: string): TypeError {
  return new TypeError(`the URL of the Redis store: expected ${FORM}; ${why}`);
}
