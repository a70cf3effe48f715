import type { Readable, Writable } from "node:stream";
import type { Pipe, TextSink } from "../../src/lines/pipe.ts";

/** What Node reads at once. */
const FULL_CHUNK_BYTES = 65_536;

/** Chunks that wait before the stream underneath is paused. A chunk is at most 64 KiB. */
const QUEUED_CHUNKS = 16;

/**
 * The web stream of a Node stream of bytes. It is made by hand because `Readable.toWeb` costs several times as much per
 * chunk, which is most of the time of a short message.
 */
export function toByteSource(readable: Readable): ReadableStream<Uint8Array> {
  let isOpen = true;
  let endPull: (() => void) | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const close = (error?: Error): void => {
          if (!isOpen) return;
          isOpen = false;
          if (error === undefined) controller.close();
          else controller.error(error);
          endPull?.();
        };
        readable.on("data", (chunk: Uint8Array) => {
          if (!isOpen) return;
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) > 0) return;
          readable.pause();
          endPull?.();
        });
        readable.on("end", () => close());
        readable.on("close", () => close());
        readable.on("error", close);
      },
      // A pull lasts until the queue is full: one that ended at once would be made again for each chunk, which costs
      // more than the chunk does.
      pull() {
        readable.resume();
        return new Promise((resolve) => {
          endPull = resolve;
        });
      },
      cancel() {
        isOpen = false;
        readable.destroy();
      },
    },
    { highWaterMark: QUEUED_CHUNKS },
  );
}

/** The web stream of a Node stream that takes bytes. */
export function toByteSink(writable: Writable): WritableStream<Uint8Array> {
  const sink = createSink(writable);
  return new WritableStream<Uint8Array>({
    start(controller) {
      void sink.failed.then((cause) => controller.error(cause));
    },
    write: (chunk) => sink.write(chunk),
    close: () => sink.end(),
    abort() {
      writable.destroy();
    },
  });
}

/**
 * The pipe of a process's stdin and stdout. A chunk goes from Node's `data` event to its reader, and a text into Node's
 * own encoder, without a web stream between: with two of them a call takes a tenth longer.
 */
export function toNodePipe({ stdin, stdout }: { readonly stdin: Writable; readonly stdout: Readable }): Pipe {
  return {
    ...createSink(stdin),
    start(listener) {
      let isOpen = true;
      const close = (error?: Error): void => {
        if (isOpen) listener.end(error);
        isOpen = false;
      };
      stdout.on("data", (bytes: Uint8Array) => {
        if (isOpen) listener.chunk(bytes);
        if (bytes.length < FULL_CHUNK_BYTES) return;
        // More is there already. Node would read on without looking at its timers, and a hook that floods its stdout
        // would hold up the deadlines of all others.
        stdout.pause();
        setImmediate(() => stdout.resume());
      });
      stdout.on("end", () => close());
      stdout.on("close", () => close());
      stdout.on("error", close);
    },
  };
}

interface Sink extends TextSink {
  write(chunk: string | Uint8Array): Promise<void> | undefined;
}

/**
 * A write is done when Node asks for more, not when the bytes have left. The `error` listener stays for good, because a
 * pipe whose reader is gone reports it at any time.
 */
function createSink(writable: Writable): Sink {
  let onDrain: (() => void) | undefined;
  const drain = (): void => {
    onDrain?.();
    onDrain = undefined;
  };
  writable.on("drain", drain);
  return {
    failed: new Promise((resolve) => {
      const fail = (cause: Error): void => {
        resolve(cause);
        // A web stream does not fail before the write under way is done.
        drain();
      };
      writable.on("error", fail);
      writable.on("close", () => fail(new Error("the pipe is closed")));
    }),
    write(chunk) {
      if (writable.write(chunk)) return undefined;
      return new Promise((resolve) => {
        onDrain = resolve;
      });
    },
    end() {
      return new Promise((resolve) => {
        writable.end(() => resolve());
      });
    },
  };
}
