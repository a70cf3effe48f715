import { type Approval, ApprovalError, type ApprovalManager } from "../approvals/index.ts";
import { type StreamSource, type StreamText, streamSource } from "./events.ts";

/** Options of {@link streamApprovals}. */
export interface ApprovalStreamOptions {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called once when it has ended. */
  readonly onEnd: () => void;
}

/** How many approvals may wait for one client; for one more the oldest is left out, and it is told so. */
const MAX_WAITING = 256;

/**
 * Streams approvals as server-sent events: `approval` with one that was made or changed, as it is now, and `missed` when
 * the client has to list them again. Of several changes that come together only the last may come.
 * @throws {HookgateError} `ERR_STORE_UNAVAILABLE` when nothing would be heard of changes
 */
export async function streamApprovals(
  approvals: ApprovalManager,
  { signal, onEnd }: ApprovalStreamOptions,
): Promise<Response> {
  const source = new ApprovalSource(approvals, onEnd);
  try {
    source.unsubscribe = await approvals.subscribe((change) => source.hear(change?.id));
  } catch (error) {
    source.close();
    throw error;
  }
  return streamSource(
    (onReady) => {
      source.onReady = onReady;
      return source;
    },
    { signal },
  );
}

class ApprovalSource implements StreamSource {
  readonly #approvals: ApprovalManager;
  readonly #onEnd: () => void;
  /** The ids of those that have changed and are to be read. */
  readonly #changed = new Set<string>();
  readonly #waiting = new Map<string, Approval>();
  onReady: () => void = () => {};
  unsubscribe: () => void = () => {};
  #hasMissed = false;
  #isReading = false;
  #isClosed = false;

  constructor(approvals: ApprovalManager, onEnd: () => void) {
    this.#approvals = approvals;
    this.#onEnd = onEnd;
  }

  /** An approval has changed; without an id, any may have. */
  hear(id: string | undefined): void {
    if (this.#isClosed) return;
    if (id === undefined || this.#changed.size >= MAX_WAITING) {
      this.#hasMissed = true;
      this.onReady();
    } else {
      this.#changed.add(id);
      void this.#read();
    }
  }

  take(): StreamText {
    const lines = Array.from(this.#waiting.values(), (approval) => {
      return `event: approval\ndata: ${JSON.stringify(approval)}\n\n`;
    });
    this.#waiting.clear();
    if (this.#hasMissed) lines.unshift("event: missed\ndata: {}\n\n");
    this.#hasMissed = false;
    return { text: lines.join(""), isClosed: this.#isClosed };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.unsubscribe();
    this.#onEnd();
  }

  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    for (const id of this.#changed) {
      // Before it is read: a change that comes meanwhile has it read again.
      this.#changed.delete(id);
      try {
        this.#keep(await this.#approvals.get(id));
      } catch (error) {
        // One that is gone is not missed.
        if (!(error instanceof ApprovalError)) this.#hasMissed = true;
      }
    }
    this.#isReading = false;
    if (!this.#isClosed) this.onReady();
  }

  #keep(approval: Approval): void {
    // The newest state counts, and comes last.
    this.#waiting.delete(approval.id);
    this.#waiting.set(approval.id, approval);
    const [oldest = ""] = this.#waiting.keys();
    if (this.#waiting.size <= MAX_WAITING) return;
    this.#waiting.delete(oldest);
    this.#hasMissed = true;
  }
}
