import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Post, type Receiver, startReceiver } from "./receiver.ts";
import { type Dev, freePort, ROOT, startDev } from "./wrangler.ts";

const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const TELEGRAM_TOKEN = "12345:the-token-of-the-bot";
const SLACK_PATH = "/slack/the-secret-of-the-path";
const RETRY_AFTER_S = 4;

interface Asked {
  readonly approval: { readonly id: string; readonly status: string };
}

interface Status {
  readonly name: string;
  readonly delivered: number;
  readonly failed: number;
  readonly waiting: number;
  readonly last_error?: string;
}

/** The events of a batch that a hook was sent, as `KIND STATUS`, that are of an approval. */
function eventsOf({ body }: Post, id: string): readonly string[] {
  const parsed = JSON.parse(body) as unknown;
  const messages = [parsed].flat() as { readonly params?: { readonly Kind?: string; readonly Payload?: Payload } }[];
  return messages.flatMap(({ params: { Kind, Payload } = {} }) =>
    Payload?.ID === id ? [`${Kind} ${Payload.Status}`] : [],
  );
}

interface Payload {
  readonly ID: string;
  readonly Status: string;
}

function toldOf(id: string, path: string): (post: Post) => boolean {
  return ({ url, body }) => url === path && body.includes(id);
}

async function verified(post: Post | undefined): Promise<unknown> {
  return new Webhook(WEBHOOK_SECRET).verify(post?.body ?? "", post?.headers as Record<string, string>);
}

describe("what is told of approvals in a Durable Object of wrangler dev", { timeout: 60_000 }, () => {
  let dir: string;
  let dev: Dev;
  let receiver: Receiver;
  let start: () => Promise<Dev>;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "hookgate-notify-"));
    receiver = await startReceiver();
    const { origin } = receiver;
    const rules = [{ match: { tool: ["quick*"] }, expires_ms: 6000, wait_ms: 0 }, { wait_ms: 0 }];
    const watcher = { enabled: true, transport: "http", url: `${origin}/hook`, unsigned: true, handshake: "none" };
    const gateway = {
      name: "gateway",
      main: join(ROOT, "adapters/cloudflare/worker.ts"),
      compatibility_date: "2026-11-01",
      compatibility_flags: ["global_fetch_strictly_public", "enable_request_signal"],
      vars: {
        HOOKGATE_DEV: "1",
        WEBHOOK_SECRET,
        TELEGRAM_TOKEN,
        SLACK_URL: `${origin}${SLACK_PATH}`,
        HOOKGATE_CONFIG: {
          hooks: {
            builtins: { human_approval: { enabled: true, config: { rules } } },
            processes: { watcher: { ...watcher, observe: ["approval_requested", "approval_decided"] } },
          },
          approvals: {
            store: "durable_object:PEOPLE",
            url: "https://gate.example.com",
            notify: [
              {
                type: "webhook",
                name: "all",
                url: `${origin}/all`,
                secret: "${env:WEBHOOK_SECRET}",
                on: ["requested", "decided"],
              },
              { type: "slack", url: "${env:SLACK_URL}", match: { tool: ["deploy"] } },
              { type: "discord", url: `${origin}/discord`, match: { tool: ["deploy"] } },
              {
                type: "telegram",
                token: "${env:TELEGRAM_TOKEN}",
                chat_id: "-100",
                api_url: origin,
                match: { tool: ["deploy"] },
              },
            ],
          },
        },
      },
      durable_objects: { bindings: [{ name: "PEOPLE", class_name: "ApprovalsObject" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["ApprovalsObject"] }],
    };
    const file = join(dir, "gateway.json");
    await writeFile(file, JSON.stringify(gateway));
    start = async () => startDev({ configs: [file], port: await freePort(), stateDir: join(dir, "state") });
    dev = await start();
  }, 60_000);

  afterAll(async () => {
    await dev.stop();
    receiver.close();
    await rm(dir, { recursive: true, force: true });
  });

  async function ask(tool: string, command = "make"): Promise<string> {
    const params = { tool, arguments: { command } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${dev.url}/rpc`, { method: "POST", headers, body });
    const { result } = (await answer.json()) as { readonly result: Asked };
    expect(result.approval.status).toBe("pending");
    return result.approval.id;
  }

  async function statusOf(name: string, isThere: (status: Status) => boolean): Promise<Status> {
    for (;;) {
      const { notifications } = (await (await fetch(`${dev.url}/v1/hooks`)).json()) as { notifications: Status[] };
      const found = notifications.find((each) => each.name === name);
      if (found !== undefined && isThere(found)) return found;
    }
  }

  test("each service is told in its own format, a webhook signed, and /v1/hooks counts it", async () => {
    const id = await ask("deploy");
    const paths = ["/all", SLACK_PATH, "/discord", `/bot${TELEGRAM_TOKEN}/sendMessage`];
    const [all, slack, discord, telegram] = await Promise.all(
      paths.map(async (path) => (await receiver.seen(1, toldOf(id, path)))[0]),
    );
    expect(await verified(all)).toMatchObject({
      type: "approval.requested",
      data: { approval: { id, status: "pending" } },
    });
    expect(JSON.parse(slack?.body ?? "")).toMatchObject({ text: "Approval needed: deploy" });
    expect(JSON.parse(discord?.body ?? "")).toMatchObject({
      embeds: [{ title: String.raw`Approval needed\: deploy` }],
    });
    expect(JSON.parse(telegram?.body ?? "")).toMatchObject({ chat_id: "-100", parse_mode: "HTML" });
    for (const post of [all, slack, discord, telegram]) {
      expect(post?.body).toContain(`https://gate.example.com/approvals/${id}`);
    }
    for (const name of ["all", "slack 2", "discord 3", "telegram 4"]) {
      expect(await statusOf(name, ({ waiting }) => waiting === 0)).toMatchObject({ failed: 0 });
    }
  });

  test("one that is refused for good is given up, and shown", async () => {
    receiver.answer("/discord", [{ status: 404 }]);
    const id = await ask("deploy", "again");
    const shown = await statusOf("discord 3", ({ failed }) => failed === 1);
    expect(shown).toMatchObject({ last_error: "it was answered with HTTP status 404", waiting: 0 });
    expect(receiver.posts.filter(toldOf(id, "/discord"))).toHaveLength(1);
  });

  test("what failed is told again, and what expires is told, when every isolate is gone", async () => {
    receiver.answer("/all", [{ status: 503, headers: { "retry-after": String(RETRY_AFTER_S) } }]);
    const id = await ask("quick");
    const [first] = await receiver.seen(1, toldOf(id, "/all"));
    await receiver.seen(1, (post) => eventsOf(post, id).includes("approval_requested pending"));
    await statusOf("all", ({ waiting, last_error: error }) => waiting === 1 && error !== undefined);
    await dev.stop();
    expect(receiver.posts.filter(toldOf(id, "/all"))).toHaveLength(1);
    // From here on nobody calls the gateway.
    dev = await start();
    const [, again, expired] = await receiver.seen(3, toldOf(id, "/all"));
    await receiver.seen(1, (post) => eventsOf(post, id).includes("approval_decided expired"));
    expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(await verified(again)).toMatchObject({ type: "approval.requested" });
    expect(await verified(expired)).toMatchObject({
      type: "approval.decided",
      data: { approval: { id, status: "expired" } },
    });
    await statusOf("all", ({ waiting }) => waiting === 0);
    const events = receiver.posts.filter(({ url }) => url === "/hook").flatMap((post) => eventsOf(post, id));
    expect(events).toEqual(["approval_requested pending", "approval_decided expired"]);
    expect(receiver.posts.filter(toldOf(id, "/all"))).toHaveLength(3);
  });

  test("no secret is kept where approvals are", async () => {
    await dev.stop();
    const state = join(dir, "state");
    const entries = await readdir(state, { recursive: true, withFileTypes: true });
    // Beside it wrangler keeps what was requested, for its own pages.
    const files = entries
      .filter((entry) => entry.isFile() && entry.parentPath.includes("ApprovalsObject"))
      .map(({ parentPath, name }) => join(parentPath, name));
    const held = await Promise.all(files.map(async (file) => [file, await readFile(file, "latin1")] as const));
    const holding = (text: string): readonly string[] =>
      held.flatMap(([file, content]) => (content.includes(text) ? [file] : []));
    expect(holding("telegram 4")).not.toEqual([]);
    for (const secret of [WEBHOOK_SECRET, TELEGRAM_TOKEN, SLACK_PATH]) expect(holding(secret)).toEqual([]);
  });
});
