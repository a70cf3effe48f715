import { exceedsDepth, MAX_DEPTH } from "../chain/index.ts";
import { isObject, type JsonObject } from "../is-object.ts";
import type { Origin } from "./payload.ts";
import type { HookPoint } from "./point.ts";

/** What a hook's reply says of how long, and for what, it may be used again. */
export interface CacheHint {
  /** For how long, in milliseconds; the config's own bound may be less. */
  readonly ttl_ms: number;
  /**
   * What must be the same, as paths into the params such as `"arguments.command"`; one that a payload lacks keeps the
   * reply from being used again. The point and the tool's or the model's name always must be.
   */
  readonly key: readonly string[];
}

/** How far a hook's replies may be used again. */
export interface CacheOptions {
  /**
   * The longest time, in milliseconds, 1 to 86400000 (a day). The threat: what was approved stays so for that long,
   * whatever has happened since.
   */
  readonly maxTtlMs: number;
  /** How many replies are kept; the one that was not used for longest goes first. 1 to 100000. @default 1000 */
  readonly maxEntries?: number | undefined;
}

interface Entry {
  readonly reply: unknown;
  readonly untilMs: number;
}

type Paths = readonly (readonly string[])[];

const DAY_MS = 86_400_000;
const MAX_ENTRIES = 100_000;
/** A hook has a few ways to answer; one that names ever new keys gets nothing kept. */
const MAX_KEYS = 8;
const MAX_PATHS = 16;
/** What is larger is asked again: it would cost more to look up than it saves. */
const MAX_KEY_CHARS = 65_536;

/** The replies of one mounted hook that may be used again. It goes with the hook: a new one begins empty. */
export class DecisionCache {
  readonly #maxTtlMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  readonly #prepared = new WeakMap<object, { readonly key: string; readonly untilMs: number }>();
  readonly #keys = new Map<HookPoint, Map<string, Paths>>();

  /** @throws {RangeError} when a bound is out of range */
  constructor({ maxTtlMs, maxEntries = 1000 }: CacheOptions, now: () => number) {
    assertWithin("cache.maxTtlMs", maxTtlMs, DAY_MS);
    assertWithin("cache.maxEntries", maxEntries, MAX_ENTRIES);
    this.#maxTtlMs = maxTtlMs;
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  /** How many replies are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** The reply the hook gave before to what is the same by its own key; undefined when there is none. */
  async find(point: HookPoint, payload: Origin): Promise<{ readonly reply: unknown } | undefined> {
    for (const paths of this.#keys.get(point)?.values() ?? []) {
      const key = await toKey(point, payload, paths);
      const entry = key === undefined ? undefined : this.#entries.get(key);
      if (key === undefined || entry === undefined) continue;
      this.#entries.delete(key);
      if (entry.untilMs <= this.#now()) continue;
      this.#entries.set(key, entry);
      return entry;
    }
    return undefined;
  }

  /** Works out what a reply would be kept under; it is not kept before {@link DecisionCache.commit}. */
  async prepare(point: HookPoint, payload: Origin, reply: unknown): Promise<void> {
    const hint = readHint(reply);
    const paths = hint && this.#pathsOf(point, hint.key);
    if (hint === undefined || paths === undefined || !isObject(reply)) return;
    const ttlMs = Math.min(hint.ttl_ms, this.#maxTtlMs);
    const key = await toKey(point, payload, paths);
    if (key !== undefined) this.#prepared.set(reply, { key, untilMs: this.#now() + ttlMs });
  }

  /** Keeps a reply that was prepared and has been read as a verdict. */
  commit(reply: unknown): void {
    const prepared = isObject(reply) ? this.#prepared.get(reply) : undefined;
    if (!isObject(reply) || prepared === undefined) return;
    const { key, untilMs } = prepared;
    this.#prepared.delete(reply);
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, { reply: toKept(reply), untilMs });
  }

  #pathsOf(point: HookPoint, key: readonly string[]): Paths | undefined {
    const known = this.#keys.get(point) ?? new Map<string, Paths>();
    this.#keys.set(point, known);
    const name = JSON.stringify(key);
    const paths = known.get(name);
    if (paths !== undefined || known.size >= MAX_KEYS) return paths;
    const made = key.map((path) => path.split("."));
    known.set(name, made);
    return made;
  }
}

/** The hint of a reply that may be used for other calls: one that changes a payload or answers for a tool may not. */
function readHint(reply: unknown): CacheHint | undefined {
  if (!isObject(reply) || !isObject(reply["cache"]) || !isPlainVerdict(reply)) return undefined;
  const { ttl_ms: ttlMs, key } = reply["cache"];
  if (typeof ttlMs !== "number" || !(ttlMs > 0) || !Array.isArray(key)) return undefined;
  const paths: readonly unknown[] = key;
  if (paths.length === 0 || paths.length > MAX_PATHS || !paths.every(isPath)) return undefined;
  return { ttl_ms: ttlMs, key: paths };
}

const PLAIN_ACTIONS: readonly unknown[] = ["continue", "modify", "deny_tool", "", undefined, null];

function isPlainVerdict(reply: Readonly<Record<string, unknown>>): boolean {
  const hasPayload = ["request", "response", "call", "result"].some((key) => (reply[key] ?? null) !== null);
  return !hasPayload && PLAIN_ACTIONS.includes(reply["action"]);
}

function isPath(path: unknown): path is string {
  return typeof path === "string" && path !== "" && path.length <= 200;
}

/** What of a plain verdict is read. */
function toKept({ action, approved, reason }: JsonObject): unknown {
  return { action, approved, reason };
}

const encoder = new TextEncoder();

/** SHA-256 of what must be the same, in one form for equal values; undefined when something of it is not there. */
async function toKey(point: HookPoint, payload: Origin, paths: Paths): Promise<string | undefined> {
  const parts: unknown[] = [point, payload["tool"] ?? null, payload["model"] ?? null, paths];
  for (const path of paths) {
    const value = valueAt(payload, path);
    if (value === undefined || exceedsDepth(value, MAX_DEPTH)) return undefined;
    parts.push(value);
  }
  const text = toCanonicalJson(parts);
  if (text === undefined || text.length > MAX_KEY_CHARS) return undefined;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function valueAt(payload: Origin, path: readonly string[]): unknown {
  let value: unknown = payload;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

/** JSON in one form for equal values; undefined for a value that JSON does not have. */
function toCanonicalJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_key, part: unknown) => {
      // Both kinds are marked, so that a list is never taken for an object.
      if (Array.isArray(part)) return toMarkedList(part);
      if (!isObject(part)) return part;
      // Entries, for an object keeps keys that look like numbers in an order of its own.
      const entries = Object.entries(part).filter(([, item]) => item !== undefined);
      return ["{}", ...entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, item]) => [name, item])];
    });
  } catch {
    return undefined;
  }
}

function toMarkedList(items: readonly unknown[]): readonly unknown[] {
  return ["[]", ...items];
}

function assertWithin(name: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RangeError(`${name}: expected an integer from 1 to ${max}, got ${value}`);
}
