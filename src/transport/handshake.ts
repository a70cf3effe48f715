import { HookCallError, isHookCallError } from "../errors.ts";
import type { Greeting } from "./contract.ts";
import type { Watch } from "./watch.ts";

/** Options of {@link Handshake}. */
export interface HandshakeOptions {
  /** Absent: the endpoint is not greeted. */
  readonly greeting: Greeting | undefined;
  /** Sends the greeting within a call's deadline and gives back its result. */
  readonly send: (greeting: Greeting, watch: Watch) => Promise<unknown>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** How long an answered greeting counts, in milliseconds. */
  readonly maxAgeMs: number;
  /** Whether calls that come at the same time wait for one greeting. */
  readonly isShared: boolean;
  /** Told of each greeting that was answered, and of each that was not. */
  readonly onEnd: (error: HookCallError | undefined) => void;
}

/** Greets an endpoint before its first call, and again when the answer is old. */
export class Handshake {
  readonly #options: HandshakeOptions;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #idempotent: readonly string[] | boolean = false;
  #running: Promise<unknown> | undefined;

  constructor(options: HandshakeOptions) {
    this.#options = options;
  }

  /** Whether the next call goes out without a greeting. */
  get isFresh(): boolean {
    return this.#options.greeting === undefined || this.#options.now() < this.#validUntilMs;
  }

  /** Whether the endpoint has said that doing this method twice is doing it once. */
  isIdempotent(method: string): boolean {
    if (typeof this.#idempotent === "boolean") return this.#idempotent;
    return this.#idempotent.includes(method) || this.#idempotent.includes(method.replace(/^hook\./, ""));
  }

  /**
   * Resolves when the endpoint may be called.
   * @throws {HookCallError} when it refuses or does not answer; a later call tries again
   */
  async ensure(watch: Watch): Promise<void> {
    while (!this.isFresh) {
      if (this.#running === undefined || !this.#options.isShared) {
        await this.#greet(watch);
        return;
      }
      const error = await this.#follow(this.#running, watch);
      if (error !== undefined) throw error;
    }
  }

  /** Waits for a greeting that another call sends. @returns why it failed, unless that call was given up */
  async #follow(running: Promise<unknown>, watch: Watch): Promise<HookCallError | undefined> {
    let error: unknown;
    await watch.wait((done) => {
      void running.then((failure) => {
        error = failure;
        done();
      });
      return () => {};
    });
    return isHookCallError(error) ? error : undefined;
  }

  async #greet(watch: Watch): Promise<void> {
    const { promise, resolve } = withResolver<unknown>();
    this.#running = promise;
    let failure: unknown;
    try {
      await this.#exchange(watch);
    } catch (error) {
      failure = watch.isCut ? undefined : error;
      throw error;
    } finally {
      this.#running = undefined;
      resolve(failure);
    }
  }

  async #exchange(watch: Watch): Promise<void> {
    const { greeting, send, now, maxAgeMs, onEnd } = this.#options;
    if (greeting === undefined) return;
    try {
      const result = await send(greeting, watch);
      greeting.accept(result);
      this.#idempotent = readIdempotent(result);
      this.#validUntilMs = now() + maxAgeMs;
      onEnd(undefined);
    } catch (cause) {
      if (!isHookCallError(cause)) throw cause;
      const error = new HookCallError(cause.kind, `${greeting.method}: ${cause.message}`, { cause });
      onEnd(error);
      throw error;
    }
  }
}

/** A promise and what resolves it; `Promise.withResolvers` came after ES2023. */
function withResolver<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = ignore;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function ignore(): void {}

/** `idempotent` of the reply: true for every method, or a list of methods, with or without `hook.` in front. */
function readIdempotent(result: unknown): readonly string[] | boolean {
  if (typeof result !== "object" || result === null || !("idempotent" in result)) return false;
  const { idempotent } = result;
  if (Array.isArray(idempotent)) return idempotent.filter((method) => typeof method === "string");
  return idempotent === true;
}
