import type { Readable } from "node:stream";

/**
 * Reads a request's body straight from Node's stream: no copy, no web stream in between.
 * @returns the bytes; undefined when there are more than `maxBytes`, and then the rest is left unread
 * @throws when the body ends early
 */
export function readIncomingBody(incoming: Readable, maxBytes: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteLength = 0;
    const stop = (): void => {
      incoming.off("data", onData);
      incoming.off("end", onEnd);
      incoming.off("close", onClose);
    };
    const onData = (chunk: Buffer): void => {
      byteLength += chunk.byteLength;
      chunks.push(chunk);
      if (byteLength <= maxBytes) return;
      stop();
      incoming.pause();
      resolve(undefined);
    };
    const onEnd = (): void => {
      stop();
      const [first] = chunks;
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, byteLength));
    };
    const onClose = (): void => {
      stop();
      reject(new Error("the body ended early"));
    };
    if (incoming.destroyed) {
      onClose();
      return;
    }
    incoming.on("data", onData);
    incoming.on("end", onEnd);
    incoming.on("close", onClose);
  });
}
