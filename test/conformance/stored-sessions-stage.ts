import { HookgateError } from "../../src/errors.ts";
import {
  createMemorySessionStore,
  type LifecycleManager,
  type LifecycleManagerOptions,
  type LifecycleOutcome,
  type OnSessionNews,
  readSession,
  type SavedHook,
  type SessionHookStore,
} from "../../src/jcli/index.ts";
import { ok } from "./case.ts";
import { type Bench, createBench, fails, prints, type Script } from "./jcli-fixture.ts";

/** What the commands of the tests do. */
export const scripts: Readonly<Record<string, Script>> = {
  a: prints({ retry_feedback: "a" }),
  b: prints({ retry_feedback: "b" }),
  no: fails,
};
/** An event of the session of the tests. */
export const stop: { readonly event: "stop"; readonly session_id: string } = { event: "stop", session_id: "s" };
/** A hook of that event. */
export function hook(command: string, more: SavedHook = {}): SavedHook {
  return { event: "stop", command, ...more };
}

/** A store that can be down or hang, whose news can be lost, and the looks at it. */
export class TestStore implements SessionHookStore {
  readonly name = "test";
  readonly maxAgeMs = 5000;
  readonly #store = createMemorySessionStore();
  readonly #listeners = new Set<OnSessionNews>();
  state: "up" | "down" | "hanging" = "up";
  /** Whether what it holds of sessions is nothing that can be read. */
  isGarbled = false;
  losesNews = false;
  /** Called with each look, when its answer is known and before it is given. */
  onLook: (() => Promise<void>) | undefined;
  lookCount = 0;

  constructor() {
    this.#store.subscribe((news) => {
      if (!this.losesNews) for (const listener of this.#listeners) listener(news);
    });
  }

  async get(session: string): ReturnType<SessionHookStore["get"]> {
    this.lookCount += 1;
    await this.#reach();
    const kept = await this.#store.get(session);
    await this.onLook?.();
    return this.isGarbled && kept !== undefined ? readSession({ version: kept.version, text: "{" }) : kept;
  }

  async replace(change: Parameters<SessionHookStore["replace"]>[0]): ReturnType<SessionHookStore["replace"]> {
    await this.#reach();
    return this.#store.replace(change);
  }

  subscribe(listener: OnSessionNews): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A new connection: some news may have been missed. */
  reconnect(): void {
    for (const listener of this.#listeners) listener(undefined);
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  #reach(): Promise<void> {
    if (this.state === "up") return Promise.resolve();
    if (this.state === "hanging") return new Promise(() => {});
    return Promise.reject(new HookgateError("ERR_STORE_UNAVAILABLE", "the store is down"));
  }
}

/** A manager as a node has it. */
export interface Stage extends Bench {
  readonly stored: NonNullable<LifecycleManager["storedSessions"]>;
}

/** Nodes that share a store, and the clock they go by. */
export interface Stages {
  readonly store: TestStore;
  advance(ms: number): void;
  /** A manager as another node has it. */
  node(options?: LifecycleManagerOptions): Stage;
}

/** Makes {@link Stages}. */
export function createStages(): Stages {
  let nowMs = 0;
  const store = new TestStore();
  return {
    store,
    advance: (ms) => void (nowMs += ms),
    node(options) {
      const bench = createBench(scripts, { sessionStore: store, now: () => nowMs, ...options });
      const { storedSessions: stored } = bench.manager;
      ok(stored, "there is a store");
      return { ...bench, stored };
    },
  };
}

/** What the hooks say. */
export function feedbackOf({ result }: LifecycleOutcome): string | undefined {
  return result.retry_feedback;
}

/** The hooks of a session as they are listed. */
export function labelsOf({ manager }: Stage, session = "s"): readonly unknown[] {
  return manager
    .hooks(session)
    .filter(({ level }) => level === "session")
    .map(({ session_index: index, label }) => `${index} ${label}`);
}
