import { z } from "zod";
import { EVENT_KINDS, type EventMethod, HOOK_POINTS, type HookPoint, OBSERVE_ALL } from "../picoclaw/index.ts";

/** Deadlines of one hook call, in milliseconds; 0, less or absent keeps the default. */
export interface HookDefaults {
  readonly observer_timeout_ms?: number | undefined;
  readonly interceptor_timeout_ms?: number | undefined;
  readonly approval_timeout_ms?: number | undefined;
}

/** A hook that is part of hookgate. */
export interface BuiltinConfig {
  readonly enabled: boolean;
  readonly priority: number;
  readonly config?: unknown;
}

/** A hook that is a process of its own. */
export interface ProcessConfig {
  readonly enabled: boolean;
  readonly priority: number;
  readonly transport: "stdio";
  readonly command: readonly string[];
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly observe: readonly string[];
  readonly intercept: readonly HookPoint[];
  readonly required: boolean;
  readonly events: EventMethod;
  readonly max_message_bytes?: number;
}

/** The `hooks` object of a config file. */
export interface HooksConfig {
  readonly enabled: boolean;
  readonly defaults: HookDefaults;
  readonly builtins: Readonly<Record<string, BuiltinConfig>>;
  readonly processes: Readonly<Record<string, ProcessConfig>>;
}

/** What a bearer token may be used for. */
export type Scope = "call" | "observe" | "admin" | "approve" | "register";

/** A bearer token of a host. */
export interface TokenConfig {
  readonly name: string;
  /** Hex digits. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
}

/** The `gateway` object of a config file. */
export interface GatewayConfig {
  readonly host: string;
  readonly port: number;
  readonly id: string;
  readonly auth: { readonly tokens: readonly TokenConfig[] };
  readonly limits: {
    readonly max_body_bytes?: number | undefined;
    readonly max_batch?: number | undefined;
    readonly max_concurrency?: number | undefined;
    readonly requests_per_minute?: number | undefined;
  };
  readonly allowed_origins: readonly string[];
}

/** A config file, with every default filled in. */
export interface ConfigFile {
  readonly hooks: HooksConfig;
  readonly gateway: GatewayConfig;
}

const MAX_TIMEOUT_MS = 2_147_483_647;
const MIB = 1_048_576;

const TRANSPORTS = ["stdio"] as const;

const SCOPES = ["call", "observe", "admin", "approve", "register"] as const;

const EVENT_METHODS = ["hook.event", "hook.runtime_event"] as const;

/** The bound on a request's body where the config has none. */
const DEFAULT_BODY_BYTES = 8 * MIB;

function timeout(what: string, defaultMs: number): z.ZodExactOptional<z.ZodInt> {
  return z
    .int()
    .max(MAX_TIMEOUT_MS)
    .exactOptional()
    .describe(`Deadline of ${what}, in milliseconds. 0, less or absent: ${defaultMs}.`);
}

const enabled = z.boolean().default(false).describe("Whether the hook is loaded. It is not unless this is true.");
const priority = z
  .int()
  .default(0)
  .describe(
    "Lower runs first among hooks of the same group: in-process hooks first, then all others. May be negative.",
  );

const builtinSchema = z
  .strictObject({
    enabled,
    priority,
    config: z.unknown().exactOptional().describe("The hook's own settings."),
  })
  .describe("A hook that is part of hookgate; the key is its name.");

const processSchema = z
  .strictObject({
    enabled,
    priority,
    transport: z.enum(TRANSPORTS).default("stdio").describe("How the hook is reached."),
    command: z
      .array(z.string())
      .default([])
      .describe("The program, looked up in PATH, and its arguments. No shell reads it."),
    dir: z
      .string()
      .default("")
      .describe("The directory it runs in, relative to this file. Empty: the directory hookgate runs in."),
    env: z.record(z.string(), z.string()).default({}).describe("Environment variables on top of hookgate's own."),
    observe: z
      .array(z.enum([...OBSERVE_ALL, ...EVENT_KINDS]))
      .default([])
      .describe('The events it is told of; "*" or "all" is every event.'),
    intercept: z
      .array(z.enum(HOOK_POINTS))
      .default([])
      .describe("The points at which it is called: exactly those listed."),
    required: z
      .boolean()
      .default(false)
      .describe("Whether `hookgate serve` ends with exit code 1 when the hook does not come up."),
    events: z.enum(EVENT_METHODS).default("hook.event").describe("The form of the events it is sent."),
    max_message_bytes: z
      .int()
      .min(1)
      .exactOptional()
      .describe(
        `The longest line it may write, in bytes. Default: ${MIB}. It bounds the memory a hook can make hookgate use.`,
      ),
  })
  .describe("A hook that is a process of its own; the key is its name.");

const hooksSchema = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false loads no hook at all."),
    defaults: z
      .strictObject({
        observer_timeout_ms: timeout("telling one observer of one event", 500),
        interceptor_timeout_ms: timeout("one interceptor", 5000),
        approval_timeout_ms: timeout("one approver", 60_000),
      })
      .prefault({})
      .describe("Deadlines of one hook call."),
    builtins: z.record(z.string(), builtinSchema).default({}).describe("Hooks that are part of hookgate."),
    processes: z.record(z.string(), processSchema).default({}).describe("Hooks that are processes of their own."),
  })
  .describe("The hooks, as in a PicoClaw config file.");

const tokenSchema = z.strictObject({
  name: z.string().min(1).describe("Who it belongs to; shown in logs."),
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/i, "expected the SHA-256 of the token as 64 hex digits")
    .describe("The SHA-256 of the token, in hex. The token itself is nowhere in this file."),
  scopes: z.array(z.enum(SCOPES)).min(1).default(["call", "observe"]).describe("What it may be used for."),
});

function bound(what: string): z.ZodExactOptional<z.ZodInt> {
  return z.int().min(1).exactOptional().describe(what);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

const gatewaySchema = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .default("127.0.0.1")
      .describe("The address to listen on. Anything but a loopback address needs `auth`."),
    port: z.int().min(0).max(65_535).default(8787).describe("The port to listen on; 0 takes a free one."),
    id: z
      .string()
      .min(1)
      .default("hookgate")
      .describe("The gateway's name in the signatures of its calls; without signing it has no effect."),
    auth: z
      .strictObject({ tokens: z.array(tokenSchema).default([]).describe("Bearer tokens of hosts.") })
      .prefault({})
      .describe("Who may call. Without a token in it the gateway listens on loopback addresses only."),
    limits: z
      .strictObject({
        max_body_bytes: bound(`The longest request body, in bytes. Default: ${DEFAULT_BODY_BYTES}.`),
        max_batch: bound("How many calls a JSON-RPC batch may hold. Default: 50."),
        max_concurrency: bound("How many requests may be worked on at once; more are refused with status 503."),
        requests_per_minute: bound("How many requests a token may make in a minute. Default: no limit."),
      })
      .prefault({})
      .describe("Bounds on what hosts may ask of the gateway."),
    allowed_origins: z
      .array(z.string().refine(isOrigin, 'expected an origin such as "https://example.com"'))
      .default([])
      .describe(
        "Origins of web pages that may call. None by default, so that no page in a browser reaches the gateway.",
      ),
  })
  .describe("hookgate's own listener.");

/** The schema of a config file. A whole PicoClaw config file fits it: what else is in it is not looked at. */
export const fileSchema: z.ZodType<ConfigFile> = z.looseObject({
  $schema: z.string().exactOptional().describe("Where this schema is, for editors."),
  hooks: hooksSchema,
  gateway: gatewaySchema.prefault({}),
});

/** The JSON Schema (draft 7, which editors know best) of a config file. */
export function toConfigJsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(fileSchema, {
    target: "draft-7",
    io: "input",
    override({ jsonSchema }) {
      // Every integer of zod is bounded by what a double holds, which tells a reader nothing.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.default !== undefined && typeof jsonSchema.default === "object") delete jsonSchema.default;
    },
  });
  return { title: "hookgate config", ...schema };
}
