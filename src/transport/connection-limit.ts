import type { ExchangeFetch } from "./fetch-exchange.ts";

/** Lets so many requests wait for their headers at once; others wait in their order, each as long as its signal lets it. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();
  #runningCount = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Makes a fetch of which each request takes a place until its headers are there. */
  limit(send: ExchangeFetch): ExchangeFetch {
    return async (url, init) => {
      if (this.#runningCount < this.#max) this.#runningCount += 1;
      else await this.#turn(init.signal ?? undefined);
      try {
        return await send(url, init);
      } finally {
        this.#leave();
      }
    };
  }

  /** Waits until a place is handed over. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(enter);
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is what the call was cut with
        reject(signal?.reason);
      };
      const enter = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      if (signal?.aborted === true) {
        onAbort();
        return;
      }
      signal?.addEventListener("abort", onAbort);
      this.#waiting.add(enter);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#runningCount -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** Options of {@link limitPerRequest}. */
export interface LimitPerRequestOptions {
  /** How many requests of ours may wait for their headers at once, for each request that is answered. */
  readonly maxConnections: number;
  /** The request that is answered, as one object for as long as it is. */
  readonly currentRequest: () => object | undefined;
}

/** Makes fetches that keep to a limit for each request that is answered: none waits for a place that another holds. */
export function limitPerRequest(options: LimitPerRequestOptions): (send: ExchangeFetch) => ExchangeFetch {
  const limits = new WeakMap<object, ConnectionLimit>();
  return (send) => (url, init) => {
    const request = options.currentRequest();
    if (request === undefined) return send(url, init);
    const limit = limits.get(request) ?? new ConnectionLimit(options.maxConnections);
    limits.set(request, limit);
    return limit.limit(send)(url, init);
  };
}
