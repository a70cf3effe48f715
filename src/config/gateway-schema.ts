import * as z from "zod";

/** What a caller may do. */
export type Scope = "call" | "observe" | "admin" | "approve" | "register";

/** A bearer token of a host. */
export interface TokenConfig {
  readonly name: string;
  /** Hex digits. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** Whom it may name as the one who decides an approval. */
  readonly speaks_for?: readonly string[] | "anyone";
}

/** The algorithms a host's JWT may be signed with. */
export type JwtAlgorithm = "ES256" | "ES384" | "EdDSA" | "Ed25519" | "PS256" | "RS256";

/** An issuer whose JWTs let hosts in. */
export interface JwtConfig {
  /** Shown in logs, before the host's own name. */
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  readonly jwks_url?: string;
  /** Public JWKs. */
  readonly keys?: readonly (string | Readonly<Record<string, unknown>>)[];
  readonly algorithms: readonly JwtAlgorithm[];
  readonly name_claim: string;
  readonly scope_claim: string;
  /** Which scopes a word of `scope_claim` stands for. */
  readonly scope_map?: Readonly<Record<string, readonly Scope[]>>;
  /** What a host may do for which `scope_map` finds nothing. */
  readonly scopes?: readonly Scope[];
}

/** A host that signs its requests. */
export interface HostConfig {
  /** Shown in logs. */
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  /** One, or two while rotating. */
  readonly secret?: string | readonly string[];
  /** A public JWK or a set of them. */
  readonly key?: string | Readonly<Record<string, unknown>>;
  readonly jwks_url?: string;
  readonly scopes: readonly Scope[];
}

/** The `gateway` object of a config file. */
export interface GatewayConfig {
  readonly host: string;
  readonly port: number;
  readonly id: string;
  /** A private JWK or a set of two, as JSON text or as an object: the first signs, both are published. */
  readonly signing_key?: string | Readonly<Record<string, unknown>>;
  readonly auth: {
    readonly tokens: readonly TokenConfig[];
    readonly jwt: readonly JwtConfig[];
    readonly signatures: readonly HostConfig[];
  };
  readonly limits: {
    readonly max_body_bytes?: number | undefined;
    readonly max_batch?: number | undefined;
    readonly max_concurrency?: number | undefined;
    readonly requests_per_minute?: number | undefined;
  };
  readonly allowed_origins: readonly string[];
}

const MIB = 1_048_576;

const SCOPES = ["call", "observe", "admin", "approve", "register"] as const;
const JWT_ALGORITHMS = ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"] as const;

/** The bound on a request's body where the config has none. */
const DEFAULT_BODY_BYTES = 8 * MIB;

const scopesSchema = z.array(z.enum(SCOPES)).min(1);
const jwkSchema = z.union([z.string(), z.record(z.string(), z.unknown())]);

const tokenSchema = z.strictObject({
  name: z.string().min(1).describe("Who it belongs to; shown in logs."),
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/i, "expected the SHA-256 of the token as 64 hex digits")
    .describe("The SHA-256 of the token, in hex. The token itself is nowhere in this file."),
  scopes: scopesSchema.default(["call", "observe"]).describe("What it may be used for."),
  speaks_for: z
    .union([z.array(z.string().min(1).max(300)).min(1).max(1000), z.literal("anyone")])
    .exactOptional()
    .describe(
      'The people it may name as the ones who decide an approval, or "anyone": for a bot that knows who talks to it. It needs scope approve. Default: it decides as itself.',
    ),
});

const jwtSchema = z.strictObject({
  name: z.string().min(1).describe("What the issuer is called in logs."),
  issuer: z.string().min(1).describe("The `iss` of its tokens, exactly."),
  audience: z.string().min(1).describe("The `aud` that its tokens must name: without it a token for anyone would do."),
  jwks_url: z.string().exactOptional().describe("Where it publishes its keys: https, or http at a loopback address."),
  keys: z.array(jwkSchema).min(1).max(16).exactOptional().describe("Its public keys, in the place of `jwks_url`."),
  algorithms: z
    .array(z.enum(JWT_ALGORITHMS))
    .min(1)
    .default(["ES256", "EdDSA", "Ed25519", "RS256"])
    .describe("The only algorithms its tokens may be signed with. A token never chooses."),
  name_claim: z.string().min(1).default("sub").describe("The claim that names the host."),
  scope_claim: z.string().min(1).default("scope").describe("The claim `scope_map` reads: words, or a list of words."),
  scope_map: z
    .record(z.string(), scopesSchema)
    .exactOptional()
    .describe("Which scopes each word of `scope_claim` stands for."),
  scopes: scopesSchema
    .exactOptional()
    .describe(
      'What a host may do for which `scope_map` finds nothing. Default: nothing; ["call", "observe"] where there is no `scope_map`.',
    ),
});

const hostSchema = z.strictObject({
  name: z.string().min(1).describe("Who it is; shown in logs."),
  issuer: z.string().min(1).describe("The `iss` of its requests: the id of the host."),
  audience: z
    .string()
    .min(1)
    .describe("The URL of this gateway's /rpc, exactly as the host is configured with: the `aud` of its requests."),
  secret: z
    .union([z.string(), z.array(z.string()).min(1).max(2)])
    .exactOptional()
    .describe('The secret shared with it, at least 32 random bytes: best as "${env:NAME}". Two while rotating.'),
  key: jwkSchema.exactOptional().describe("Its public key, a JWK or a JWK Set, as an object or as JSON text."),
  jwks_url: z.string().exactOptional().describe("Where it publishes its keys: https, or http at a loopback address."),
  scopes: scopesSchema.default(["call", "observe"]).describe("What it may do."),
});

function bound(what: string): z.ZodExactOptional<z.ZodInt> {
  return z.int().min(1).exactOptional().describe(what);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

const authSchema = z.strictObject({
  tokens: z.array(tokenSchema).default([]).describe("Bearer tokens of hosts."),
  jwt: z.array(jwtSchema).default([]).describe("Issuers whose JWTs, as bearer tokens, let hosts in."),
  signatures: z.array(hostSchema).default([]).describe("Hosts that sign each request, as the gateway does to hooks."),
});

/** hookgate's own listener. */
export const gatewaySchema: z.ZodPrefault<z.ZodType<GatewayConfig>> = z
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
      .describe("The gateway's name: the issuer of the calls it signs. Endpoints are configured with it."),
    signing_key: jwkSchema
      .exactOptional()
      .describe(
        'The gateway\'s private key, a JWK or a set of two while rotating (the first signs, both are published): best as "${env:NAME}". Default: the environment variable HOOKGATE_SIGNING_KEY.',
      ),
    auth: authSchema
      .prefault({})
      .describe("Who may call. With nothing in it the gateway listens on loopback addresses only."),
    limits: z
      .strictObject({
        max_body_bytes: bound(`The longest request body, in bytes. Default: ${DEFAULT_BODY_BYTES}.`),
        max_batch: bound("How many calls a JSON-RPC batch may hold. Default: 50."),
        max_concurrency: bound("How many requests may be worked on at once; more are refused with status 503."),
        requests_per_minute: bound("How many requests a caller may make in a minute. Default: no limit."),
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
  .describe("hookgate's own listener.")
  .prefault({});
