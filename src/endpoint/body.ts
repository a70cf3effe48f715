/**
 * Reads a body once, as the bytes it came in.
 * @returns the bytes; undefined when there are more than `maxBytes`, and then the rest is left unread
 * @throws when the body ends early
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  for (let step = await reader?.read(); step?.done === false; step = await reader?.read()) {
    const chunk: Uint8Array = step.value;
    byteLength += chunk.length;
    if (byteLength > maxBytes) {
      // Not waited for: what cancelling does to the connection is the server's business.
      void reader?.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(chunk);
  }
  const [first] = chunks;
  if (first?.length === byteLength) return first;
  const bytes = new Uint8Array(byteLength);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
