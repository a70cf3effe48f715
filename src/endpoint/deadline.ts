import { HookCallError } from "../errors.ts";
import { MAX_DELAY_MS } from "../wait.ts";

const DELAY = /^[1-9]\d{0,14}$/;

/** How long a call may take where the header says nothing, in milliseconds: what an approver has by default. */
export const DEFAULT_TIMEOUT_MS = 60_000;

/** What is left of the caller's deadline, in milliseconds, as `hook-timeout-ms` says it. */
export function parseTimeout(header: string | null): number {
  if (header === null || !DELAY.test(header)) return DEFAULT_TIMEOUT_MS;
  return Math.min(Number(header), MAX_DELAY_MS);
}

/** When a call is cut. */
export interface Cut {
  readonly timeoutMs: number;
  /** Aborts when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a call under a deadline. The timer settles it, also where the call does not heed its signal.
 * @throws {HookCallError} `timeout`, or `aborted` when the caller is gone
 */
export function runWithin<T>(call: (signal: AbortSignal) => Promise<T>, { timeoutMs, signal }: Cut): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const cut = (error: HookCallError): void => {
      dispose();
      controller.abort(error);
      reject(error);
    };
    const timer = setTimeout(() => cut(new HookCallError("timeout", "the deadline has passed")), timeoutMs);
    const onAbort = (): void => cut(new HookCallError("aborted", "the caller is gone"));
    const dispose = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    if (signal?.aborted) {
      onAbort();
      return;
    }
    signal?.addEventListener("abort", onAbort);
    call(controller.signal).then(
      (value) => {
        dispose();
        resolve(value);
      },
      (error: unknown) => {
        dispose();
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what the hook threw goes on as it is
        reject(error);
      },
    );
  });
}
