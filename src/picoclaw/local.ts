import { type CallScope, createDraft, IN_PROCESS } from "../chain/index.ts";
import { type Log, silentLog } from "../log.ts";
import { createEventFilter } from "./event.ts";
import { assertHandlers, HANDLERS, type Hook, type HookContext } from "./hook.ts";
import type { HookPort, PortStatus } from "./port.ts";
import { HOOK_POINTS } from "./point.ts";

/** Options of {@link createLocalPort}. */
export interface LocalPortOptions {
  /** Which events `onEvent` is told of. @default every event */
  readonly observe?: readonly string[];
  /** The log handed to the hook. @default none */
  readonly log?: Log;
}

/**
 * Reaches a hook that runs in this process. Each call gets a private view of the payload.
 * @throws {TypeError} when a handler is not a function, or has the name of its hook point
 */
export function createLocalPort(hook: Hook, { observe = ["*"], log = silentLog }: LocalPortOptions = {}): HookPort {
  assertHandlers(hook);
  let state: PortStatus["state"] = "ready";
  const points = new Set(HOOK_POINTS.filter((point) => hook[HANDLERS[point]] !== undefined));
  return {
    source: IN_PROCESS,
    points,
    ...(hook.onEvent === undefined ? {} : { observes: createEventFilter(observe) }),
    call(point, current, scope) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a point's payload is what its handler takes
      const handler = hook[HANDLERS[point]] as ((payload: object, context: HookContext) => unknown) | undefined;
      return handler?.call(hook, createDraft(current.value), new LocalContext(scope, log));
    },
    notify: (event, scope) => hook.onEvent?.(createDraft(event.value), new LocalContext(scope, log)),
    status: () => ({ state }),
    ready: () => Promise.resolve(),
    async close() {
      if (state === "closed") return;
      state = "closed";
      await hook.close?.();
    },
  };
}

/** What a handler in this process is given beside the payload; the call's signal is made only when it is asked for. */
export class LocalContext implements HookContext {
  readonly #scope: CallScope;
  readonly log: Log;

  constructor(scope: CallScope, log: Log) {
    this.#scope = scope;
    this.log = log;
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get remainingMs(): number {
    return this.#scope.remainingMs;
  }

  get caller(): string | undefined {
    return this.#scope.caller;
  }
}
