import {
  type Approval,
  type ApprovalNews,
  escapeDiscord,
  escapeSlack,
  escapeTelegram,
  fillTemplate,
  findUnknownPlaces,
  type Notice,
  NotificationError,
  type NotificationTarget,
  Notifier,
  toDiscordMessage,
  toSlackMessage,
  toTelegramMessage,
} from "../../src/approvals/index.ts";
import { newApproval, START_MS } from "./approval-fixture.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";

/** What tries to be markup, a mention, a link, or not to be seen, in one of the formats. */
const HOSTILE =
  "<!channel> <script>x</script> @everyone [a](http://b) *b* `c` ~d~ \u202ecod.exe http://evil.example &amp;";

function noticeOf(changes: Partial<Approval> = {}, news: ApprovalNews = "requested"): Notice {
  return { news, approval: newApproval(START_MS, changes), link: "https://gate.example/approvals/1" };
}

/** Every text in a JSON value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Timers and a clock that the test moves. */
class Timers {
  nowMs = START_MS;
  readonly #timers = new Map<() => void, number>();

  readonly start = (run: () => void, delayMs: number): (() => void) => {
    const fire = (): void => run();
    this.#timers.set(fire, this.nowMs + delayMs);
    return () => void this.#timers.delete(fire);
  };

  get delays(): readonly number[] {
    return [...this.#timers.values()].map((atMs) => atMs - this.nowMs);
  }

  async advance(ms: number): Promise<void> {
    this.nowMs += ms;
    for (const [fire, atMs] of this.#timers) {
      if (atMs > this.nowMs) continue;
      this.#timers.delete(fire);
      fire();
    }
    await settle();
  }
}

/** Lets what follows from settled promises happen. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

interface Stage {
  readonly notifier: Notifier;
  readonly timers: Timers;
  readonly ids: string[];
}

/** A notifier with one target that answers each attempt with the next outcome, and with the last from then on. */
function createStage(
  outcomes: readonly (Error | "ok" | "hangs")[],
  options: { readonly maxWaiting?: number } = {},
): Stage {
  const timers = new Timers();
  const ids: string[] = [];
  const target: NotificationTarget = {
    name: "ops",
    kind: "webhook",
    news: ["requested"],
    async deliver(_notice, { id }) {
      const outcome = outcomes[Math.min(ids.length, outcomes.length - 1)];
      ids.push(id);
      if (outcome === "hangs") await new Promise<never>(() => {});
      if (outcome instanceof Error) throw outcome;
    },
  };
  const time = { now: () => timers.nowMs, startTimer: timers.start, random: () => 0 };
  return { notifier: new Notifier({ targets: [target], ...time, ...options }), timers, ids };
}

const busy = new NotificationError("it was answered with HTTP status 503", { mayRetry: true });
const refused = new NotificationError("it was answered with HTTP status 404", { mayRetry: false });

function ask(notifier: Notifier, changes: Partial<Approval> = {}): void {
  notifier.tell(
    "requested",
    newApproval(START_MS, { expires: new Date(START_MS + 3_600_000).toISOString(), ...changes }),
  );
}

/** Section "Notifications" of docs/approvals.md. */
export const notifyCases: readonly Case[] = casesOf(
  { topic: "notify", source: "docs/approvals.md, Notifications" },
  {
    "slack-values-are-rich-text-and-the-fallback-is-escaped": async () => {
      const message = toSlackMessage(noticeOf({ tool: HOSTILE, reason: HOSTILE }));
      const { text, blocks } = message as { text: string; blocks: { type: string }[] };
      ok(!/<[^>]|>/.test(text.replaceAll(/&[lg]t;/g, "")), `markup in the fallback: ${text}`);
      ok(!JSON.stringify(blocks).includes("mrkdwn"), "a block has markup");
      equal(
        blocks.map(({ type }) => type),
        ["header", "rich_text", "actions"],
      );
    },
    "discord-values-have-no-markup-and-mention-nobody": async () => {
      const message = toDiscordMessage(noticeOf({ reason: HOSTILE }));
      const { allowed_mentions, embeds } = message as { allowed_mentions: object; embeds: { description: string }[] };
      equal(allowed_mentions, { parse: [] });
      const description = embeds[0]?.description ?? "";
      const [line = ""] = description.split("\n").filter((one) => one.startsWith("**Why:**"));
      ok(!/(?<!\\)[*_~`|[\]()<:@]/.test(line.slice("**Why:** ".length)), `markup: ${line}`);
    },
    "telegram-values-are-escaped-code": async () => {
      const { text, parse_mode } = toTelegramMessage(noticeOf({ reason: HOSTILE }), "1") as Record<string, string>;
      equal(parse_mode, "HTML");
      const tags = Array.from((text ?? "").matchAll(/<\/?(\w+)/g), ([, name]) => name);
      ok(
        tags.every((name) => ["b", "code", "pre", "a"].includes(name ?? "")),
        `tags: ${tags.join(" ")}`,
      );
      ok(text?.includes("&lt;script&gt;") === true, "it is not shown");
    },
    "what-hides-or-turns-text-around-is-seen-in-every-format": async () => {
      const notice = noticeOf({ reason: HOSTILE, arguments: { file: "a\u200bb", name: "p\u0430ypal" } });
      for (const message of [toSlackMessage(notice), toDiscordMessage(notice), toTelegramMessage(notice, "1")]) {
        const text = textsIn(message).join("\n");
        ok(!/[\u202e\u200b]/.test(text), "a hidden character is hidden");
        ok(text.includes("202E") && text.includes("200B") && text.includes("0430"), `it is not said: ${text}`);
      }
    },
    "long-values-are-cut-and-it-is-said": async () => {
      const notice = noticeOf({ arguments: { text: "\u{1f600}".repeat(5000) }, reason: "x".repeat(2000) });
      for (const message of [toSlackMessage(notice), toDiscordMessage(notice), toTelegramMessage(notice, "1")]) {
        const text = textsIn(message).join("\n");
        ok(text.length < 4096, `${text.length} characters`);
        ok(/more characters/.test(text), "nothing is said of what is missing");
        ok(!/[\ud800-\udbff](?![\udc00-\udfff])/.test(text), "a character is cut in two");
      }
    },
    "arguments-can-be-left-out": async () => {
      const notice = noticeOf({ arguments: { secret: "rosebud" } });
      for (const options of [{ showsArguments: false }, { template: "{{tool}}" }]) {
        for (const message of [
          toSlackMessage(notice, options),
          toDiscordMessage(notice, options),
          toTelegramMessage(notice, "1", options),
        ]) {
          ok(!JSON.stringify(message).includes("rosebud"), "the arguments are told");
        }
      }
    },
    "a-template-is-filled-with-escaped-values": async () => {
      const notice = noticeOf({ tool: "<b>&*", reason: "{{tool}}" });
      const fill = (escape: (text: string) => string): string =>
        fillTemplate("*{{ tool }}* {{reason}}", notice, escape);
      equal(fill(escapeSlack), "*&lt;b&gt;&amp;** {{tool}}");
      equal(fill(escapeTelegram), "*&lt;b&gt;&amp;** {{tool}}");
      equal(fill(escapeDiscord), String.raw`*\<b\>\&\** {{tool}}`);
      equal(findUnknownPlaces("{{tool}} {{ nobody }} {{}}"), ["nobody"]);
    },
    "a-decision-says-who-and-what": async () => {
      const votes = [{ by: "ann", time: "t", how: "token", decision: "deny", comment: "not on a Friday" }] as const;
      const text = textsIn(toTelegramMessage(noticeOf({ status: "denied", votes }, "decided"), "1")).join("\n");
      ok(text.includes("Approval denied: bash") && text.includes("ann") && text.includes("not on a Friday"), text);
    },
    "a-failed-notification-is-tried-again-with-growing-delays-and-the-same-id": async () => {
      const { notifier, timers, ids } = createStage([busy, busy, "ok"]);
      ask(notifier);
      await settle();
      equal(timers.delays, [1000]);
      equal(notifier.status()[0]?.last_error, busy.message);
      await timers.advance(1000);
      equal(timers.delays, [2000]);
      await timers.advance(2000);
      equal(timers.delays, []);
      equal([ids.length, new Set(ids).size], [3, 1]);
      equal(notifier.status(), [{ name: "ops", kind: "webhook", delivered: 1, failed: 0, dropped: 0, waiting: 0 }]);
    },
    "retry-after-is-kept": async () => {
      const { notifier, timers } = createStage([
        new NotificationError("429", { mayRetry: true, retryAfterMs: 60_000 }),
      ]);
      ask(notifier);
      await settle();
      equal(timers.delays, [60_000]);
    },
    "what-is-refused-is-not-tried-again": async () => {
      const { notifier, timers, ids } = createStage([refused]);
      ask(notifier);
      await settle();
      equal([timers.delays, ids.length, notifier.status()[0]?.failed], [[], 1, 1]);
    },
    "it-is-given-up-when-nobody-can-decide-any-more": async () => {
      const { notifier, timers, ids } = createStage([busy]);
      ask(notifier, { expires: new Date(START_MS + 2500).toISOString() });
      await settle();
      await timers.advance(1000);
      equal([timers.delays, ids.length, notifier.status()[0]?.failed], [[], 2, 1]);
    },
    "it-is-given-up-after-eight-attempts": async () => {
      const { notifier, timers, ids } = createStage([busy]);
      ask(notifier);
      await settle();
      for (let attempt = 0; attempt < 20; attempt += 1) await timers.advance(120_000);
      equal([timers.delays, ids.length, notifier.status()[0]?.failed], [[], 8, 1]);
    },
    "one-that-hangs-is-cut-by-its-timer-and-tried-again": async () => {
      const { notifier, timers, ids } = createStage(["hangs", "ok"]);
      ask(notifier);
      await settle();
      equal(timers.delays, [10_000]);
      await timers.advance(10_000);
      await timers.advance(1000);
      equal([ids.length, notifier.status()[0]?.delivered], [2, 1]);
    },
    "too-many-that-wait-are-dropped-and-counted": async () => {
      const { notifier, ids } = createStage(["hangs"], { maxWaiting: 2 });
      for (let asked = 0; asked < 5; asked += 1) ask(notifier);
      await settle();
      const [{ waiting, dropped } = {}] = notifier.status();
      equal([ids.length, waiting, dropped], [2, 2, 3]);
    },
    "closing-tries-nothing-again-and-leaves-no-timer": async () => {
      const { notifier, timers } = createStage([busy]);
      ask(notifier);
      await settle();
      equal(timers.delays.length, 1);
      await notifier.close(1000);
      equal([timers.delays, notifier.status()[0]?.failed], [[], 1]);
      ask(notifier);
      equal(notifier.status()[0]?.waiting, 0);
    },
    "only-what-a-target-asks-for-is-told": async () => {
      const { notifier, ids } = createStage(["ok"]);
      notifier.tell("decided", newApproval(START_MS));
      await settle();
      equal(ids, []);
    },
  },
);
