import type { Refusal } from "./answer.ts";
import type { PeerInfo } from "./origin.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A request's body, read once and never beyond its limit. */
export class RequestBody {
  readonly #request: Request;
  readonly #info: PeerInfo;
  readonly #maxBytes: number;
  #bytes: Promise<Uint8Array | Refusal> | undefined;

  constructor(request: Request, info: PeerInfo, maxBytes: number) {
    this.#request = request;
    this.#info = info;
    this.#maxBytes = maxBytes;
  }

  /** The bytes as they came, or why there are none. */
  bytes(): Promise<Uint8Array | Refusal> {
    this.#bytes ??= this.#read();
    return this.#bytes;
  }

  async #read(): Promise<Uint8Array | Refusal> {
    const length = this.#request.headers.get("content-length");
    if (length !== null && Number(length) > this.#maxBytes) return this.#tooLarge();
    try {
      const { readBody } = this.#info;
      const bytes = await (readBody === undefined ? this.#stream() : readBody(this.#maxBytes));
      return bytes ?? this.#tooLarge();
    } catch {
      return { code: "ERR_ABORTED", message: "the body ended early" };
    }
  }

  async #stream(): Promise<Uint8Array | undefined> {
    const reader = this.#request.body?.getReader();
    const chunks: Uint8Array[] = [];
    let byteLength = 0;
    for (let step = await reader?.read(); step?.value !== undefined; step = await reader?.read()) {
      byteLength += step.value.byteLength;
      if (byteLength > this.#maxBytes) {
        // The rest is not read; what cancelling does to the connection is the server's business.
        void reader?.cancel().catch(() => undefined);
        return undefined;
      }
      chunks.push(step.value);
    }
    const bytes = new Uint8Array(byteLength);
    let offset = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, offset);
      offset += chunk.byteLength;
    }
    return bytes;
  }

  #tooLarge(): Refusal {
    return { code: "ERR_BODY_TOO_LARGE", message: `the body is larger than ${this.#maxBytes} bytes` };
  }
}

/** Decodes UTF-8; undefined when the bytes are not that. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Refuses what is not JSON as it is. A page of another site can post `text/plain` without asking; it cannot post this
 * type without a preflight.
 */
export function refuseMediaType(headers: Headers): Refusal | undefined {
  const type = headers.get("content-type");
  if (type !== "application/json" && !isJsonType(type)) {
    return { code: "ERR_UNSUPPORTED_MEDIA_TYPE", message: "content-type must be application/json" };
  }
  const encoding = headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return undefined;
  return { code: "ERR_UNSUPPORTED_MEDIA_TYPE", message: "content-encoding is not supported; send the body as it is" };
}

function isJsonType(type: string | null): boolean {
  return type !== null && /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(type);
}
