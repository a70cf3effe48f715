import { HookCallError } from "../errors.ts";
import { exceedsDepth, isPlainObject, MAX_DEPTH } from "./json.ts";

const STATE: unique symbol = Symbol("draft state");

type Container = object & { [key: PropertyKey]: unknown };

/**
 * A private view of a payload for one in-process hook: reads go to the shared value, the first write copies what it
 * touches and nothing else. A hook that changes nothing costs no copy, whatever the payload's size.
 */
export function createDraft<P extends object>(value: P): P {
  const state = new DraftState(toContainer(value));
  // A stand-in, for what is frozen, now or later: proxy invariants would forbid handing out views of its parts.
  const target: object = Array.isArray(value) ? new ArrayStandIn(state) : new ObjectStandIn(state);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every trap answers for the value, so the view has its type
  return new Proxy(target, state) as P;
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

function tooDeep(): HookCallError {
  return new HookCallError("bad_result", `nested deeper than ${MAX_DEPTH} levels`);
}

/** Any object can be read and written by key; this is the one place that says so. */
function toContainer(value: object): Container {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an index signature over unknown promises nothing
  return value as Container;
}

function release(value: unknown, depth: number): unknown {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
    throw new HookCallError("bad_result", `a ${typeof value} cannot be part of a payload`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) throw tooDeep();
  const state = toContainer(value)[STATE];
  if (state instanceof DraftState) return state.release(depth);
  if (Array.isArray(value)) return value.map((item) => release(item, depth + 1));
  if (!isPlainObject(value) && !isInstance(value)) return cloneExotic(value);
  const copy: Container = {};
  for (const [key, part] of Object.entries(value)) put(copy, key, release(part, depth + 1));
  return copy;
}

/** Sets an own property, also one named `__proto__`, without running a setter. */
function put(object: Container, key: PropertyKey, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** Whether an object is of a class of the hook's own: as in JSON, its own keys are what counts. */
function isInstance(value: object): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function cloneExotic(value: object): object {
  try {
    return structuredClone(value);
  } catch (cause) {
    throw new HookCallError("bad_result", "a value that cannot be copied cannot be part of a payload", { cause });
  }
}

function shallowCopy(value: Container): Container {
  return Array.isArray(value) ? toContainer(value.slice()) : { ...value };
}

/** How Node, Deno and Bun let an object say what `console.log` shows; they look past a proxy, at its target. */
const INSPECT: symbol = Symbol.for("nodejs.util.inspect.custom");

class ObjectStandIn {
  readonly [STATE]: DraftState;

  constructor(state: DraftState) {
    this[STATE] = state;
  }

  [INSPECT](): unknown {
    return this[STATE].release(0);
  }
}

class ArrayStandIn extends Array<unknown> {
  readonly [STATE]: DraftState;

  constructor(state: DraftState) {
    super();
    this[STATE] = state;
  }

  [INSPECT](): unknown {
    return this[STATE].release(0);
  }
}

class DraftState implements ProxyHandler<object> {
  readonly #base: Container;
  #copy: Container | undefined;
  #children: Map<PropertyKey, object> | undefined;

  constructor(base: Container) {
    this.#base = base;
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

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    if (!Object.hasOwn(this.#copy ?? this.#base, key)) return undefined;
    const isLength = key === "length" && Array.isArray(this.#base);
    return { value: this.get(target, key), writable: true, enumerable: !isLength, configurable: !isLength };
  }

  defineProperty(target: object, key: PropertyKey, descriptor: PropertyDescriptor): boolean {
    return !("get" in descriptor) && !("set" in descriptor) && this.set(target, key, descriptor.value);
  }

  getPrototypeOf(): object | null {
    return Reflect.getPrototypeOf(this.#base);
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
    if (this.#copy !== undefined) return this.#releaseCopy(this.#copy, { changes, depth });
    if (changes.size === 0) return this.#base;
    const copy = shallowCopy(this.#base);
    for (const [key, value] of changes) put(copy, key, value);
    return copy;
  }

  #releaseCopy(
    copy: Container,
    { changes, depth }: { readonly changes: ReadonlyMap<PropertyKey, unknown>; readonly depth: number },
  ): unknown {
    const result = shallowCopy(copy);
    for (const [key, value] of Object.entries(copy)) {
      if (!this.#isBase(key, value)) put(result, key, release(value, depth + 1));
      else if (changes.has(key)) put(result, key, changes.get(key));
    }
    return result;
  }

  /** What the hook itself put there is its own; only the payload's parts need a view. */
  #view(key: PropertyKey, value: object): object {
    if (!this.#isBase(key, value)) return value;
    let child = this.#children?.get(key);
    if (child === undefined) {
      child = Array.isArray(value) || isPlainObject(value) ? createDraft(value) : cloneExotic(value);
      this.#children ??= new Map();
      this.#children.set(key, child);
    }
    return child;
  }

  #isBase(key: PropertyKey, value: unknown): boolean {
    return Object.hasOwn(this.#base, key) && value === this.#base[key];
  }

  #writable(): Container {
    this.#copy ??= shallowCopy(this.#base);
    return this.#copy;
  }
}
