import { type GatewayResponse, readText } from "../client/fetch.ts";
import { createGatewayClient, type GatewayClient, type GatewayClientOptions } from "../client/index.ts";
import { parseGatewayUrl, toApiBase } from "../client/url.ts";
import { HookgateError } from "../errors.ts";
import { type Args, type OptionSpecs, UsageError } from "./args.ts";
import type { CliHost } from "./host.ts";
import { isObject } from "../is-object.ts";

/** Where a gateway of this machine listens unless it is told otherwise. */
export const DEFAULT_GATEWAY_URL = "http://127.0.0.1:8787";

/** The flags that say which gateway is meant. */
export const GATEWAY_OPTIONS: OptionSpecs = {
  url: { value: "URL", help: `The gateway. Without it: ${DEFAULT_GATEWAY_URL}.` },
  "token-env": { value: "NAME", help: "The environment variable that holds the gateway's token." },
  "allow-insecure": { help: "Allows plain http to another machine: anyone on the way could read the token." },
};

/** What a gateway answered. */
export interface ApiAnswer {
  readonly status: number;
  /** Undefined when it is not JSON. */
  readonly body: unknown;
}

/** A running gateway, as commands read it and tell it what to do. */
export interface GatewayApi {
  /** Where it is, for messages. */
  readonly url: string;
  /** @throws {HookgateError} `ERR_GATEWAY` when it cannot be reached */
  get(path: string): Promise<ApiAnswer>;
  /** @throws {HookgateError} `ERR_GATEWAY` when it cannot be reached */
  post(path: string): Promise<ApiAnswer>;
  /**
   * Opens an answer that does not end.
   * @throws {HookgateError} `ERR_GATEWAY` when it cannot be reached
   */
  open(path: string, headers: Readonly<Record<string, string>>): Promise<GatewayResponse>;
}

const TIMEOUT_MS = 60_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Makes the way to the gateway that the flags name.
 * @throws {UsageError} when the URL is none or the token's variable is not set
 */
export function createGatewayApi(args: Args, host: CliHost): GatewayApi {
  const base = readBase(args);
  const token = readToken(args, host);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };

  async function open(
    path: string,
    {
      method,
      more,
      timeoutMs,
    }: { readonly method: "GET" | "POST"; readonly more?: object; readonly timeoutMs: number },
  ): Promise<GatewayResponse> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new Error("it did not answer in time")), timeoutMs);
    try {
      return await host.request(`${base}${path}`, {
        method,
        headers: { accept: "application/json", ...headers, ...more },
        signal: controller.signal,
      });
    } catch (error) {
      throw new HookgateError("ERR_GATEWAY", `the gateway at ${base} cannot be reached: ${reasonOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  async function ask(path: string, method: "GET" | "POST"): Promise<ApiAnswer> {
    const response = await open(path, { method, timeoutMs: TIMEOUT_MS });
    try {
      return { status: response.status, body: parseJson(await readText(response.body, MAX_BODY_BYTES)) };
    } catch (error) {
      throw new HookgateError("ERR_GATEWAY", `the answer of ${base} ended early: ${reasonOf(error)}`);
    }
  }

  return {
    url: base,
    get: (path) => ask(path, "GET"),
    post: (path) => ask(path, "POST"),
    open: (path, more) => open(path, { method: "GET", more, timeoutMs: TIMEOUT_MS }),
  };
}

/**
 * Makes a client of the gateway that the flags name.
 * @param more - What the command wants otherwise than by default.
 * @throws {UsageError} when the URL or the token is none, or the token's variable is not set
 */
export function createClient(
  args: Args,
  host: CliHost,
  more: Pick<GatewayClientOptions, "failure" | "log"> = {},
): GatewayClient {
  const token = readToken(args, host);
  const url = args.get("url") ?? DEFAULT_GATEWAY_URL;
  try {
    return createGatewayClient({ url, token, allowInsecure: args.has("allow-insecure"), fetch: host.fetch, ...more });
  } catch (error) {
    // It begins with the name of the option, which is the flag's but for one.
    if (error instanceof TypeError) throw new UsageError(`--${error.message.replace(/^token:/, "token-env:")}`);
    throw error;
  }
}

/** Why a gateway refused, from its answer. */
export function refusalOf({ status, body }: ApiAnswer): string {
  const error = isObject(body) ? body["error"] : undefined;
  const message = isObject(error) && typeof error["message"] === "string" ? error["message"] : "no reason was given";
  return `HTTP status ${status}: ${message}`;
}

function readBase(args: Args): string {
  try {
    const url = parseGatewayUrl(args.get("url") ?? DEFAULT_GATEWAY_URL, { allowInsecure: args.has("allow-insecure") });
    return toApiBase(url);
  } catch (error) {
    throw new UsageError(`--${error instanceof Error ? error.message : String(error)}`);
  }
}

function readToken(args: Args, { env }: CliHost): string | undefined {
  const name = args.get("token-env");
  if (name === undefined) return undefined;
  const token = env[name] ?? "";
  if (token === "") throw new UsageError(`--token-env: the environment variable ${name} is not set`);
  return token;
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

/** What went wrong underneath: fetch itself only says that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
