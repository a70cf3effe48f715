import type { GatewayFetch, GatewayResponse } from "../client/index.ts";
import type { OnDecision } from "../chain/index.ts";
import type { Environment, GatewayStore, HookPorts, RecordsConfig, StoreAddress, YamlPorts } from "../config/index.ts";
import type { StdioHandle } from "../endpoint/index.ts";
import type { Gateway, GatewayHook, MetricsPage } from "../gateway/index.ts";
import type { Log } from "../log.ts";
import type { HookTracer } from "../picoclaw/index.ts";
import type { KeptRecords, RecorderStatus, StoredRecording } from "../records/index.ts";
import type { JwksFetch } from "../signing/jwks-fetch.ts";

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
  record(config: RecordsConfig | undefined, options: RecordsPlace & { readonly log: Log }): StoredRecording | undefined;
  /** Opens what is kept; undefined when there is nothing. */
  read(config: RecordsConfig | undefined, place: RecordsPlace): KeptRecords | undefined;
}

/** What metrics are made of. */
export interface MetricsSource {
  readonly hooks: () => readonly GatewayHook[];
  readonly recorderStatus?: (() => RecorderStatus) | undefined;
  readonly callsInFlight?: (() => number) | undefined;
}

/** Stdin and stdout as they are served. */
export interface StdioServing {
  /** Resolves when the input has ended and what it asked is answered. */
  readonly ended: Promise<void>;
  /** Lets go of the input, which would otherwise keep the program alive. */
  close(): void;
}

/** Options of {@link CliHost.writeFile}. */
export interface WriteFileOptions {
  /** Whether only its owner may read it, as befits a key. */
  readonly isSecret: boolean;
  /** Whether a file that is there is replaced, in one step; otherwise it is an error. */
  readonly replaces: boolean;
}

/** One step on the way to a URL. */
export interface ProbeStep {
  readonly step: "dns" | "connect" | "tls";
  readonly ms: number;
  /** What was found, such as an address. */
  readonly found?: string;
  /** What went wrong; there are no further steps then. */
  readonly error?: string;
}

/** Options of {@link CliHost.probe}. */
export interface ProbeOptions {
  readonly allowPrivate: boolean;
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** What is known of a file. */
export interface FileFacts {
  readonly isFile: boolean;
  readonly isReadable: boolean;
  readonly isExecutable: boolean;
  /** Whether everyone on this machine may change it. */
  readonly isWritableByAll: boolean;
}

/** Options of {@link CliHost.request}. */
export interface HttpRequestOptions {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Everything the command line needs of the runtime it runs on. */
export interface CliHost {
  /** The version of this package. */
  readonly version: string;
  readonly env: Environment;
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  readonly fetch: GatewayFetch;
  /** Makes a request that has no body; a redirect is not followed. */
  request(url: string, options: HttpRequestOptions): Promise<GatewayResponse>;
  /** What hooks are reached with. */
  readonly ports: HookPorts;
  /** What the hooks of `hooks.yaml` are found and reached with. */
  readonly yaml: Omit<YamlPorts, "env" | "bundled">;
  /** Fetches the keys that issuers of JWTs and hosts publish. */
  readonly fetchKeys: JwksFetch;
  /** Records decisions. @default it cannot: a config that wants it is refused */
  readonly records?: RecordsPort;
  /** Opens a store of human approvals and session hooks; undefined when there is none of its kind. @default there are none */
  readonly openApprovals?: (
    address: StoreAddress,
    options: { readonly baseDir: string; readonly log: Log },
  ) => GatewayStore | undefined;
  /** Counts what happens. @default there are no metrics */
  readonly createMetrics?: (source: MetricsSource) => MetricsPage & { readonly onDecision: OnDecision };
  /** Traces hook points and calls. @default nobody does */
  readonly tracer?: HookTracer;
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** Splits a command line into tokens; it refuses nothing. */
  tokenize(args: readonly string[], options: Readonly<Record<string, ArgOption>>): readonly ArgToken[];
  /**
   * The text of a file; undefined when there is none.
   * @param maxBytes refuses what is longer, and what is no regular file: such could be waited for without end
   */
  readFile(path: string, maxBytes?: number): Promise<string | undefined>;
  /** The directory a file is in, as an absolute path. */
  directoryOf(path: string): string;
  /**
   * Writes a file, and the directories it is in.
   * @throws when it cannot be written, or is there and is not to be replaced
   */
  writeFile(path: string, text: string, options: WriteFileOptions): Promise<void>;
  /** The text of an example that ships with this package. */
  readExample(name: string): Promise<string>;
  /** Everything on stdin, to its end. */
  readStdin(): Promise<string>;
  /** Answers whoever writes to stdin. Nothing else may be written to stdout. */
  serveStdio(handle: StdioHandle, log: Log): StdioServing;
  /** Goes to where a URL leads, step by step, without sending anything. */
  probe(url: string, options: ProbeOptions): Promise<readonly ProbeStep[]>;
  /** Serves a gateway over HTTP. */
  serve(gateway: Gateway, options: ServeOptions): Promise<{ readonly url: string; close(): Promise<void> }>;
  /** Calls `listener` for each signal instead of ending; the result lets go of it. */
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /** Looks at a file; undefined when there is none. */
  inspectFile(path: string): Promise<FileFacts | undefined>;
  /** Where a program would be found: in PATH, or relative to the directory when it has a slash. */
  findProgram(name: string, dir: string): Promise<string | undefined>;
  /** The first line of what a program says to `--version`; undefined when it says nothing. */
  versionOf(program: string): Promise<string | undefined>;
  /** Calls `listener` for each SIGHUP instead of ending; the result lets go of it. */
  onHangup(listener: () => void): () => void;
  /**
   * Calls `listener` when a file has changed and is at rest, however it is written or replaced; the result lets go of it.
   */
  watchFile(path: string, listener: () => void): () => void;
  /** Ends the program at once. */
  exit(code: number): void;
}
