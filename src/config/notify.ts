import {
  type Approval,
  createCommandTarget,
  createDiscordTarget,
  createSlackTarget,
  createTelegramTarget,
  createWebhookTarget,
  NotificationError,
  type NotificationTarget,
  Notifier,
  type NotifierOptions,
  type RunNotification,
  type SendPost,
  toTelegramUrl,
} from "../approvals/index.ts";
import { createMatcher } from "../picoclaw/match.ts";
import { toToolApproval } from "../picoclaw/normalize.ts";
import { type ApprovalLinks, createApprovalLinks } from "../signing/approval-link.ts";
import type { CryptoPort } from "../signing/crypto.ts";
import type { ReplayStore } from "../signing/replay.ts";
import { createWebhookSigner, parseWebhookSecret } from "../signing/standard-webhooks.ts";
import { createCommandTransport, type StartCommand } from "../transport/command.ts";
import { USER_AGENT } from "../transport/http-headers.ts";
import type { HttpExchange } from "../transport/http-exchange.ts";
import { type HookUrlOptions, parseHookUrl } from "../transport/http-url.ts";
import { toProblem } from "./check-keys.ts";
import type { NotifyConfig } from "./notify-schema.ts";
import type { ConnectOptions, HookConnection } from "./ports.ts";
import { ConfigError } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

/** Options of {@link createTargetsFromConfig}. */
export interface TargetsFromConfigOptions extends Pick<NotifierOptions, "now"> {
  /** Connects to URLs. @default none can be reached */
  readonly connect?: ((options: ConnectOptions) => HookConnection) | undefined;
  /** Runs commands. @default there are none here */
  readonly run?: RunNotification | undefined;
  /** Signs links that decide; absent without `link_secret`. */
  readonly links?: ApprovalLinks | undefined;
  /** @default WebCrypto */
  readonly crypto?: CryptoPort | undefined;
  /** Whether URLs may have an IP address as their host. @default true */
  readonly allowAddress?: boolean | undefined;
}

/** Options of {@link createNotifierFromConfig}. */
export interface NotifierFromConfigOptions extends TargetsFromConfigOptions, Omit<NotifierOptions, "targets"> {}

/**
 * Makes what tells people of approvals, where a config says how.
 * @returns undefined where it does not
 * @throws {ConfigError} when the runtime cannot reach one of the targets
 */
export function createNotifierFromConfig(
  config: Pick<ConfigFile, "approvals">,
  options: NotifierFromConfigOptions,
): Notifier | undefined {
  const targets = createTargetsFromConfig(config, options);
  if (targets.length === 0) return undefined;
  const { connect: _, run: __, links: ___, crypto: ____, allowAddress: _____, ...rest } = options;
  return new Notifier({ ...rest, targets });
}

/**
 * Makes the ways in which a config tells people of approvals, in its order.
 * @throws {ConfigError} when the runtime cannot reach one of them
 */
export function createTargetsFromConfig(
  { approvals }: Pick<ConfigFile, "approvals">,
  options: TargetsFromConfigOptions,
): readonly NotificationTarget[] {
  const { notify = [], url } = approvals ?? {};
  const { links } = options;
  return notify.map((config, index) => {
    const { name = `${config.type} ${index + 1}`, on, match, approver } = config;
    const matcher = match && createMatcher(match);
    const common = {
      name,
      news: on,
      matches: matcher && ((approval: Approval) => matcher.matches(toMatched(approval))),
      toLink: url === undefined ? undefined : (approval: Approval) => toLink(approval, { url, approver, links }),
    };
    return createTarget(config, common, { ...options, at: `approvals.notify[${index}]` });
  });
}

/**
 * Makes what signs links that decide, where a config has a secret for them.
 * @returns undefined where it has none
 */
export async function createLinksFromConfig(
  { approvals, gateway }: ConfigFile,
  { used, crypto, now }: { readonly used: ReplayStore } & Pick<NotifierFromConfigOptions, "crypto" | "now">,
): Promise<ApprovalLinks | undefined> {
  const secret = approvals?.link_secret;
  return secret === undefined ? undefined : createApprovalLinks({ secret, issuer: gateway.id, used, crypto, now });
}

/** Runs the commands of notifications as those of bash hooks are run, in a directory. */
export function toRunNotification(start: StartCommand, cwd: string): RunNotification {
  const run = createCommandTransport({ start, maxOutputBytes: MAX_OUTPUT_BYTES });
  return async (command, { input, signal }) => {
    const onAbort = (listener: (reason: unknown) => void): void =>
      signal.addEventListener("abort", () => listener(signal.reason), { once: true });
    await run({ command, cwd, env: {}, input }, { remainingMs: Infinity, signal, onAbort });
  };
}

/** What a command writes is not looked at. */
const MAX_OUTPUT_BYTES = 65_536;

type Common = Pick<NotificationTarget, "name" | "news" | "matches" | "toLink">;

function createTarget(
  config: NotifyConfig,
  common: Common,
  options: TargetsFromConfigOptions & { readonly at: string },
): NotificationTarget {
  const { at, connect, run, crypto, now } = options;
  if (config.type === "command") {
    if (run !== undefined) return createCommandTarget({ ...common, command: config.command, run });
    const message = `"${common.name}": this runtime runs no commands: use a webhook, or run the gateway on Node`;
    throw new ConfigError([{ path: `${at}.type`, message }]);
  }
  if (connect === undefined) {
    throw new ConfigError([{ path: `${at}.type`, message: "this runtime cannot connect to URLs" }]);
  }
  const allowPrivate = config.type !== "webhook" || config.allow_private;
  assertReachable(config, { ...options, allowPrivate });
  const send = toSend(connect({ allowPrivate, allowInsecure: false, maxConnections: 4 }).exchange);
  if (config.type === "webhook") {
    const secrets = [config.secret].flat().map(parseWebhookSecret);
    return createWebhookTarget({
      ...common,
      url: config.url,
      send,
      signer: createWebhookSigner({ secrets, crypto }),
      now,
    });
  }
  const message = { ...common, send, now, template: config.text, showsArguments: config.arguments };
  if (config.type === "telegram") {
    const url = toTelegramUrl(config.token, config.api_url.replace(/\/+$/, ""));
    return createTelegramTarget({ ...message, url, chatId: config.chat_id });
  }
  const create = config.type === "slack" ? createSlackTarget : createDiscordTarget;
  return create({ ...message, url: config.url });
}

/** Where nothing checks the address that is connected to, the URL is all there is to look at. */
function assertReachable(
  config: Exclude<NotifyConfig, { readonly type: "command" }>,
  {
    at,
    allowAddress = true,
    allowPrivate,
  }: { readonly at: string } & Pick<HookUrlOptions, "allowAddress" | "allowPrivate">,
): void {
  if (allowAddress) return;
  const [key, url] = config.type === "telegram" ? ["api_url", config.api_url] : ["url", config.url];
  const findings = toProblem([], () => parseHookUrl(url, { allowAddress, allowPrivate }));
  if (findings.length > 0) throw new ConfigError(findings.map(({ message }) => ({ path: `${at}.${key}`, message })));
}

function toMatched({ tool, requester }: Approval): Parameters<ReturnType<typeof createMatcher>["matches"]>[0] {
  const { agent, session, channel } = requester;
  return toToolApproval({
    tool,
    meta: { AgentID: agent, SessionKey: session },
    ...(channel !== undefined && { channel }),
  });
}

interface LinkParts {
  readonly url: string;
  readonly approver: string | undefined;
  readonly links: ApprovalLinks | undefined;
}

/** A link for one approver decides; one for everybody leads to the page, which asks to sign in. */
async function toLink({ id, expires }: Approval, { url, approver, links }: LinkParts): Promise<string> {
  const base = url.replace(/\/+$/, "");
  if (approver === undefined || links === undefined) return `${base}/approvals/${id}`;
  return `${base}/approvals/link/${await links.sign({ approval: id, approver, expiresAtMs: Date.parse(expires) })}`;
}

/** What is answered is not looked at: a receiver can make it as long as it likes. */
function wantsNoBody(): boolean {
  return false;
}

function toSend(exchange: HttpExchange): SendPost {
  return async ({ url, headers, body, signal }) => {
    let reply: Awaited<ReturnType<HttpExchange["send"]>>;
    try {
      const sent = { ...headers, "user-agent": USER_AGENT };
      reply = await exchange.send({ url, headers: sent, body, signal, maxBodyBytes: 1, wantsBody: wantsNoBody });
    } catch {
      // No cause: it may name the URL, which is a secret for most services.
      throw new NotificationError("it cannot be reached", { mayRetry: true });
    }
    return { status: reply.head.status, retryAfter: reply.head.header("retry-after") };
  };
}
