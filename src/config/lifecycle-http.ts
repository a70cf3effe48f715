import {
  createHttpPort,
  type DefinitionFinding,
  type HttpDefinition,
  type LifecycleEndpoint,
  type LifecyclePorts,
} from "../jcli/index.ts";
import type { Log } from "../log.ts";
import type { Transport } from "../transport/contract.ts";
import { checkRemote } from "./check-remote.ts";
import type { GatewayConfig } from "./gateway-schema.ts";
import { type Environment, interpolate } from "./interpolate.ts";
import { openRemote } from "./open-remote.ts";
import { formatPath, type JsonPath } from "./path.ts";
import type { HookPorts } from "./ports.ts";
import { type Finding, toFindings } from "./problem.ts";
import { type HttpConfig, processSchema } from "./process-schema.ts";

/** Options of {@link createLifecycleHttp}. */
export interface LifecycleHttpOptions {
  readonly ports: HookPorts;
  readonly gateway: Pick<GatewayConfig, "id" | "signing_key">;
  /**
   * The variables that `${env:NAME}` may use. Absent for definitions that come from strangers, who could have any of them
   * sent to themselves; `${env:` is refused then. @default none
   */
  readonly env?: Environment | undefined;
  /** Whether URLs may lead to private networks; not for definitions that come from strangers. */
  readonly isPublicOnly: boolean;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/**
 * How hooks of type http are checked and reached: as remote hooks of the config, with the same keys and rules, but that
 * they are not greeted: they serve `hook.run` and no point.
 */
export function createLifecycleHttp(options: LifecycleHttpOptions): Pick<LifecyclePorts, "http" | "checkHttp"> {
  return {
    checkHttp: (fields) => readEntry(fields, options).findings,
    http: createHttpPort((definition) => new LazyEndpoint(definition, options)),
  };
}

interface ReadEntry {
  /** Absent when there is an error. */
  readonly entry?: HttpConfig;
  readonly findings: readonly DefinitionFinding[];
}

type Fields = Readonly<Record<string, unknown>>;

function readEntry(given: Fields, options: LifecycleHttpOptions): ReadEntry {
  const { env = {}, isPublicOnly, gateway } = options;
  const filled = interpolate(given, { env });
  if (options.env === undefined && filled.fromEnvironment.size > 0) {
    const [field = "url"] = filled.fromEnvironment;
    return { findings: [{ severity: "error", field, message: "variables of the environment cannot be used here" }] };
  }
  const own = isPublicOnly ? { allow_private: false, allow_insecure: false } : {};
  const value = { ...toObject(filled.value), ...own, transport: "http", enabled: true, handshake: "none", retry: 0 };
  const { data, error } = processSchema.safeParse(value);
  const isFromEnvironment = (path: string): boolean => filled.fromEnvironment.has(path);
  const findings = [
    ...filled.findings,
    ...toFindings(error?.issues ?? [], { schema: processSchema, value, isFromEnvironment }),
    ...checkRemote([[], value], { gateway }),
    ...checkName(value),
  ];
  const unique = findings.filter(({ at }, index) => index === findings.findIndex((other) => isSame(other.at, at)));
  if (data?.transport !== "http" || unique.length > 0) return { findings: unique.map(toDefinitionFinding) };
  return { entry: data, findings: [] };
}

/** A hook of a config has a name, which its endpoint's is by default; one of a YAML file has none. */
function checkName(value: Fields): readonly Finding[] {
  if (value["unsigned"] === true || value["scheme"] === "standard-webhooks") return [];
  if (value["endpoint"] !== undefined || value["require_signed_reply"] === false) return [];
  return [{ at: ["endpoint"], message: "missing: the name that the endpoint signs its replies with" }];
}

function isSame(a: JsonPath, b: JsonPath): boolean {
  return formatPath(a) === formatPath(b);
}

function toDefinitionFinding({ at, ...finding }: Finding): DefinitionFinding {
  return { severity: "error", field: formatPath(at), ...finding };
}

function toObject(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Opens the way to an endpoint with its first call: imported keys take a while, and on the edge a request. */
class LazyEndpoint implements LifecycleEndpoint {
  readonly #definition: HttpDefinition;
  readonly #options: LifecycleHttpOptions;
  #transport: Transport | undefined;
  #isClosed = false;

  constructor(definition: HttpDefinition, options: LifecycleHttpOptions) {
    this.#definition = definition;
    this.#options = options;
  }

  async call(...[message, scope]: Parameters<LifecycleEndpoint["call"]>): Promise<unknown> {
    return (this.#transport ?? (await this.#open())).call(message, scope);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#transport?.close();
  }

  async #open(): Promise<Transport> {
    const { url, connection } = this.#definition;
    const { ports, gateway, log, now } = this.#options;
    const { entry } = readEntry({ url, ...connection }, this.#options);
    if (entry === undefined) throw new TypeError("the definition is not one that can be connected to");
    const name = entry.endpoint ?? new URL(entry.url).host;
    const opened = await openRemote(entry, { ...ports, name, gateway, log, now });
    // No request may wait for another's work, so two may come here at once; the first one's is kept.
    if (this.#transport === undefined && !this.#isClosed) this.#transport = opened;
    else if (this.#transport !== undefined) await opened.close();
    return this.#transport ?? opened;
  }
}
