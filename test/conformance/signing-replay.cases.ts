import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { equal } from "./case.ts";
import type { Case } from "./case.ts";
import { NOW_MS, thrownBy } from "./signing-setting.ts";

/** The replay store in memory. */
export const signingReplayCases: readonly Case[] = [
  {
    id: "signing/the replay store keeps a key until it expires, and refuses when it is full",
    source: "http.md 2: the replay store",
    async run() {
      let nowMs = NOW_MS;
      const replay = createMemoryReplayStore({ maxKeys: 3, now: () => nowMs });
      equal(replay.insert("a", nowMs + 1000), true);
      equal(replay.insert("a", nowMs + 9000), false);
      nowMs += 999;
      equal(replay.insert("a", nowMs + 9000), false);
      nowMs += 1;
      equal(replay.insert("a", nowMs + 9000), true);
      equal([replay.insert("b", nowMs + 9000), replay.insert("c", nowMs + 9000)], [true, true]);
      equal(
        thrownBy(() => replay.insert("d", nowMs + 9000)),
        "ERR_OVERLOADED",
      );
      equal(replay.insert("a", nowMs + 9000), false);
      nowMs += 9000;
      equal([replay.insert("d", nowMs + 9000), replay.insert("a", nowMs + 9000)], [true, true]);
      for (const maxKeys of [0, 1.5, Number.NaN])
        equal(
          thrownBy(() => createMemoryReplayStore({ maxKeys })),
          "RangeError",
        );
    },
  },
  {
    id: "signing/the replay store agrees with a plain model of it",
    source: "http.md 2: the replay store",
    async run() {
      let nowMs = NOW_MS;
      let seed = 1;
      const random = (below: number): number => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % below;
      };
      const replay = createMemoryReplayStore({ maxKeys: 5000, now: () => nowMs });
      const model = new Map<string, number>();
      for (let step = 0; step < 20_000; step += 1) {
        nowMs += random(20);
        const key = `key-${random(400)}`;
        const expiresAtMs = nowMs + 1 + random(3000);
        const isNew = (model.get(key) ?? 0) <= nowMs;
        if (isNew) model.set(key, expiresAtMs);
        equal(replay.insert(key, expiresAtMs), isNew);
      }
    },
  },
];
