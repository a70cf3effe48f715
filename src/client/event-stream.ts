import { chunksOf, type GatewayResponse } from "./fetch.ts";

/** One server-sent event. */
export interface StreamedEvent {
  readonly event: string;
  readonly data: string;
}

/** The longest line that is kept, in UTF-16 code units: whoever sends more is no gateway. */
const MAX_LINE_CHARS = 16 * 1024 * 1024;

/**
 * Reads server-sent events until the stream ends. A comment is an event without a name, so that a sign of life shows.
 * @throws {RangeError} when a line has no end
 * @see {@link https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation}
 */
export async function* readEvents(body: GatewayResponse["body"]): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  let event = "message";
  let data: string[] = [];
  for await (const chunk of chunksOf(body)) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_CHARS) throw new RangeError("a line of the stream is too long");
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { event, data: data.join("\n") };
        event = "message";
        data = [];
        continue;
      }
      const at = line.indexOf(":");
      const field = at === -1 ? line : line.slice(0, at);
      const value = at === -1 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (field === "event") event = value;
      if (field === "data") data.push(value);
    }
  }
}
