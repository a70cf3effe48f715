import type { GatewayFetch } from "../client/index.ts";
import type { OnDecision } from "../chain/index.ts";
import type { CreateSpawn, Environment, RecordsConfig } from "../config/index.ts";
import type { Digest, Gateway, GatewayHook, MetricsPage } from "../gateway/index.ts";
import type { Log } from "../log.ts";
import type { HookTracer } from "../picoclaw/index.ts";
import type { KeptRecords, RecorderStatus, Recording, RecordStore } from "../records/index.ts";

/** Where the command line writes to. */
export interface CliStream {
  /** Whether a person reads it on a terminal. */
  readonly isTTY: boolean;
  /** It must not throw, also when nobody reads any more. */
  write(text: string): void;
}

/** A flag as the tokenizer needs to know it. */
export interface ArgOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
}

/** One piece of a command line; the shape is that of the tokens of `util.parseArgs`. */
export type ArgToken =
  | { readonly kind: "positional"; readonly value: string }
  | { readonly kind: "option-terminator" }
  | {
      readonly kind: "option";
      /** Without dashes; the long name where the short one was given. */
      readonly name: string;
      /** As it was written. */
      readonly rawName: string;
      readonly value?: string | undefined;
      /** Whether the value was written behind `=`. */
      readonly inlineValue?: boolean | undefined;
    };

/** What ends a program from outside. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** Options of {@link CliHost.serve}. */
export interface ServeOptions {
  readonly hostname: string;
  readonly port: number;
  readonly log: Log;
}

/** Where the paths of a config are relative to. */
export interface RecordsPlace {
  /** The config file's directory. */
  readonly baseDir: string;
  /** Another place than the config's. */
  readonly file?: string | undefined;
}

/** How a runtime records decisions. */
export interface RecordsPort {
  /** Records decisions as a config says; undefined when it says not to. */
  record(
    config: RecordsConfig | undefined,
    options: RecordsPlace & { readonly log: Log },
  ): (Recording & { readonly store: RecordStore | undefined }) | undefined;
  /** Opens what is kept; undefined when there is nothing. */
  read(config: RecordsConfig | undefined, place: RecordsPlace): KeptRecords | undefined;
}

/** What metrics are made of. */
export interface MetricsSource {
  readonly hooks: () => readonly GatewayHook[];
  readonly recorderStatus?: (() => RecorderStatus) | undefined;
  readonly callsInFlight?: (() => number) | undefined;
}

/** Everything the command line needs of the runtime it runs on. */
export interface CliHost {
  /** The version of this package. */
  readonly version: string;
  readonly env: Environment;
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  readonly fetch: GatewayFetch;
  readonly spawn: CreateSpawn;
  /** SHA-256 for the gateway's tokens. @default the gateway's own */
  readonly digest?: Digest;
  /** Records decisions. @default it cannot: a config that wants it is refused */
  readonly records?: RecordsPort;
  /** Counts what happens. @default there are no metrics */
  readonly createMetrics?: (source: MetricsSource) => MetricsPage & { readonly onDecision: OnDecision };
  /** Traces hook points and calls. @default nobody does */
  readonly tracer?: HookTracer;
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** Splits a command line into tokens; it refuses nothing. */
  tokenize(args: readonly string[], options: Readonly<Record<string, ArgOption>>): readonly ArgToken[];
  /** The text of a file; undefined when there is none. */
  readFile(path: string): Promise<string | undefined>;
  /** The directory a file is in, as an absolute path. */
  directoryOf(path: string): string;
  /** Everything on stdin, to its end. */
  readStdin(): Promise<string>;
  /** Serves a gateway over HTTP. */
  serve(gateway: Gateway, options: ServeOptions): Promise<{ readonly url: string; close(): Promise<void> }>;
  /** Calls `listener` for each signal instead of ending; the result lets go of it. */
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /** Ends the program at once. */
  exit(code: number): void;
}
