import type { Readable, Writable } from "node:stream";

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

/**
 * The web stream of a Node stream that takes text and sends it as UTF-8, which Node does in the write itself. A write is done when Node asks for more, not when the bytes have
 * left; the `error` listener stays for good, because a pipe whose reader is gone reports it at any time.
 */
export function toTextSink(writable: Writable): WritableStream<string> {
  let onDrain: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;
  return new WritableStream<string>(
    {
      start(controller) {
        const fail = (error: Error): void => {
          controller.error(error);
          onDrain?.reject(error);
          onDrain = undefined;
        };
        writable.on("error", fail);
        writable.on("close", () => fail(new Error("the pipe is closed")));
        writable.on("drain", () => {
          onDrain?.resolve();
          onDrain = undefined;
        });
      },
      write(chunk) {
        if (writable.write(chunk)) return undefined;
        return new Promise((resolve, reject) => {
          onDrain = { resolve, reject };
        });
      },
      close() {
        return new Promise((resolve) => {
          writable.end(resolve);
        });
      },
      abort() {
        writable.destroy();
      },
    },
    // One that is never full does not make and settle a promise of readiness for each write.
    { highWaterMark: QUEUED_CHUNKS },
  );
}
