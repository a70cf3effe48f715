import { HookgateError } from "../errors.ts";
import type { Log } from "../log.ts";
import { createGreeting, type HookGreeting } from "../picoclaw/index.ts";
import type { Transport } from "../transport/contract.ts";
import { createHttpTransport } from "../transport/http.ts";
import type { MessageSignature } from "../transport/signature.ts";
import type { GatewayConfig } from "./gateway-schema.ts";
import type { HookConnection, HookPorts } from "./ports.ts";
import type { HttpConfig, ServiceConfig } from "./process-schema.ts";
import { createHookSignature } from "./signature.ts";

/** What a hook that is called over HTTP is opened with, beside its entry. */
export interface OpenRemoteOptions extends HookPorts {
  /** The hook's name. */
  readonly name: string;
  readonly gateway: Pick<GatewayConfig, "id" | "signing_key">;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Whether an endpoint that has the secret may have any name. @default false */
  readonly takesAnyName?: boolean | undefined;
}

/** A hook that is called over HTTP, before anything is sent. */
export interface RemoteHook {
  readonly connection: HookConnection;
  /** Absent: it is unsigned. */
  readonly signature: MessageSignature | undefined;
  /** Absent: it is not greeted. */
  readonly greeting: HookGreeting | undefined;
}

/**
 * Makes the parts of a hook that is called over HTTP. Nothing is sent.
 * @throws {HookgateError} `ERR_CONFIG` when this runtime has no way to it, or a key is not valid
 */
export async function createRemoteHook(
  entry: HttpConfig | ServiceConfig,
  options: OpenRemoteOptions,
): Promise<RemoteHook> {
  const { name } = options;
  const connection = connect(entry, options);
  try {
    const signature = await createHookSignature(entry, { ...options, fetch: connection.fetch });
    return { connection, signature, greeting: greetingOf(name, entry) };
  } catch (error) {
    await connection.exchange.close();
    throw error;
  }
}

function greetingOf(name: string, entry: HttpConfig | ServiceConfig): HookGreeting | undefined {
  const { intercept, observe, dialect } = entry;
  if (entry.handshake === "none") return undefined;
  return createGreeting({
    name,
    points: new Set(intercept),
    observes: observe.length > 0,
    dialect,
    transport: "http",
  });
}

function connect(entry: HttpConfig | ServiceConfig, { connect: open, bind }: HookPorts): HookConnection {
  if (entry.transport === "service") {
    const bound = bind?.(entry.binding);
    if (bound !== undefined) return bound;
    throw new HookgateError("ERR_CONFIG", `there is no service binding "${entry.binding}"`);
  }
  if (open === undefined) throw new HookgateError("ERR_CONFIG", "this runtime cannot connect to URLs");
  return open({
    allowPrivate: entry.allow_private,
    allowInsecure: entry.allow_insecure,
    maxConnections: entry.max_concurrency,
  });
}

/**
 * Opens the transport to a hook that is called over HTTP. Nothing is sent before it is asked for.
 * @throws {HookgateError} `ERR_CONFIG` when this runtime has no way to it, or a key is not valid
 */
export async function openRemote(entry: HttpConfig | ServiceConfig, options: OpenRemoteOptions): Promise<Transport> {
  const { name, log, now, platform, allowAddress } = options;
  const { connection, signature, greeting } = await createRemoteHook(entry, options);
  const isService = entry.transport === "service";
  try {
    return createHttpTransport({
      now,
      ...platform,
      name,
      log,
      url: entry.url,
      exchange: connection.exchange,
      signature,
      greeting,
      unsigned: entry.unsigned,
      isBinding: isService,
      // Nothing is looked up or connected to behind a binding.
      allowAddress: isService ? true : allowAddress,
      allowInsecure: isService || entry.allow_insecure,
      allowPrivate: isService || entry.allow_private,
      headers: entry.headers,
      maxRetries: entry.retry,
      maxConcurrency: entry.max_concurrency,
      maxMessageBytes: entry.max_message_bytes,
    });
  } catch (error) {
    await connection.exchange.close();
    throw error;
  }
}
