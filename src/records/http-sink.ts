import type { RecordSink } from "./sink.ts";

/** Sends a request to a collector; the platform's `fetch` is one. */
export type CollectorFetch = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly signal: AbortSignal;
    readonly redirect: "manual";
  },
) => Promise<{ readonly status: number; readonly body?: { cancel(): Promise<void> } | null }>;

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
