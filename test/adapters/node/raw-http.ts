import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** One HTTP answer as it came over a socket. */
export interface RawAnswer {
  readonly status: number;
  /** The status line and the headers, in lower case. */
  readonly head: string;
  readonly body: string;
}

/** A connection on which a test writes bytes, and reads answers one after the other. */
export class RawConnection {
  readonly socket: Socket;
  #received = "";
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk) => {
      this.#received += chunk.toString("latin1");
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#wake());
  }

  write(text: string): void {
    this.socket.write(text);
  }

  /** The next answer; rejects when the connection ends before it. */
  async answer(): Promise<RawAnswer> {
    for (;;) {
      const answer = parse(this.#received);
      if (answer !== undefined) {
        this.#received = this.#received.slice(answer.length);
        return answer;
      }
      if (this.socket.closed) throw new Error(`closed after ${JSON.stringify(this.#received)}`);
      await this.#more();
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.socket.closed) await this.#more();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Opens a connection to a server. */
export async function open(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  return new RawConnection(socket);
}

function parse(text: string): (RawAnswer & { readonly length: number }) | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = text.slice(0, end).toLowerCase();
  const status = Number(/^http\/1\.1 (\d{3})/.exec(head)?.[1]);
  if (status === 100) return parse(text.slice(end + 4));
  const length = end + 4 + Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
  return text.length < length ? undefined : { status, head, body: text.slice(end + 4, length), length };
}

/** The text of a POST of JSON to `/rpc`. */
export function postText(body: string, headers: readonly string[] = []): string {
  const lines = ["POST /rpc HTTP/1.1", "Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`];
  if (!headers.some((line) => /^host:/i.test(line))) lines.push("Host: 127.0.0.1");
  return `${[...lines, ...headers].join("\r\n")}\r\n\r\n${body}`;
}
