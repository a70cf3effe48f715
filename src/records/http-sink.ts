import { isObject } from "../is-object.ts";
import type { RecordSink } from "./sink.ts";

/** Sends a request to a collector; the platform's `fetch` is one. */
export type CollectorFetch = (
  url: string,
  init: CollectorRequest,
) => Promise<{ readonly status: number; readonly body?: { cancel(): Promise<void> } | null }>;

interface CollectorRequest {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly redirect: "manual";
}

/** Options of {@link createHttpSink}. */
export interface HttpSinkOptions {
  readonly url: string;
  /** Sent with every batch, such as `authorization`. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch: CollectorFetch;
  /** How long the collector may take for a batch, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
}

/**
 * Posts each batch to a collector, as lines of JSON. Any 2xx counts as kept; a batch whose answer did not come is sent
 * again, so a collector must know records it has by their `id`.
 */
export function createHttpSink({ url, headers, fetch, timeoutMs = 10_000 }: HttpSinkOptions): RecordSink {
  return {
    name: "http",
    open: () => Promise.resolve(undefined),
    async write(batch) {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(new Error("the collector did not answer in time")), timeoutMs);
      try {
        const { status, body } = await fetch(url, {
          method: "POST",
          headers: { ...headers, "content-type": "application/x-ndjson" },
          body: batch.map(({ text }) => `${text}\n`).join(""),
          signal: controller.signal,
          redirect: "manual",
        }).catch((error: unknown) => {
          throw controller.signal.aborted ? error : toUnreachable(error);
        });
        await body?.cancel();
        if (status < 200 || status > 299) throw new Error(`the collector answered ${status}`);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => Promise.resolve(),
  };
}

/** A fetch that fails says only that it did; why is the code of its cause. */
function toUnreachable(cause: unknown): Error {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  const code = isObject(inner) ? inner["code"] : undefined;
  const why = typeof code === "string" ? code : inner instanceof Error ? inner.message : String(inner);
  return new Error(`the collector cannot be reached: ${why}`, { cause });
}
