import type { Socket } from "node:net";

interface Origin {
  waitingCount: number;
  readonly sockets: Set<Socket>;
}

/** So many origins are kept though nothing waits: hooks have few, and taking one out and in for every call costs more. */
const MAX_IDLE = 64;

/** The connections that are being made, by origin, and how many requests wait for one. */
export class ConnectionAttempts {
  readonly #origins = new Map<string, Origin>();

  /** A connection to an origin is being made. */
  begin(origin: string, socket: Socket): void {
    this.#of(origin).sockets.add(socket);
  }

  /** It was made, or failed. */
  end(origin: string, socket: Socket): void {
    const entry = this.#of(origin);
    entry.sockets.delete(socket);
    if (entry.waitingCount === 0) this.#forget(origin, entry);
  }

  /** A request waits for a connection. */
  enter(origin: string): void {
    this.#of(origin).waitingCount += 1;
  }

  /**
   * A request waits no more. When it was given up and no other waits, what is being made is ended: a connection that
   * nobody wants must not outlive the call it was for.
   */
  leave(origin: string, wasGivenUp: boolean): void {
    const entry = this.#of(origin);
    entry.waitingCount -= 1;
    if (entry.waitingCount > 0) return;
    if (wasGivenUp) for (const socket of entry.sockets) socket.destroy(new Error("no request waits for it"));
    this.#forget(origin, entry);
  }

  #forget(origin: string, { sockets }: Origin): void {
    if (sockets.size === 0 && this.#origins.size > MAX_IDLE) this.#origins.delete(origin);
  }

  #of(origin: string): Origin {
    let entry = this.#origins.get(origin);
    if (entry === undefined) {
      entry = { waitingCount: 0, sockets: new Set() };
      this.#origins.set(origin, entry);
    }
    return entry;
  }
}
