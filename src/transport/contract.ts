/** What a transport may know of the deadline of the call it carries. The chain's call scope is one. */
export interface TransportScope {
  /** What is left of the deadline in milliseconds; 0 when it has passed. */
  readonly remainingMs: number;
  /** Aborts when the call is cut. Made on first use, so a transport that does not need it does not pay for it. */
  readonly signal: AbortSignal;
  /** Calls `listener` once when the call is cut; cheaper than {@link TransportScope.signal}. One listener at most. */
  onAbort(listener: (reason: unknown) => void): void;
  /** Which attempt the call is in, for its record; a transport that tries again counts it up. */
  attempt?: number;
  /** The W3C traceparent that goes with the call. @default one named after the call's id */
  readonly traceparent?: string | undefined;
}

/** One JSON-RPC message to a hook. */
export interface OutgoingMessage {
  /** The JSON-RPC method, such as `hook.before_tool`. */
  readonly method: string;
  /** The params as JSON text, encoded once for all the hooks of a chain that see the same payload. */
  readonly params: string;
  /**
   * What `params` was made of. A transport may keep what it derives from the params by this object, for the next hook
   * that is sent the same.
   */
  readonly payload?: object;
}

/**
 * Whether the other side can be called, and why not. `failed` means that five starts in a row failed; it is still
 * tried again, ever more rarely.
 */
export type TransportState = "starting" | "ready" | "backing_off" | "failed" | "closed";

/** What is known of the other side, for people and for `/v1/hooks`. */
export interface TransportStatus {
  readonly state: TransportState;
  /** Why it is not ready. At most 300 characters. */
  readonly lastError?: string;
  /** How often it was started again. */
  readonly restartCount: number;
  /** How many of its messages were dropped because they could not be read or matched no call. */
  readonly droppedLines?: number;
  /** How many events were delivered, where they are sent in batches. */
  readonly deliveredEvents?: number;
  /** How many events were not delivered, where they are sent in batches. */
  readonly droppedEvents?: number;
  /** Whether calls are refused for a while because the last ones gave no verdict. */
  readonly circuitOpen?: boolean;
  /** The operating system's process id, where there is one. */
  readonly pid?: number;
}

/** A way to reach one hook that lives elsewhere. */
export interface Transport {
  /**
   * Sends a request and waits for its reply. The caller settles the deadline: when the scope is cut, the transport
   * forgets the call and may leave the promise pending.
   * @returns the JSON-RPC result as it came; `undefined` when the reply had none
   * @throws {HookCallError} with the kind of no-verdict when there is no result
   */
  call(message: OutgoingMessage, scope: TransportScope): Promise<unknown>;
  /**
   * Sends a notification.
   * @throws {HookCallError} when it cannot be handed on
   */
  notify(message: OutgoingMessage, scope: TransportScope): Promise<void>;
  /** Resolves when the other side can be called or has failed to start once; never rejects. */
  ready(): Promise<void>;
  status(): TransportStatus;
  /**
   * Lets go of the other side. Calls in flight may still be answered while it leaves; those that are not end as
   * no-verdicts. Idempotent; never rejects.
   */
  close(): Promise<void>;
}

/** How a transport greets the other side before the first call. */
export interface Greeting extends OutgoingMessage {
  /**
   * Reads the reply's result.
   * @throws {HookCallError} when it refuses
   */
  accept(result: unknown): void;
}
