import { CallScope, Current } from "../chain/index.ts";
import { HookgateError } from "../errors.ts";
import { parseContext, RUN_METHOD } from "../jcli/codec.ts";
import type { HookContext as LifecycleContext } from "../jcli/context.ts";
import { type Log, silentLog } from "../log.ts";
import { HELLO_METHOD, isEventMethod, toHookPoint } from "./codec.ts";
import type { Hook, HookContext } from "./hook.ts";
import { createLocalPort, LocalContext } from "./local.ts";
import { parseHookEvent, parseHookPayload } from "./params.ts";

/** What a handler may know of the call besides its params. */
export interface HandlerContext {
  /** Aborts when the caller gives up or the deadline passes. */
  readonly signal?: AbortSignal | undefined;
  /** Tells what `signal` tells, and costs less: calls `listener` once, at once when the call was cut. @default nothing does */
  readonly onAbort?: ((listener: (reason: unknown) => void) => void) | undefined;
  /** What the caller allows, in milliseconds. @default no deadline of its own */
  readonly timeoutMs?: number | undefined;
}

/** Answers one JSON-RPC method of the hook protocol; what it returns is the result. */
export type HookHandler = (method: string, params: unknown, context?: HandlerContext) => Promise<unknown>;

/** Options of {@link createHookHandler}. */
export interface HookHandlerOptions {
  /** The name the hook gives itself in its reply to `hook.hello`. @default "hookgate-hook" */
  readonly name?: string | undefined;
  /** The log handed to the hook. @default none */
  readonly log?: Log | undefined;
}

/**
 * Turns a hook into a handler of the hook protocol, for any transport.
 * @returns a handler that throws {@link HookgateError} `ERR_METHOD_NOT_FOUND` for a point the hook does not serve,
 *   `ERR_INVALID_PARAMS` for params that are not the point's, and whatever the hook throws
 * @see docs/protocol.md
 */
export function createHookHandler(hook: Hook, options: HookHandlerOptions = {}): HookHandler {
  const { name = "hookgate-hook", log = silentLog } = options;
  const port = createLocalPort(hook, { log });
  return async (method, params, context = {}) => {
    if (method === HELLO_METHOD) {
      const events = Object.keys(hook.lifecycle ?? {});
      return { ok: true, name, points: [...port.points], ...(events.length > 0 && { events }) };
    }
    const { scope, dispose } = createScope(context);
    try {
      if (isEventMethod(method)) return (await port.notify(new Current(parseHookEvent(method, params)), scope)) ?? {};
      if (method === RUN_METHOD) return (await runLifecycle(hook, params, new LocalContext(scope, log))) ?? {};
      const point = toHookPoint(method);
      if (point === undefined || !port.points.has(point)) {
        throw new HookgateError("ERR_METHOD_NOT_FOUND", `this hook does not serve ${method.slice(0, 80)}`);
      }
      // What is no reply goes out as it is: the caller records it.
      return (await port.call(point, new Current(parseHookPayload(point, params)), scope)) ?? {};
    } finally {
      dispose();
    }
  };
}

/** An event without a handler is no "no change": whoever configured the hook for it meant it to be asked. */
async function runLifecycle({ lifecycle = {} }: Hook, params: unknown, scope: HookContext): Promise<unknown> {
  const { cwd = "/", ...given } = parseContext(params);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an event's context is what its handler takes
  const handler = lifecycle[given.event] as ((context: LifecycleContext, scope: HookContext) => unknown) | undefined;
  if (handler === undefined) {
    throw new HookgateError("ERR_METHOD_NOT_FOUND", `this hook does not serve ${RUN_METHOD} for ${given.event}`);
  }
  return handler.call(lifecycle, { ...given, cwd }, scope);
}

const monotonic = (): number => performance.now();

function createScope(context: HandlerContext): { scope: CallScope; dispose: () => void } {
  const { signal, onAbort: listen, timeoutMs = Infinity } = context;
  const scope = new CallScope(monotonic() + timeoutMs, monotonic);
  listen?.((reason) => scope.abort(reason));
  const onAbort = (): void => scope.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort);
  return { scope, dispose: () => signal?.removeEventListener("abort", onAbort) };
}
