import type { RecordFilter, RecordHub } from "../records/index.ts";
import { SECURITY_HEADERS } from "./answer.ts";

/** What a stream takes from its source. */
export interface StreamText {
  /** Server-sent events as they are on the wire; empty when there is nothing. */
  readonly text: string;
  /** Whether nothing more comes. */
  readonly isClosed: boolean;
}

/** Where a stream has its events from. What waits in it is bounded. */
export interface StreamSource {
  take(): StreamText;
  close(): void;
}

/** Options of {@link streamSource}. */
export interface SourceStreamOptions {
  /** Ends the stream when it aborts, such as the client's own. */
  readonly signal: AbortSignal;
  /** How often a client is sent something when nothing happens, in milliseconds. @default 15000 */
  readonly heartbeatMs?: number | undefined;
}

/** Options of {@link streamEvents}. */
export interface StreamOptions extends SourceStreamOptions {
  readonly filter: RecordFilter;
}

/** How much may wait for a client in the stream itself, in events; the rest waits, bounded, in its source. */
const MAX_QUEUED = 16;

const ignore = (): void => {};

const encoder = new TextEncoder();

/**
 * Streams decisions as server-sent events: `decision` with a record, `dropped` with how many a slow client has missed.
 * @see {@link https://html.spec.whatwg.org/multipage/server-sent-events.html}
 */
export function streamEvents(hub: RecordHub, { filter, ...options }: StreamOptions): Response {
  return streamSource((onReady) => {
    const subscription = hub.subscribe({ ...filter, onReady });
    return {
      take() {
        const { records, dropped, isClosed } = subscription.take();
        const lines = records.map((record) => `event: decision\nid: ${record.id}\ndata: ${JSON.stringify(record)}\n\n`);
        if (dropped > 0) lines.unshift(`event: dropped\ndata: ${dropped}\n\n`);
        return { text: lines.join(""), isClosed };
      },
      close: () => subscription.close(),
    };
  }, options);
}

/**
 * Streams what a source has as server-sent events.
 * @param open - Makes the source; it is told what to call when there is something to take.
 */
export function streamSource(
  open: (onReady: () => void) => StreamSource,
  { signal, heartbeatMs = 15_000 }: SourceStreamOptions,
): Response {
  let stop = ignore;
  let client: Client | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const started = new Client(open, controller);
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
  readonly #source: StreamSource;
  onEnd: () => void = () => {};
  #isClosed = false;

  constructor(open: (onReady: () => void) => StreamSource, controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller;
    this.#source = open(() => this.deliver());
    this.#send("retry: 2000\n\n");
  }

  deliver(): void {
    // A client that does not read is left with what it has; what comes meanwhile waits, and the oldest of it is dropped.
    if (this.#isClosed || (this.#controller.desiredSize ?? 0) <= 0) return;
    const { text, isClosed } = this.#source.take();
    if (text !== "") this.#send(text);
    if (isClosed) this.onEnd();
  }

  beat(): void {
    if ((this.#controller.desiredSize ?? 0) > 0) this.#send(": nothing new\n\n");
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.close();
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
