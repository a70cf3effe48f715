import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test } from "vitest";
import { nodeHookPorts } from "../../adapters/node/hook-ports.ts";
import { createShell } from "../../adapters/node/shell.ts";
import type { ApprovalNews, Notifier } from "../../src/approvals/index.ts";
import {
  ConfigError,
  createBuiltins,
  createLinksFromConfig,
  createNotifierFromConfig,
  parseConfig,
  toRunNotification,
} from "../../src/config/index.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { newApproval } from "../conformance/approval-fixture.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const ENV = { SECRET, TOKEN: "12345:AAbb-cc_dd", LINKS: "x".repeat(40) };
const closing: (() => Promise<unknown> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Post {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A receiver that answers the statuses in order, and 200 from then on. */
async function listen(statuses: readonly number[] = []): Promise<{ readonly origin: string; take(): Promise<Post> }> {
  const waiting: ((post: Post) => void)[] = [];
  const posts: Post[] = [];
  let count = 0;
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      const post = { url: request.url ?? "", headers: request.headers, body };
      const taken = waiting.shift();
      if (taken === undefined) posts.push(post);
      else taken(post);
      response.writeHead(statuses[count] ?? 200).end("what is answered is not looked at");
      count += 1;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    take: async () => posts.shift() ?? new Promise((resolve) => void waiting.push(resolve)),
  };
}

function parse(approvals: object): ReturnType<typeof parseConfig> {
  return parseConfig(JSON.stringify({ hooks: {}, approvals }), { env: ENV, builtins: createBuiltins() });
}

async function start(approvals: object, baseDir = tmpdir()): Promise<Notifier> {
  const config = parse({ store: "memory", ...approvals });
  const links = await createLinksFromConfig(config, { used: createMemoryReplayStore() });
  const run = toRunNotification(createShell(), baseDir);
  const notifier = createNotifierFromConfig(config, { connect: nodeHookPorts.connect, run, links, random: () => 0.99 });
  if (notifier === undefined) throw new Error("nobody is told");
  closing.push(() => notifier.close(5000));
  return notifier;
}

function tell(notifier: Notifier, news: ApprovalNews = "requested"): string {
  const approval = newApproval(Date.now(), { requester: { agent: "main", session: "s1", channel: "cli" } });
  notifier.tell(news, approval);
  return approval.id;
}

test("a webhook is signed as Standard Webhooks asks, and a retry has the same id", async () => {
  const { origin, take } = await listen([503]);
  const notifier = await start({ notify: [{ type: "webhook", url: `${origin}/in`, secret: "${env:SECRET}" }] });
  const id = tell(notifier);
  const posts = [await take(), await take()];
  for (const { body, headers, url } of posts) {
    expect(url).toBe("/in");
    const verified: unknown = new Webhook(SECRET).verify(body, headers as Record<string, string>);
    expect(verified).toMatchObject({ type: "approval.requested", data: { approval: { id, tool: "bash" } } });
  }
  expect(posts[0]?.headers["webhook-id"]).toBe(posts[1]?.headers["webhook-id"]);
});

test("each service gets its own format at its own address", async () => {
  const { origin, take } = await listen();
  const types = [
    { type: "slack", url: `${origin}/slack` },
    { type: "discord", url: `${origin}/discord` },
    { type: "telegram", token: "${env:TOKEN}", chat_id: "-100", api_url: origin },
  ];
  const notifier = await start({ url: "https://gate.example/", notify: types });
  const id = tell(notifier);
  const posts = [await take(), await take(), await take()];
  const byUrl = Object.fromEntries(posts.map(({ url, body }) => [url, JSON.parse(body) as unknown]));
  expect(byUrl["/slack"]).toMatchObject({ text: "Approval needed: bash" });
  expect(byUrl["/discord"]).toMatchObject({ embeds: [{ title: String.raw`Approval needed\: bash` }] });
  expect(byUrl[`/bot${ENV.TOKEN}/sendMessage`]).toMatchObject({ chat_id: "-100", parse_mode: "HTML" });
  for (const { body } of posts) expect(body).toContain(`https://gate.example/approvals/${id}`);
});

test("who is the only reader gets a link that decides, others one that asks to sign in", async () => {
  const { origin, take } = await listen();
  const notify = [{ type: "slack", url: origin, approver: "ann" }];
  const notifier = await start({ url: "https://gate.example", link_secret: "${env:LINKS}", notify });
  tell(notifier);
  expect((await take()).body).toMatch(/"url":"https:\/\/gate\.example\/approvals\/link\/[\w-]+\.[\w-]+\.[\w-]+"/);
});

test("only what matches is told, and only the news that is asked for", async () => {
  const { origin, take } = await listen();
  const target = { type: "slack", url: origin, on: ["decided"] };
  const notifier = await start({
    notify: [
      { ...target, url: `${origin}/no`, match: { tool: ["read_*"] } },
      { ...target, url: `${origin}/yes`, match: { tool: ["ba*"], channel: ["cli"] } },
    ],
  });
  tell(notifier, "requested");
  tell(notifier, "decided");
  expect((await take()).url).toBe("/yes");
  await notifier.close(5000);
  expect(notifier.status().map(({ delivered }) => delivered)).toEqual([0, 1]);
});

test("a command gets the event on its stdin, and nothing of it in its words", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hookgate-notify-"));
  closing.push(() => rm(folder, { recursive: true }));
  const notifier = await start({ notify: [{ type: "command", command: "cat > told.json" }] }, folder);
  const id = tell(notifier);
  await notifier.close(5000);
  const told: unknown = JSON.parse(await readFile(join(folder, "told.json"), "utf8"));
  expect(told).toMatchObject({ type: "approval.requested", data: { approval: { id } } });
});

test("what fails is shown without the address or the token", async () => {
  const { origin } = await listen([404]);
  const notify = [
    { type: "telegram", token: "${env:TOKEN}", chat_id: "1", api_url: origin },
    { type: "slack", url: "http://127.0.0.1:1/services/T0/B0/secret" },
    { type: "command", command: "echo rosebud >&2; exit 3" },
  ];
  const notifier = await start({ notify });
  tell(notifier);
  await notifier.close(5000);
  expect(notifier.status()).toMatchObject([
    { name: "telegram 1", failed: 1, last_error: "it was answered with HTTP status 404" },
    { name: "slack 2", failed: 1, last_error: "it cannot be reached" },
    { name: "command 3", failed: 1, last_error: "the command failed" },
  ]);
});

describe("a config that cannot be used names the path", () => {
  const slack = { type: "slack", url: "https://hooks.slack.example/x" };
  test.each<[object, readonly string[]]>([
    [{ notify: [slack] }, []],
    [{ url: "gate.example" }, ["approvals.url: expected an http or https URL"]],
    [{ url: "https://gate.example?x=1" }, ["approvals.url: expected an http or https URL"]],
    [{ link_secret: "short" }, ["approvals.link_secret: "]],
    [{ notify: [{ ...slack, approver: "ann" }] }, ["approvals.notify[0].approver: needs approvals.url"]],
    [{ notify: [{ ...slack, url: "http://hooks.example/" }] }, ["approvals.notify[0].url: url must be https"]],
    [
      { notify: [{ ...slack, url: "http://169.254.169.254/" }] },
      ["approvals.notify[0].url: url must not be a link-local"],
    ],
    [{ notify: [{ ...slack, text: "{{nobody}}" }] }, ["approvals.notify[0].text: expected places of id, tool"]],
    [{ notify: [{ ...slack, colour: "red" }] }, ["approvals.notify[0].colour: unknown key"]],
    [{ notify: [{ type: "pigeon" }] }, ["approvals.notify[0].type: "]],
    [
      { notify: [{ type: "webhook", url: "https://a.example", secret: "x" }] },
      ["approvals.notify[0].secret: a webhook secret must be"],
    ],
    [
      { notify: [{ type: "webhook", url: "https://a.example", secret: [SECRET, "x"] }] },
      ["approvals.notify[0].secret[1]: a webhook secret must be"],
    ],
    [
      { notify: [{ type: "telegram", token: "x", chat_id: "1" }] },
      ["approvals.notify[0].token: expected a bot's token"],
    ],
  ])("%j", (approvals, expected) => {
    let problems: readonly string[] = [];
    try {
      parse({ store: "memory", ...approvals });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems = error.problems.map(({ path, message }) => `${path}: ${message}`);
    }
    expect(problems.map((problem, index) => problem.slice(0, expected[index]?.length))).toEqual(expected);
  });
});
