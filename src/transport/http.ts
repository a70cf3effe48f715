import { HookCallError, isHookCallError } from "../errors.ts";
import { silentLog } from "../log.ts";
import { Circuit, type Passage } from "./circuit.ts";
import type { OutgoingMessage, Transport, TransportScope, TransportState, TransportStatus } from "./contract.ts";
import { EventBatches } from "./event-batch.ts";
import { Handshake } from "./handshake.ts";
import { encodeNotification } from "./http-body.ts";
import { type Batch, HttpClient } from "./http-client.ts";
import { createFixedHeaders } from "./http-headers.ts";
import type { HttpOptions, HttpSettings } from "./http-options.ts";
import { parseHookUrl } from "./http-url.ts";
import { OwnScope, timerSchedule } from "./schedule.ts";
import { Slots } from "./slots.ts";
import { settlesWithin } from "../wait.ts";
import { Watch } from "./watch.ts";

const HELLO_MAX_AGE_MS = 300_000;
const HELLO_TIMEOUT_MS = 5000;
const EVENTS_TIMEOUT_MS = 5000;
const CLOSE_TIMEOUT_MS = 2000;
/** After so many failed greetings in a row the hook is shown as failed. */
const FAILED_GREETINGS = 5;
const MIN_WAITING = 16;
const MAX_ERROR_CHARS = 300;
const APPROVAL_METHOD = "hook.approve_tool";

/**
 * Reaches a hook over HTTP: one POST with one JSON-RPC 2.0 request for each call, all of it inside the deadline of the
 * call. It holds no timer for a call. Events go out in batches, apart from the calls.
 * @throws {TypeError} when the URL breaks a rule, a header is none, or neither a signature nor `unsigned` is given
 * @throws {RangeError} when a number is out of its bounds
 * @see docs/protocol.md, "A hook call over HTTP"
 */
export function createHttpTransport(options: HttpOptions): Transport {
  const { maxRetries = 1, maxConcurrency = 64, maxMessageBytes = 1_048_576, log = silentLog } = options;
  assertWithin("maxRetries", maxRetries, { min: 0, max: 10 });
  assertWithin("maxConcurrency", maxConcurrency, { min: 1, max: 65_536 });
  assertWithin("maxMessageBytes", maxMessageBytes, { min: 1, max: Number.MAX_SAFE_INTEGER });
  const { signature } = options;
  if (signature === undefined && options.unsigned !== true) {
    throw new TypeError("signature must be given, or unsigned must be true");
  }
  const { href, isLoopback } = parseHookUrl(options.url, options);
  const settings: HttpSettings = {
    name: options.name,
    exchange: options.exchange,
    url: href,
    signature,
    headers: createFixedHeaders(options.headers ?? {}, { hook: options.name, log }),
    maxRetries,
    maxMessageBytes,
    log,
    now: options.now ?? (() => performance.now()),
    epochNow: options.epochNow ?? Date.now,
    random: options.random ?? Math.random,
    schedule: options.schedule ?? timerSchedule,
  };
  const { isolatesRequests = false } = options;
  // No more than may run, or a few: an endpoint that does not answer must not take up all calls of a gateway.
  const maxWaiting = isolatesRequests ? 0 : Math.max(maxConcurrency, MIN_WAITING);
  const slots = new Slots({ maxRunning: maxConcurrency, maxWaiting, now: settings.now });
  const isLocal = isLoopback || options.isBinding === true;
  const mayApprove = signature === undefined ? isLocal : signature.provesApprovals;
  return new HttpTransport(settings, { options, slots, mayApprove });
}

interface Parts {
  readonly options: HttpOptions;
  readonly slots: Slots;
  readonly mayApprove: boolean;
}

class HttpTransport implements Transport {
  readonly #settings: HttpSettings;
  readonly #slots: Slots;
  readonly #mayApprove: boolean;
  readonly #hasGreeting: boolean;
  readonly #client: HttpClient;
  readonly #circuit: Circuit;
  readonly #handshake: Handshake;
  readonly #events: EventBatches;
  #failedGreetings = 0;
  #wasGreeted = false;
  #lastError: string | undefined;
  #ready: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(settings: HttpSettings, { options, slots, mayApprove }: Parts) {
    const { now, name, log, random, schedule } = settings;
    this.#settings = settings;
    this.#slots = slots;
    this.#mayApprove = mayApprove;
    this.#hasGreeting = options.greeting !== undefined;
    this.#client = new HttpClient(settings);
    this.#circuit = new Circuit({ now });
    this.#handshake = new Handshake({
      greeting: options.greeting,
      // A greeting changes nothing, so it can always be repeated.
      send: (greeting, watch) => this.#client.call(greeting, watch, true),
      now,
      maxAgeMs: HELLO_MAX_AGE_MS,
      isShared: options.isolatesRequests !== true,
      onEnd: (error) => this.#onGreeted(error),
    });
    const prepare = (notifications: readonly string[]): (() => Promise<void>) => {
      const batch = this.#client.createBatch(notifications);
      return () => this.#deliver(batch);
    };
    const { waitUntil, currentRequest } = options;
    this.#events = new EventBatches({ name, prepare, log, schedule, random, waitUntil, currentRequest });
  }

  async call(message: OutgoingMessage, scope: TransportScope): Promise<unknown> {
    this.#assertCallable(message.method);
    this.#circuit.check();
    let passage: Passage | undefined;
    const watch = new Watch(scope, (reason) => {
      if (isHookCallError(reason) && reason.kind === "timeout") passage?.fail();
      else passage?.leave();
    });
    const taken = this.#slots.take(watch, message.method === APPROVAL_METHOD);
    const slot = taken instanceof Promise ? await taken : taken;
    try {
      watch.assertGoing();
      passage = this.#circuit.enter(scope.remainingMs);
      if (!this.#handshake.isFresh) await this.#handshake.ensure(watch);
      const result = await this.#client.call(message, watch, this.#handshake.isIdempotent(message.method));
      passage.succeed();
      return result;
    } catch (error) {
      passage?.fail();
      if (isHookCallError(error)) this.#lastError = error.message.slice(0, MAX_ERROR_CHARS);
      throw error;
    } finally {
      this.#slots.release(slot);
    }
  }

  async notify(message: OutgoingMessage): Promise<void> {
    if (this.#closed !== undefined) throw closed();
    this.#events.push(encodeNotification(message));
  }

  ready(): Promise<void> {
    this.#ready ??= this.#greet();
    return this.#ready;
  }

  status(): TransportStatus {
    const { delivered, dropped } = this.#events.counts;
    const state = this.#state();
    return {
      state,
      restartCount: 0,
      circuitOpen: this.#circuit.isOpen,
      deliveredEvents: delivered,
      droppedEvents: dropped,
      ...(state === "ready" || this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const flushed = this.#events.flush();
    await settlesWithin(Promise.all([flushed, this.#slots.idle()]), CLOSE_TIMEOUT_MS);
    await this.#settings.exchange.close();
    await flushed;
  }

  #assertCallable(method: string): void {
    if (this.#closed !== undefined) throw closed();
    if (this.#mayApprove || method !== APPROVAL_METHOD) return;
    throw new HookCallError(
      "unsigned_reply",
      "the hook's signature, or the lack of one, does not allow it to approve tools",
    );
  }

  #state(): TransportState {
    if (this.#closed !== undefined) return "closed";
    if (this.#failedGreetings >= FAILED_GREETINGS) return "failed";
    if (this.#failedGreetings > 0 || this.#circuit.isOpen) return "backing_off";
    return this.#wasGreeted || !this.#hasGreeting ? "ready" : "starting";
  }

  async #greet(): Promise<void> {
    const scope = new OwnScope(HELLO_TIMEOUT_MS, this.#settings);
    try {
      await this.#handshake.ensure(new Watch(scope, () => {}));
    } catch {
      // The handshake has reported it.
    } finally {
      scope.dispose();
    }
  }

  #onGreeted(error: HookCallError | undefined): void {
    const { log, name } = this.#settings;
    if (error === undefined) {
      if (!this.#wasGreeted) log.info("the hook answered the greeting", { hook: name });
      this.#wasGreeted = true;
      this.#failedGreetings = 0;
      return;
    }
    this.#failedGreetings += 1;
    this.#lastError = error.message.slice(0, MAX_ERROR_CHARS);
    log.warn("the hook did not answer the greeting", { hook: name, kind: error.kind, error: this.#lastError });
  }

  async #deliver(batch: Batch): Promise<void> {
    this.#circuit.check();
    const scope = new OwnScope(EVENTS_TIMEOUT_MS, this.#settings);
    try {
      const watch = new Watch(scope, () => {});
      if (!this.#handshake.isFresh) await this.#handshake.ensure(watch);
      await this.#client.deliver(batch, watch);
    } finally {
      scope.dispose();
    }
  }
}

function closed(): HookCallError {
  return new HookCallError("not_running", "the hook is not running: it was closed");
}

function assertWithin(name: string, value: number, { min, max }: { readonly min: number; readonly max: number }): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(`${name} must be an integer from ${min} to ${max}, got ${value}`);
}
