import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { makeDir, removeDir, type Running, start } from "../cli/run.ts";

const BOT = join(import.meta.dirname, "../../examples/bot.ts");
const TOKEN = "token-of-the-bot";

const running: (() => Promise<unknown>)[] = [];
let dir: string | undefined;

afterEach(async () => {
  for (const end of running.splice(0)) await end();
  if (dir !== undefined) await removeDir(dir);
});

/** A gateway that asks Ann before notes are thrown away, and keeps what it asks in a file. */
function configOf(rule: object): object {
  const config = { rules: [{ match: { tool: ["clear_notes"] }, wait_ms: 0, ...rule }] };
  const sha256 = createHash("sha256").update(TOKEN).digest("hex");
  const tokens = [{ name: "bot", sha256, scopes: ["call", "observe", "approve"], speaks_for: ["ann", "eve"] }];
  return {
    hooks: { builtins: { human_approval: { enabled: true, config } } },
    approvals: { store: "sqlite:approvals.db" },
    gateway: { auth: { tokens } },
  };
}

async function startGateway(): Promise<Running & { readonly url: string }> {
  const gateway = start(["serve", "--port", "0"], { cwd: dir ?? "" });
  running.push(() => {
    gateway.signal("SIGTERM");
    return gateway.ended;
  });
  const url = /listens on (\S+)/.exec(await gateway.seen("try it:"))?.[1] ?? "";
  return { ...gateway, url };
}

const ignore = (): void => {};

interface Bot {
  say(line: string): void;
  /** Resolves with what the bot has written since the last text that was waited for. */
  seen(text: string): Promise<string>;
  kill(): Promise<void>;
}

function startBot(url: string, approver = "ann"): Bot {
  const own = { HOOKGATE_URL: url, HOOKGATE_TOKEN: TOKEN, HOOKGATE_APPROVER: approver };
  const env = { ...process.env, ...own, BOT_STATE: join(dir ?? "", `${approver}.json`), OPENAI_BASE_URL: undefined };
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [BOT], { env });
  const closed = once(child, "close");
  running.push(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let output = "";
  let from = 0;
  let check = ignore;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      check();
    });
  }
  return {
    say: (line) => void child.stdin.write(`${line}\n`),
    seen: (text) =>
      new Promise((resolve, reject) => {
        check = () => {
          const at = output.indexOf(text, from);
          if (at === -1) return;
          const seen = output.slice(from, at + text.length);
          from = at + text.length;
          check = ignore;
          resolve(seen);
        };
        void closed.then(() => reject(new Error(`the bot ended without "${text}": ${output}`)));
        check();
      }),
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

async function pendingOf(bot: Bot): Promise<string> {
  const id = /\/approve (\S+)/.exec(await bot.seen(" REASON"))?.[1] ?? "";
  expect(id).toMatch(/^[\da-f-]{36}$/);
  return id;
}

test("a bot that is killed goes on with the call that waited, once it is approved", { timeout: 60_000 }, async () => {
  dir = await makeDir({ "hooks.json": configOf({ approvers: ["ann"], reason: "it throws notes away" }) });
  const gateway = await startGateway();
  const bot = startBot(gateway.url);
  bot.say("note buy milk");
  await bot.seen("Saved note 1: buy milk\nyou> ");
  bot.say("clear");
  expect(await bot.seen(": pending]")).toContain("[clear_notes");
  const id = await pendingOf(bot);
  await bot.seen("you> ");
  await bot.kill();
  gateway.signal("SIGKILL");
  await gateway.ended;
  const again = await startGateway();
  const resumed = startBot(again.url);
  resumed.say("/pending");
  await resumed.seen(id);
  expect(await resumed.seen("(until")).toContain("clear_notes {}: it throws notes away");
  resumed.say(`/approve ${id}`);
  await resumed.seen("[clear_notes: executed] Threw 1 notes away.");
  await resumed.seen("bot> Done. Threw 1 notes away.");
  resumed.say(`/approve ${id}`);
  await resumed.seen(`approval ${id} has been used`);
  resumed.say("/pending");
  await resumed.seen("nothing is pending");
});

test("what is denied does not run, and one who is no approver decides nothing", { timeout: 60_000 }, async () => {
  dir = await makeDir({ "hooks.json": configOf({ approvers: ["ann"] }) });
  const gateway = await startGateway();
  const [ann, eve] = [startBot(gateway.url), startBot(gateway.url, "eve")];
  ann.say("note a");
  await ann.seen("Saved note 1");
  ann.say("clear");
  const id = await pendingOf(ann);
  eve.say(`/approve ${id}`);
  await eve.seen("is not for this person to decide");
  ann.say(`/deny ${id} keep them please`);
  await ann.seen(`approval ${id} is denied`);
  expect(await ann.seen("keep them please")).toContain("[clear_notes: denied]");
  ann.say("note b");
  await ann.seen("Saved note 2: b");
});
