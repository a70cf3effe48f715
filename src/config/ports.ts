import type { CryptoPort } from "../signing/crypto.ts";
import type { JwksFetch } from "../signing/jwks-fetch.ts";
import type { HttpExchange } from "../transport/http-exchange.ts";
import type { HttpPlatformOptions } from "../transport/http-options.ts";
import type { BodyHasher } from "../transport/signature.ts";
import type { Spawn } from "../transport/spawn.ts";

/** A process to run, as a config file says it. */
export interface HookCommand {
  /** The program and its arguments, at least one word. */
  readonly command: readonly string[];
  /** The directory it runs in. @default the current one */
  readonly cwd?: string;
  /** Variables on top of the host's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the program's name or the directory came from the environment: no message may say them. */
  readonly hasSecretName: boolean;
}

/** Makes the function that starts a hook's process; the host injects it. */
export type CreateSpawn = (command: HookCommand) => Spawn;

/** What a hook's connections may lead to. */
export interface ConnectOptions {
  /** Whether addresses of private networks, loopback included, may be connected to. */
  readonly allowPrivate: boolean;
  /** Whether http may leave this machine. */
  readonly allowInsecure: boolean;
  /** How many connections may be open. */
  readonly maxConnections: number;
}

/** The way to one hook over HTTP. */
export interface HookConnection {
  /** Carries calls. It belongs to who asked for it, and closing it closes the connection. */
  readonly exchange: HttpExchange;
  /** Fetches the endpoint's published keys, under the same rules. */
  readonly fetch: JwksFetch;
}

/** What a runtime gives a manager to reach hooks with. What it does not give makes a config that needs it an error. */
export interface HookPorts {
  /** Starts processes, for `"transport": "stdio"`. */
  readonly spawn?: CreateSpawn | undefined;
  /** Connects, for `"transport": "http"`. */
  readonly connect?: ((options: ConnectOptions) => HookConnection) | undefined;
  /** Connects through a binding, for `"transport": "service"`; undefined when there is none of that name. */
  readonly bind?: ((binding: string) => HookConnection | undefined) | undefined;
  /** Hashes, signs and verifies. @default WebCrypto, with jose for key pairs */
  readonly crypto?: CryptoPort | undefined;
  /** Hashes bodies that share their beginning. @default the crypto port, each body as a whole */
  readonly hashBody?: BodyHasher | undefined;
  /** What transports over HTTP may use of the platform. @default its own clocks and timers */
  readonly platform?: HttpPlatformOptions | undefined;
  /**
   * Whether a hook's URL may have an IP address as its host: false where the address that is connected to cannot be
   * checked. @default true
   */
  readonly allowAddress?: boolean | undefined;
}
