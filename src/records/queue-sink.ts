import type { RecordSink } from "./sink.ts";

/** A queue that takes batches; a Cloudflare Queue's binding is one. */
export interface RecordQueue {
  sendBatch(messages: readonly { readonly body: string; readonly contentType: "text" }[]): Promise<unknown>;
}

/** What Cloudflare takes of one message and of one batch. */
const MAX_MESSAGE_BYTES = 127_000;
const MAX_BATCH_BYTES = 250_000;
const MAX_BATCH_MESSAGES = 100;

const encoder = new TextEncoder();

/**
 * Sends each record to a queue, as a message that is one line of JSON. A record longer than a message may be is lost.
 * @see {@link https://developers.cloudflare.com/queues/platform/limits/}
 */
export function createQueueSink(queue: RecordQueue): RecordSink {
  return {
    name: "queue",
    maxRecordBytes: MAX_MESSAGE_BYTES,
    open: () => Promise.resolve(undefined),
    async write(batch) {
      for (const bodies of split(batch.map(({ text }) => text))) {
        await queue.sendBatch(bodies.map((body) => ({ body, contentType: "text" })));
      }
    },
    close: () => Promise.resolve(),
  };
}

function split(texts: readonly string[]): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let last: string[] = [];
  let bytes = Infinity;
  for (const text of texts) {
    const { byteLength } = encoder.encode(text);
    if (bytes + byteLength > MAX_BATCH_BYTES || last.length === MAX_BATCH_MESSAGES) {
      last = [];
      bytes = 0;
      batches.push(last);
    }
    last.push(text);
    bytes += byteLength;
  }
  return batches;
}
