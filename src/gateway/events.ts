import type { RecordFilter, RecordHub, Subscription } from "../records/index.ts";
import { SECURITY_HEADERS } from "./answer.ts";

/** Options of {@link streamEvents}. */
export interface StreamOptions {
  readonly filter: RecordFilter;
  /** Ends the stream when it aborts, such as the client's own. */
  readonly signal: AbortSignal;
  /** How often a client is sent something when nothing happens, in milliseconds. @default 15000 */
  readonly heartbeatMs?: number | undefined;
}

/** How much may wait for a client in the stream itself, in events; the rest waits, bounded, in its subscription. */
const MAX_QUEUED = 16;

const ignore = (): void => {};

const encoder = new TextEncoder();

/**
 * Streams decisions as server-sent events: `decision` with a record, `dropped` with how many a slow client has missed.
 * @see {@link https://html.spec.whatwg.org/multipage/server-sent-events.html}
 */
export function streamEvents(hub: RecordHub, { filter, signal, heartbeatMs = 15_000 }: StreamOptions): Response {
  let stop = ignore;
  let client: Client | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const started = new Client(hub, controller, filter);
        client = started;
        const heartbeat = setInterval(() => started.beat(), heartbeatMs);
        stop = () => {
          clearInterval(heartbeat);
          signal.removeEventListener("abort", stop);
          started.close();
        };
        started.onEnd = stop;
        signal.addEventListener("abort", stop);
        if (signal.aborted) stop();
      },
      pull: () => client?.deliver(),
      cancel: () => stop(),
    },
    { highWaterMark: MAX_QUEUED },
  );
  return new Response(body, { headers: { ...SECURITY_HEADERS, "content-type": "text/event-stream" } });
}

class Client {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  readonly #subscription: Subscription;
  onEnd: () => void = () => {};
  #isClosed = false;

  constructor(hub: RecordHub, controller: ReadableStreamDefaultController<Uint8Array>, filter: RecordFilter) {
    this.#controller = controller;
    this.#subscription = hub.subscribe({ ...filter, onReady: () => this.deliver() });
    this.#send("retry: 2000\n\n");
  }

  deliver(): void {
    // A client that does not read is left with what it has; what comes meanwhile waits, and the oldest of it is dropped.
    if (this.#isClosed || (this.#controller.desiredSize ?? 0) <= 0) return;
    const { records, dropped, isClosed } = this.#subscription.take();
    const lines = records.map((record) => `event: decision\nid: ${record.id}\ndata: ${JSON.stringify(record)}\n\n`);
    if (dropped > 0) lines.unshift(`event: dropped\ndata: ${dropped}\n\n`);
    if (lines.length > 0) this.#send(lines.join(""));
    if (isClosed) this.onEnd();
  }

  beat(): void {
    if ((this.#controller.desiredSize ?? 0) > 0) this.#send(": nothing new\n\n");
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#subscription.close();
    try {
      this.#controller.close();
    } catch {
      // The client has closed it.
    }
  }

  #send(text: string): void {
    if (!this.#isClosed) this.#controller.enqueue(encoder.encode(text));
  }
}
