import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { Agent, buildConnector } from "undici";
import { ExchangeError } from "../../src/transport/http-exchange.ts";
import { type AddressScope, toAddressScope } from "../../src/transport/ip-address.ts";
import { ConnectionAttempts } from "./connection-attempts.ts";

/** Resolves a name to all of its addresses. */
export type ResolveName = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Options of {@link createGuardedAgent}. */
export interface GuardedAgentOptions {
  /**
   * Whether addresses of private networks, loopback included, may be connected to. Link-local and cloud metadata
   * addresses are refused either way: they hand out the credentials of the machine. @default true
   */
  readonly allowPrivate?: boolean | undefined;
  /** Whether http may leave this machine. @default false */
  readonly allowInsecure?: boolean | undefined;
  /** @default the system's resolver */
  readonly resolveName?: ResolveName | undefined;
  /** Certificates, in PEM, that are trusted instead of the system's. @default the system's */
  readonly ca?: string | undefined;
  /** How many connections to one origin may be open; over HTTP/1.1 each carries one call at a time. @default 64 */
  readonly maxConnections?: number | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Servers close idle connections after 5 s by default: we do it first, so that no request is written to a dead one. */
const KEEP_ALIVE_MS = 4000;
const MAX_HEADER_BYTES = 16_384;

/** Errors that came while connecting: no byte of a request was written. */
const unsent = new WeakSet<object>();

/** Whether an error came before any byte of the request was written. */
export function isUnsent(error: unknown): boolean {
  return typeof error === "object" && error !== null && unsent.has(error);
}

/** An agent, and the connections it is making. */
export interface GuardedAgent {
  readonly agent: Agent;
  readonly attempts: ConnectionAttempts;
}

/**
 * Makes the agent that hooks are called with. Whatever a URL or a name says, it decides by the address that is connected
 * to: an IP address in the URL, every answer of the resolver, and the socket's own peer, for each of the first two is
 * bypassed in some case (the resolver is not asked about an IP address, and its answer is not what a proxy connects to).
 */
export function createGuardedAgent(options: GuardedAgentOptions = {}): GuardedAgent {
  const { allowPrivate = true, allowInsecure = false, resolveName = systemLookup, ca, maxConnections = 64 } = options;
  const forbids = (address: string, isInsecure: boolean): boolean =>
    isForbidden(toAddressScope(address), { allowPrivate, isInsecure: isInsecure && !allowInsecure });
  const connectors = {
    "http:": createConnector(
      toLookup(resolveName, (address) => forbids(address, true)),
      ca,
    ),
    "https:": createConnector(
      toLookup(resolveName, (address) => forbids(address, false)),
      ca,
    ),
  };
  const attempts = new ConnectionAttempts();
  const agent = new Agent({
    connect(target, callback) {
      const isInsecure = target.protocol !== "https:";
      if (isIP(target.hostname) !== 0 && forbids(target.hostname, isInsecure)) {
        queueMicrotask(() => callback(mark(forbidden()), null));
        return;
      }
      const origin = `${target.protocol}//${target.host ?? ""}`;
      const attempt = connectors[isInsecure ? "http:" : "https:"](target, (error, socket) => {
        if (attempt) attempts.end(origin, attempt);
        if (error !== null) callback(mark(error), null);
        else if (!forbids(socket.remoteAddress ?? "", isInsecure)) callback(null, socket);
        else {
          socket.destroy();
          callback(mark(forbidden()), null);
        }
      });
      if (attempt) attempts.begin(origin, attempt);
      // The agent wants it too, so that an abort while connecting ends the attempt.
      return attempt;
    },
    connections: maxConnections,
    // One request at a time on a connection, and HTTP/1.1: measured faster than HTTP/2, and nobody waits behind another.
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // Their timers fire late or never; the signal of the call covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { agent, attempts };
}

function createConnector(
  lookup: LookupFunction,
  ca: string | undefined,
): (...args: Parameters<buildConnector.connector>) => Socket | void {
  return buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    lookup,
    ...(ca === undefined ? {} : { ca }),
  });
}

function isForbidden(
  scope: AddressScope | undefined,
  { allowPrivate, isInsecure }: { readonly allowPrivate: boolean; readonly isInsecure: boolean },
): boolean {
  if (scope === undefined || scope === "forbidden") return true;
  if (isInsecure && scope !== "loopback") return true;
  return !allowPrivate && scope !== "public";
}

/** A resolver that refuses a name when any of its addresses is forbidden: a mixed answer is an attack. */
function toLookup(resolveName: ResolveName, forbids: (address: string) => boolean): LookupFunction {
  return (name, options, callback) => {
    resolveName(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, "", 0);
        return;
      }
      const [first] = addresses;
      if (first === undefined || addresses.some(({ address }) => forbids(address))) callback(forbidden(), "", 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function forbidden(): ExchangeError {
  return new ExchangeError("forbidden_address", { retry: "never" });
}

function mark(error: Error): Error {
  unsent.add(error);
  return error;
}
