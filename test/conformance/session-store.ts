import {
  MAX_SESSION_BYTES,
  type SavedHook,
  SESSION_KEEP_MS,
  SESSION_TOUCH_MS,
  type SessionHookStore,
  type SessionNews,
  type SessionReplacement,
} from "../../src/jcli/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";

/** A store of session hooks with nothing in it, and the clock it goes by. */
export interface SessionStoreStage {
  readonly store: SessionHookStore;
  /** Milliseconds since the epoch. */
  now(): number;
  advance(ms: number): void;
  /** The store as another process sees it; the same one where there is no other. */
  readonly other?: SessionHookStore | undefined;
  /** The store after its process has ended and another has started; absent where it ends with it. */
  readonly reopen?: (() => Promise<SessionHookStore>) | undefined;
  /** Who hears of a change by one store: every store, itself alone, or nobody. */
  readonly tells: "all" | "own" | "nobody";
  close?(): Promise<void>;
}

/** Makes a stage. */
export type OpenSessionStoreStage = () => Promise<SessionStoreStage>;

type Behaviour = (stage: SessionStoreStage) => Promise<void>;

/** A hook as it is kept. */
export function savedHook(name: string, more: SavedHook = {}): SavedHook {
  return { event: "stop", type: "llm", prompt: name, timeout: 30, retry: 1, on_error: "skip", ...more };
}

const [a, b] = [savedHook("a"), savedHook("b")];
const maxSessions = 100;

/** What every store of session hooks must do, whatever it keeps them in. */
export function sessionStoreCases(name: string, open: OpenSessionStoreStage): readonly Case[] {
  return Object.entries({ ...keeping, ...bounds, ...telling }).map(([what, behave]) => ({
    id: `session-store/${name}/${what}`,
    source: "docs/yaml.md, Hooks of a session",
    async run() {
      const stage = await open();
      try {
        await behave(stage);
      } finally {
        await stage.close?.();
      }
    },
  }));
}

/** Gives a session hooks that are known to replace what it has. */
async function put(store: SessionHookStore, session: string, hooks: readonly SavedHook[]): Promise<number> {
  const version = (await store.get(session))?.version ?? 0;
  return versionOf(await store.replace({ session, version, hooks, maxSessions }));
}

function versionOf(replacement: SessionReplacement): number {
  ok(replacement.outcome === "replaced", `expected it to be replaced, got ${replacement.outcome}`);
  return replacement.version;
}

const keeping: Readonly<Record<string, Behaviour>> = {
  "what is kept is there, whole": async ({ store, other = store }) => {
    const odd = savedHook("\u00FC'\"\u2028\u202E\0\u{1F600} 7 \n", {
      filter: { tool_name: "x" },
      headers: { "": "1" },
    });
    for (const session of ["s", "b\u00FC'\"% *", "1 2", "7", "x".repeat(256)]) {
      equal(await store.get(session), undefined);
      const version = await put(store, session, [a, odd, b]);
      ok(version >= 1, "versions begin at 1");
      equal(await store.get(session), { version, hooks: [a, odd, b] });
      equal(await other.get(session), { version, hooks: [a, odd, b] });
    }
  },
  "a change needs the version there is": async ({ store, other = store }) => {
    const change = { session: "s", hooks: [a], maxSessions };
    equal(await store.replace({ ...change, version: 1 }), { outcome: "conflict" });
    const version = versionOf(await store.replace({ ...change, version: 0 }));
    for (const wrong of [0, version - 1, version + 1]) {
      equal(await other.replace({ ...change, version: wrong, hooks: [b] }), { outcome: "conflict" });
    }
    equal(await store.get("s"), { version, hooks: [a] });
    const next = versionOf(await other.replace({ ...change, version, hooks: [a, b] }));
    ok(next > version, "versions grow");
    equal(await store.get("s"), { version: next, hooks: [a, b] });
  },
  "a version never comes again": async ({ store }) => {
    const versions: number[] = [];
    for (const session of ["s", "s", "t", "s"]) {
      versions.push(await put(store, session, [a]));
      versions.push(await put(store, session, []));
      equal(await store.get(session), undefined);
    }
    equal(
      versions,
      versions.toSorted((left, right) => left - right),
    );
    equal(new Set(versions).size, versions.length);
    equal(await store.replace({ session: "s", version: versions[0] ?? 0, hooks: [b], maxSessions }), {
      outcome: "conflict",
    });
  },
  "of changes at once one is made": async ({ store, other = store }) => {
    const version = await put(store, "s", [a]);
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).replace({
          session: "s",
          version,
          hooks: [savedHook(`${index}`)],
          maxSessions,
        }),
      ),
    );
    equal(results.filter(({ outcome }) => outcome === "replaced").length, 1);
    const winner = results.findIndex(({ outcome }) => outcome === "replaced");
    equal((await other.get("s"))?.hooks, [savedHook(`${winner}`)]);
  },
  "what is kept outlives the process": async ({ store, reopen }) => {
    const version = await put(store, "s", [a, b]);
    await put(store, "t", [a]);
    await put(store, "t", []);
    const after = (await reopen?.()) ?? store;
    equal(await after.get("s"), { version, hooks: [a, b] });
    equal(await after.get("t"), undefined);
    ok((await put(after, "t", [b])) > version, "versions go on");
  },
};

const bounds: Readonly<Record<string, Behaviour>> = {
  "there are only so many sessions": async ({ store, other = store }) => {
    const one = { version: 0, hooks: [a], maxSessions: 2 };
    const first = versionOf(await store.replace({ ...one, session: "1" }));
    await other.replace({ ...one, session: "2" });
    for (const each of [store, other]) equal(await each.replace({ ...one, session: "3" }), { outcome: "full" });
    equal(await store.get("3"), undefined);
    const second = versionOf(await store.replace({ ...one, session: "1", version: first, hooks: [a, b] }));
    await store.replace({ ...one, session: "1", version: second, hooks: [] });
    versionOf(await other.replace({ ...one, session: "3" }));
    equal(await other.replace({ ...one, session: "1" }), { outcome: "full" });
  },
  "one of many at once is the last that there is room for": async ({ store, other = store }) => {
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? store : other).replace({ session: `${index}`, version: 0, hooks: [a], maxSessions: 5 }),
      ),
    );
    equal(results.filter(({ outcome }) => outcome === "replaced").length, 5);
    equal(results.filter(({ outcome }) => outcome === "full").length, 7);
  },
  "there is room for a megabyte, in UTF-8": async ({ store }) => {
    const fits = [savedHook("\u20AC".repeat(MAX_SESSION_BYTES / 3 - 100))];
    const version = await put(store, "s", fits);
    equal(await store.get("s"), { version, hooks: fits });
    const change = { session: "s", version, hooks: [savedHook("\u20AC".repeat(MAX_SESSION_BYTES / 3))], maxSessions };
    await rejects(store.replace(change), "ERR_OVERLOADED");
    equal((await store.get("s"))?.version, version);
  },
  "what nobody has looked at for a month is gone": async ({ store, other = store, advance }) => {
    const version = await put(store, "used", [a]);
    await put(store, "unused", [a]);
    advance(SESSION_KEEP_MS - SESSION_TOUCH_MS);
    equal((await other.get("used"))?.version, version);
    advance(2 * SESSION_TOUCH_MS);
    equal((await store.get("used"))?.version, version);
    equal(await store.get("unused"), undefined);
    const again = { version: 0, hooks: [b], maxSessions: 1 };
    equal(await store.replace({ ...again, session: "third" }), { outcome: "full" });
    equal(await store.replace({ ...again, session: "unused", maxSessions: 2, version }), { outcome: "conflict" });
    ok(versionOf(await other.replace({ ...again, session: "unused", maxSessions: 2 })) > version, "it is a new one");
    advance(SESSION_KEEP_MS);
    equal(await store.get("used"), undefined);
    // Those that are over take no room, however many they are.
    for (let index = 0; index < 40; index += 1) await put(store, `${index}`, [a]);
    advance(SESSION_KEEP_MS);
    for (const session of ["x", "y"]) versionOf(await store.replace({ ...again, session, maxSessions: 2 }));
    equal(await store.replace({ ...again, session: "z", maxSessions: 2 }), { outcome: "full" });
  },
};

const telling: Readonly<Record<string, Behaviour>> = {
  "who listens hears of changes": async ({ store, other = store, tells }) => {
    const heard: (SessionNews | undefined)[] = [];
    const waiting: (() => void)[] = [];
    const listener = (news: SessionNews | undefined): void => {
      // A new connection says that some may have been missed.
      if (news === undefined) return;
      heard.push(news);
      for (const wake of waiting.splice(0)) wake();
    };
    const [first, second] = [store.subscribe(listener), store.subscribe(listener)];
    const session = "s 1\n2";
    const from = tells === "all" ? other : store;
    const version = await put(store, session, [a]);
    const next = await put(from, session, []);
    if (tells !== "nobody") {
      while (heard.length < 4) await new Promise<void>((resolve) => void waiting.push(resolve));
      equal(
        heard.map((news) => news?.version),
        [version, version, next, next],
      );
      equal(new Set(heard.map((news) => news?.session)), new Set([session]));
    }
    first();
    second();
    await put(store, session, [b]);
    await store.get(session);
    equal(heard.length, tells === "nobody" ? 0 : 4);
  },
};
