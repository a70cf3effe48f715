import { HookCallError, HookgateError, isHookgateError } from "../errors.ts";
import { type GatewayResponse, readText } from "./fetch.ts";

/** Options of one exchange. */
export interface ExchangeOptions {
  /** When it is cut, whatever the other side does; in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a gateway answered, read to its end. */
export interface Answer {
  readonly status: number;
  readonly isJson: boolean;
  readonly text: string;
}

/**
 * Runs an exchange that is cut when its time is up or its signal aborts.
 * @throws {HookCallError} `timeout`, and `unreachable` for what is no error of ours
 * @throws {HookgateError} `ERR_ABORTED` when the signal aborts
 */
export function exchange<T>(
  run: (signal: AbortSignal) => Promise<T>,
  { timeoutMs, signal }: ExchangeOptions,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      act();
    };
    const cut = (error: HookgateError): void => {
      settle(() => reject(error));
      controller.abort(error);
    };
    const onAbort = (): void => cut(new HookgateError("ERR_ABORTED", "the host aborted", { cause: signal?.reason }));
    const timer = setTimeout(() => cut(new HookCallError("timeout", `no answer in ${timeoutMs} ms`)), timeoutMs);
    if (signal?.aborted === true) {
      onAbort();
      return;
    }
    signal?.addEventListener("abort", onAbort);
    run(controller.signal).then(
      (answer) => settle(() => resolve(answer)),
      (error: unknown) => settle(() => reject(toUnreachable(error))),
    );
  });
}

/**
 * Reads an answer.
 * @throws {HookCallError} `too_large`, or `bad_json` when it is not UTF-8
 */
export async function readAnswer(response: GatewayResponse, maxReplyBytes: number): Promise<Answer> {
  const text = await readText(response.body, maxReplyBytes);
  if (text === undefined) throw new HookCallError("too_large", `the answer is larger than ${maxReplyBytes} bytes`);
  return { status: response.status, isJson: isJson(response), text };
}

/** Whether an answer redirects; zero is how a browser-like fetch shows a redirect that it did not follow. */
export function isRedirect({ status }: Pick<Answer, "status">): boolean {
  return status === 0 || (status >= 300 && status <= 399);
}

/** What went wrong on the way, as an error of ours. */
export function toUnreachable(error: unknown): HookgateError {
  if (isHookgateError(error)) return error;
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  const message = `the gateway cannot be reached${code === undefined ? "" : `: ${code}`}`;
  return new HookCallError("unreachable", message, { cause: error });
}

function isJson({ headers }: GatewayResponse): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" && /^\w{1,40}$/.test(error.code) ? error.code : undefined;
}
