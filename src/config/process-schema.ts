import * as z from "zod";
import {
  DIALECT_NAMES,
  type DialectName,
  EVENT_KINDS,
  EVENT_METHODS,
  type EventMethod,
  HOOK_GRANTS,
  HOOK_POINTS,
  type HookGrant,
  type HookPoint,
  OBSERVE_ALL,
} from "../picoclaw/index.ts";
import { concurrencySchema, type OperationConfig, operationShape } from "./operation-schema.ts";

/** What every hook that lives elsewhere has. */
interface HookEntry extends OperationConfig {
  readonly enabled: boolean;
  readonly priority: number;
  readonly observe: readonly string[];
  readonly intercept: readonly HookPoint[];
  readonly required: boolean;
  readonly events: EventMethod;
  readonly dialect: DialectName;
  readonly grants?: readonly HookGrant[];
  readonly respond_requires_approval?: boolean;
  readonly max_message_bytes?: number;
}

/** A hook that is a process of its own. */
export interface StdioConfig extends HookEntry {
  readonly transport: "stdio";
  readonly command: readonly string[];
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  /** How many calls may be under way; 64 where it is absent. */
  readonly max_concurrency?: number;
}

/** How calls to a hook are signed. */
export type SchemeName = "jws" | "standard-webhooks";

/** The name an algorithm is sent by. */
export type AlgorithmName = "ES256" | "EdDSA" | "Ed25519" | "HS256";

/** What hooks that are called over HTTP share. */
export interface RemoteConfig extends HookEntry {
  readonly headers: Readonly<Record<string, string>>;
  /** The name the endpoint signs its replies with; the hook's own where it is absent. */
  readonly endpoint?: string;
  readonly scheme: SchemeName;
  readonly alg?: AlgorithmName;
  /** One, or two while rotating: the first signs. */
  readonly secret?: string | readonly string[];
  /** A public JWK or a set of them, as JSON text or as an object. */
  readonly reply_key?: string | Readonly<Record<string, unknown>>;
  readonly reply_jwks?: string;
  readonly require_signed_reply?: boolean;
  readonly unsigned: boolean;
  readonly allow_weak_approval: boolean;
  readonly retry: number;
  readonly max_concurrency: number;
  readonly handshake: "hello" | "none";
  /** Absent: approvals need no signature of their own. */
  readonly approval_token?: ApprovalTokenConfig;
}

/** Who signs the approvals a hook hands on: one of `key`, `jwks_url` and `secret` is there. */
export interface ApprovalTokenConfig {
  readonly issuer: string;
  readonly key?: string | Readonly<Record<string, unknown>>;
  readonly jwks_url?: string;
  readonly secret?: string | readonly string[];
}

/** A hook behind a URL. */
export interface HttpConfig extends RemoteConfig {
  readonly transport: "http";
  readonly url: string;
  readonly allow_private: boolean;
  readonly allow_insecure: boolean;
}

/** A hook behind a service binding of a Cloudflare Worker. */
export interface ServiceConfig extends RemoteConfig {
  readonly transport: "service";
  readonly binding: string;
  readonly url: string;
}

/** A hook that lives elsewhere. */
export type ProcessConfig = StdioConfig | HttpConfig | ServiceConfig;

const MIB = 1_048_576;
const TRANSPORT = "How the hook is reached: a process, a URL, or a service binding of a Cloudflare Worker.";

/** Whether a hook is loaded. */
export const enabledSchema: z.ZodDefault<z.ZodBoolean> = z
  .boolean()
  .default(false)
  .describe("Whether the hook is loaded. It is not unless this is true.");

/** A hook's place. */
export const prioritySchema: z.ZodDefault<z.ZodInt> = z
  .int()
  .default(0)
  .describe(
    "Lower runs first among hooks of the same group: in-process hooks first, then all others. May be negative.",
  );

/** Whether a call that was answered in the tool's place is approved all the same; a hook's own says it for that hook. */
export const respondRequiresApprovalSchema: z.ZodExactOptional<z.ZodBoolean> = z
  .boolean()
  .exactOptional()
  .describe("Whether a call that a hook answers in the tool's place still has to be approved. Default: false.");

function maxBytes(what: string): z.ZodExactOptional<z.ZodInt> {
  return z
    .int()
    .min(1)
    .exactOptional()
    .describe(`${what}, in bytes. Default: ${MIB}. It bounds the memory a hook can make hookgate use.`);
}

const base = { enabled: enabledSchema, priority: prioritySchema };

const called = {
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
};

const spoken = {
  ...operationShape,
  dialect: z
    .enum(DIALECT_NAMES)
    .default("picoclaw")
    .describe(
      'The form of the protocol it speaks: "picoclaw-docs" is the one on PicoClaw\'s documentation site, for before_tool and approve_tool only.',
    ),
  respond_requires_approval: respondRequiresApprovalSchema,
};

function grants(fallback: string): z.ZodExactOptional<z.ZodArray<z.ZodEnum<{ [K in HookGrant]: K }>>> {
  return z
    .array(z.enum(HOOK_GRANTS))
    .exactOptional()
    .describe(
      `What it may do beyond its points: answer in a tool's place, change the system messages, change the list of tools. Default: ${fallback}.`,
    );
}

const stdioSchema = z
  .strictObject({
    ...base,
    transport: z.literal("stdio").default("stdio").describe(TRANSPORT),
    command: z
      .array(z.string())
      .default([])
      .describe("The program, looked up in PATH, and its arguments. No shell reads it."),
    dir: z
      .string()
      .default("")
      .describe("The directory it runs in, relative to this file. Empty: the directory hookgate runs in."),
    env: z.record(z.string(), z.string()).default({}).describe("Environment variables on top of hookgate's own."),
    max_concurrency: concurrencySchema("64"),
    ...called,
    max_message_bytes: maxBytes("The longest line it may write"),
    ...spoken,
    grants: grants("all three"),
  })
  .describe("A hook that is a process of its own; the key is its name.");

const secretSchema = z.union([z.string(), z.array(z.string()).min(1).max(2)]);
const jwkSchema = z.union([z.string(), z.record(z.string(), z.unknown())]);

const approvalTokenSchema: z.ZodType<ApprovalTokenConfig> = z
  .strictObject({
    issuer: z.string().min(1).max(1024).describe("The `iss` of its decisions: the name of the approval service."),
    key: jwkSchema.exactOptional().describe("Its public key, a JWK or a JWK Set, as an object or as JSON text."),
    jwks_url: z.string().exactOptional().describe("Where it publishes its keys: https, or http at a loopback address."),
    secret: secretSchema
      .exactOptional()
      .describe('The secret shared with it, at least 32 random bytes: "${env:NAME}".'),
  })
  .describe(
    "Who signs the approvals that the hook hands on. With it an approval counts only with a hook-approval+jwt for this very call in its reply, whoever carries it. Default: the hook's own word will do.",
  );

const remote = {
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe("Headers sent with every call. They never replace those of the protocol."),
  endpoint: z
    .string()
    .exactOptional()
    .describe("The endpoint's own name, which its signed replies carry. Default: the hook's name."),
  scheme: z
    .enum(["jws", "standard-webhooks"])
    .default("jws")
    .describe(
      "How calls are signed. Standard Webhooks binds neither URL nor method: give each endpoint its own secret.",
    ),
  alg: z
    .enum(["ES256", "EdDSA", "Ed25519", "HS256"])
    .exactOptional()
    .describe("The algorithm's name as the endpoint knows it. Default: the key's own."),
  secret: secretSchema
    .exactOptional()
    .describe(
      'The secret shared with the endpoint, at least 32 random bytes ("whsec_" and base64 for standard-webhooks): best as "${env:NAME}". Two while rotating: the first signs, both verify. Without one the gateway\'s own key signs.',
    ),
  reply_key: jwkSchema
    .exactOptional()
    .describe("The endpoint's public key, a JWK or a JWK Set, as an object or as JSON text."),
  reply_jwks: z
    .string()
    .exactOptional()
    .describe("Where the endpoint publishes its public keys: https, and the same origin as its URL."),
  require_signed_reply: z
    .boolean()
    .exactOptional()
    .describe(
      "Whether a reply without a signature is refused. Default: true, unless the hook is unsigned. false lets whoever is on the way answer in the hook's place, so the hook may then not approve tools.",
    ),
  unsigned: z
    .boolean()
    .default(false)
    .describe(
      "Whether nothing is signed, either way. Whoever is on the way can then answer in the hook's place, so it may approve tools only at a loopback address or behind a service binding.",
    ),
  allow_weak_approval: z
    .boolean()
    .default(false)
    .describe("Whether approvals signed by standard-webhooks are taken, although that scheme binds only the body."),
  retry: z
    .int()
    .min(0)
    .max(10)
    .default(1)
    .describe("How often a call is sent again, inside its deadline, when it cannot have been decided yet."),
  max_concurrency: z
    .int()
    .min(1)
    .max(65_536)
    .default(64)
    .describe("How many calls may be under way; others wait within their deadline."),
  handshake: z
    .enum(["hello", "none"])
    .default("hello")
    .describe('Whether it is greeted with hook.hello before its first call and every five minutes; "none" skips it.'),
  max_message_bytes: maxBytes("The longest reply that is read"),
  approval_token: approvalTokenSchema.exactOptional(),
  ...spoken,
  grants: grants("none, since whoever takes the endpoint over would have them"),
};

const httpSchema = z
  .strictObject({
    ...base,
    transport: z.literal("http").describe(TRANSPORT),
    url: z
      .string()
      .default("")
      .describe(
        "Where it is called: https, or http at a loopback address. Signatures name it exactly as written here.",
      ),
    ...called,
    ...remote,
    allow_private: z
      .boolean()
      .default(true)
      .describe("Whether its address may be one of a private network, loopback included."),
    allow_insecure: z
      .boolean()
      .default(false)
      .describe("Whether plain http may leave this machine: whoever is on the way then reads every prompt."),
  })
  .describe("A hook behind a URL; the key is its name.");

const serviceSchema = z
  .strictObject({
    ...base,
    transport: z.literal("service").describe(TRANSPORT),
    binding: z.string().default("").describe("The name of the service binding. Only a gateway on Workers has any."),
    url: z
      .string()
      .default("https://service/")
      .describe("The URL that requests carry and signatures name; no network look-up is made of it."),
    ...called,
    ...remote,
  })
  .describe("A hook behind a service binding of a Cloudflare Worker; the key is its name.");

/** A hook that lives elsewhere, by its transport. */
export const processSchema: z.ZodType<ProcessConfig> = z.discriminatedUnion("transport", [
  stdioSchema,
  httpSchema,
  serviceSchema,
]);
