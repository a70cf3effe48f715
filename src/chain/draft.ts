import { HookCallError } from "../errors.ts";

/** The deepest nesting of a payload that a hook may return. */
export const MAX_DEPTH = 512;

const STATE: unique symbol = Symbol("draft state");

type Container = Record<PropertyKey, unknown>;

/**
 * A private view of a payload for one in-process hook: reads go to the shared value, the first write copies what it
 * touches and nothing else. A hook that changes nothing costs no copy, whatever the payload's size.
 */
export function createDraft<P extends object>(value: P): P {
  const isArray = Array.isArray(value);
  // A frozen payload needs a stand-in: proxy invariants would forbid handing out views of its parts.
  const target: object = Object.isExtensible(value) ? value : isArray ? [] : {};
  return new Proxy(target, new DraftState(value, isArray)) as P;
}

/**
 * What a hook returned, free of drafts and shared with nobody: parts of the payload it left alone are the payload's own,
 * everything else is a copy.
 * @throws {HookCallError} `bad_result` for what JSON cannot hold, and for nesting beyond {@link MAX_DEPTH}
 */
export function releaseDraft(value: unknown): unknown {
  return release(value, 0);
}

/**
 * Refuses a payload nested too deep to be handled further.
 * @throws {HookCallError} `bad_result` beyond {@link MAX_DEPTH}
 */
export function assertDepth(value: unknown): void {
  if (exceedsDepth(value, MAX_DEPTH)) throw tooDeep();
}

/** Whether a value is nested deeper than `limit` containers. */
export function exceedsDepth(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  for (const key in value) if (exceedsDepth((value as Container)[key], limit - 1)) return true;
  return false;
}

/** Whether two JSON values are the same; key order does not matter. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isSameJson((a as Container)[key], (b as Container)[key]));
}

function tooDeep(): HookCallError {
  return new HookCallError("bad_result", `nested deeper than ${MAX_DEPTH} levels`);
}

function release(value: unknown, depth: number): unknown {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
    throw new HookCallError("bad_result", `a ${typeof value} cannot be part of a payload`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw tooDeep();
  const state = (value as Container)[STATE];
  if (state instanceof DraftState) return state.release(depth);
  if (Array.isArray(value)) return value.map((item) => release(item, depth + 1));
  if (!isPlain(value)) return cloneExotic(value);
  const copy: Container = {};
  for (const key of Object.keys(value)) put(copy, key, release((value as Container)[key], depth + 1));
  return copy;
}

/** Sets an own property, also one named `__proto__`, without running a setter. */
function put(object: object, key: PropertyKey, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (object as Container)[key] = value;
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function cloneExotic(value: object): unknown {
  try {
    return structuredClone(value);
  } catch (cause) {
    throw new HookCallError("bad_result", "a value that cannot be copied cannot be part of a payload", { cause });
  }
}

class DraftState implements ProxyHandler<object> {
  readonly #base: Container;
  readonly #isArray: boolean;
  #copy: Container | undefined;
  #children: Map<PropertyKey, object> | undefined;

  constructor(base: object, isArray: boolean) {
    this.#base = base as Container;
    this.#isArray = isArray;
  }

  get(_target: object, key: PropertyKey): unknown {
    if (key === STATE) return this;
    const value = (this.#copy ?? this.#base)[key];
    if (typeof value !== "object" || value === null) return value;
    return this.#view(key, value);
  }

  set(_target: object, key: PropertyKey, value: unknown): boolean {
    put(this.#writable(), key, value);
    return true;
  }

  has(_target: object, key: PropertyKey): boolean {
    return key in (this.#copy ?? this.#base);
  }

  deleteProperty(_target: object, key: PropertyKey): boolean {
    return Reflect.deleteProperty(this.#writable(), key);
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.#copy ?? this.#base);
  }

  getOwnPropertyDescriptor(_target: object, key: PropertyKey): PropertyDescriptor | undefined {
    const own = Reflect.getOwnPropertyDescriptor(this.#copy ?? this.#base, key);
    if (own === undefined) return undefined;
    const isLength = this.#isArray && key === "length";
    return { value: this.get(_target, key), writable: true, enumerable: !isLength, configurable: !isLength };
  }

  defineProperty(_target: object, key: PropertyKey, { value, get, set }: PropertyDescriptor): boolean {
    return get === undefined && set === undefined && this.set(_target, key, value);
  }

  setPrototypeOf(): boolean {
    return false;
  }

  preventExtensions(): boolean {
    return false;
  }

  release(depth: number): unknown {
    const changes = new Map<PropertyKey, unknown>();
    for (const [key, child] of this.#children ?? []) {
      const released = release(child, depth + 1);
      if (released !== this.#base[key]) changes.set(key, released);
    }
    if (this.#copy === undefined) {
      if (changes.size === 0) return this.#base;
      const copy = this.#shallow();
      for (const [key, value] of changes) put(copy, key, value);
      return copy;
    }
    return this.#releaseCopy(this.#copy, { changes, depth });
  }

  #releaseCopy(
    copy: Container,
    { changes, depth }: { readonly changes: ReadonlyMap<PropertyKey, unknown>; readonly depth: number },
  ): unknown {
    const result: Container = this.#isArray ? ([] as unknown as Container) : {};
    for (const key of Object.keys(copy)) {
      const isBase = Object.hasOwn(this.#base, key) && copy[key] === this.#base[key];
      put(result, key, isBase ? (changes.has(key) ? changes.get(key) : copy[key]) : release(copy[key], depth + 1));
    }
    return result;
  }

  #view(key: PropertyKey, value: object): unknown {
    // What the hook itself put there is its own; only the payload's parts need a view.
    if (!Object.hasOwn(this.#base, key) || value !== this.#base[key]) return value;
    let child = this.#children?.get(key);
    if (child === undefined) {
      child = Array.isArray(value) || isPlain(value) ? createDraft(value) : (cloneExotic(value) as object);
      this.#children ??= new Map();
      this.#children.set(key, child);
    }
    return child;
  }

  #writable(): Container {
    this.#copy ??= this.#shallow();
    return this.#copy;
  }

  #shallow(): Container {
    return this.#isArray ? ((this.#base as unknown as unknown[]).slice() as unknown as Container) : { ...this.#base };
  }
}
