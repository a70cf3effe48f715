const ignore = (): void => {};

/** Who gets the bytes of a {@link ByteSource}. Its methods must not throw. */
export interface ByteListener {
  /** The next bytes, in order. */
  chunk(bytes: Uint8Array): void;
  /** There are no more; called once, with the error if one ended them. */
  end(error?: unknown): void;
}

/** Where bytes come from. */
export interface ByteSource {
  /** Starts to read, as fast as bytes come. Called once. */
  start(listener: ByteListener): void;
}

/** Where text goes. */
export interface TextSink {
  /** Resolves when nothing can be written any more, with the reason. Never rejects. */
  readonly failed: Promise<unknown>;
  /**
   * Sends text as UTF-8; a text that is not ended by {@link TextSink.failed} is sent whole.
   * @returns nothing when more is welcome at once, or a promise that resolves when it is and never rejects
   */
  write(text: string): Promise<void> | undefined;
  /** Ends the other side's input once everything is sent. Resolves when that is done or cannot be; never rejects. */
  end(): Promise<void>;
}

/**
 * Both directions of a conversation in lines. A call is one write and one read, so what a runtime's streams cost for each
 * is most of what a call costs; a runtime with a faster way than web streams gives a pipe of its own.
 */
export interface Pipe extends ByteSource, TextSink {}

/** The web streams of a conversation. */
export interface ByteStreams {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/** Makes a pipe of two web streams of bytes, and locks both. */
export function toPipe({ readable, writable }: ByteStreams): Pipe {
  return {
    ...toTextSink(writable),
    start(listener) {
      void read(readable.getReader(), listener);
    },
  };
}

/** Makes a text sink of a web stream of bytes, and locks it. */
export function toTextSink(writable: WritableStream<Uint8Array>): TextSink {
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  writer.ready.catch(ignore);
  return {
    failed: new Promise((resolve) => {
      writer.closed.catch(resolve);
    }),
    write: (text) => writer.write(encoder.encode(text)).catch(ignore),
    end: () => writer.close().catch(ignore),
  };
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, listener: ByteListener): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      listener.chunk(value);
    }
  } catch (error) {
    listener.end(error);
    return;
  }
  listener.end();
}
