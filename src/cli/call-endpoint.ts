import { createBuiltins, parseConfig } from "../config/index.ts";
import type { Log } from "../log.ts";
import type { HookHost } from "../picoclaw/index.ts";
import { type Args, type OptionSpecs, UsageError } from "./args.ts";
import type { CliHost } from "./host.ts";
import type { CallPoint } from "./payload.ts";
import { startHooks } from "./start-hooks.ts";

/** The flags of a call straight to one endpoint. */
export const ENDPOINT_OPTIONS: OptionSpecs = {
  endpoint: { value: "URL", help: "One hook endpoint to ask, without a config and without a gateway." },
  "secret-env": { value: "NAME", help: "The environment variable that holds the secret shared with the endpoint." },
  scheme: { value: "SCHEME", help: "How the endpoint's calls are signed: jws, or standard-webhooks. Without it: jws." },
  "gateway-id": { value: "ID", help: "The gateway's id the endpoint is configured with. Without it: hookgate." },
  "endpoint-name": {
    value: "NAME",
    help: "The name its replies must carry. Without it: any, since the secret proves that they are its.",
  },
  "reply-key-env": {
    value: "NAME",
    help: "The environment variable with the endpoint's public key, where HOOKGATE_SIGNING_KEY signs and not a secret.",
  },
  "reply-jwks": { value: "URL", help: "Where the endpoint publishes that key." },
  unsigned: { help: "Nothing is signed. Approvals are then taken from a loopback address only." },
};

/** The flags that have a meaning with `--endpoint` only. */
export const ENDPOINT_FLAGS: readonly string[] = Object.keys(ENDPOINT_OPTIONS).filter((name) => name !== "endpoint");

/** Options of {@link connectEndpoint}. */
export interface ConnectEndpointOptions {
  readonly point: CallPoint;
  readonly host: CliHost;
  readonly log: Log;
}

/**
 * Makes a manager whose one hook is the endpoint that the flags describe: the rules are those of a config.
 * @throws {UsageError} when a variable is not set
 * @throws {ConfigError} when a rule is broken
 */
export async function connectEndpoint(args: Args, { point, host, log }: ConnectEndpointOptions): Promise<HookHost> {
  const entry = {
    enabled: true,
    transport: "http",
    url: args.get("endpoint"),
    intercept: point === "check_tool" ? ["before_tool", "approve_tool"] : [point],
    scheme: args.get("scheme"),
    secret: fromEnvironment("secret-env", args, host),
    reply_key: fromEnvironment("reply-key-env", args, host),
    reply_jwks: args.get("reply-jwks"),
    endpoint: args.get("endpoint-name"),
    unsigned: args.has("unsigned"),
    allow_insecure: args.has("allow-insecure"),
    // A person who gives the secret of a weak scheme has decided to trust it for this call.
    allow_weak_approval: true,
    // A person who asks wants to hear of a failure, not of the second try.
    retry: 0,
  };
  const config = { hooks: { processes: { endpoint: entry } }, gateway: { id: args.get("gateway-id") ?? "hookgate" } };
  const builtins = createBuiltins();
  const parsed = parseConfig(JSON.stringify(config), { env: host.env, builtins, file: "--endpoint" });
  return (await startHooks({ config: parsed, baseDir: "." }, { host, log, takesAnyName: true })).manager;
}

/** A reference to the variable that a flag names: the value itself is in no text that could be shown. */
function fromEnvironment(flag: string, args: Args, host: CliHost): string | undefined {
  const name = args.get(flag);
  if (name === undefined) return undefined;
  if ((host.env[name] ?? "") === "") throw new UsageError(`--${flag}: the environment variable ${name} is not set`);
  return `\${env:${name}}`;
}
