import type { WebhookSigner } from "../signing/standard-webhooks.ts";
import {
  type FormatOptions,
  toDiscordMessage,
  toSlackMessage,
  toTelegramMessage,
  toWebhookEvent,
} from "./notice-format.ts";
import { NotificationError, type NotificationTarget } from "./notice-attempt.ts";
import type { Notice } from "./notice.ts";

/** A POST of JSON; the host injects how it is carried out. */
export interface JsonPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
}

/** What came of a POST. */
export interface PostReply {
  readonly status: number;
  /** What `retry-after` said. */
  readonly retryAfter?: string | undefined;
}

/**
 * Carries a POST out: no redirect is followed and the body of the reply is not read.
 * @throws when there is no reply
 */
export type SendPost = (post: JsonPost) => Promise<PostReply>;

/** Runs a shell command with an input. @throws when it did not end with status 0 */
export type RunNotification = (command: string, context: NotificationInput) => Promise<void>;

/** What a command is given. */
export interface NotificationInput {
  readonly input: string;
  readonly signal: AbortSignal;
}

type Common = Pick<NotificationTarget, "name" | "news" | "matches" | "toLink">;

/** Options of {@link createPostTarget}. */
export interface PostTargetOptions extends Common, FormatOptions {
  /** What is posted to. For Telegram {@link toTelegramUrl} makes it. */
  readonly url: string;
  readonly send: SendPost;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const encoder = new TextEncoder();
const JSON_HEADERS = { "content-type": "application/json" };
const MAX_RETRY_AFTER_MS = 3_600_000;

/** A Slack incoming webhook. */
export function createSlackTarget(options: PostTargetOptions): NotificationTarget {
  return createPostTarget("slack", options, (notice) => toSlackMessage(notice, options));
}

/** A Discord webhook. */
export function createDiscordTarget(options: PostTargetOptions): NotificationTarget {
  return createPostTarget("discord", options, (notice) => toDiscordMessage(notice, options));
}

/** A chat that a Telegram bot writes to. */
export function createTelegramTarget(options: PostTargetOptions & { readonly chatId: string }): NotificationTarget {
  return createPostTarget("telegram", options, (notice) => toTelegramMessage(notice, options.chatId, options));
}

/** Where a Telegram bot's messages are posted to. The token is in it: it is a secret, and never shown. */
export function toTelegramUrl(token: string, origin = "https://api.telegram.org"): string {
  return `${origin}/bot${token}/sendMessage`;
}

/**
 * A webhook of one's own, signed by the Standard Webhooks rules; a retry has the same `webhook-id`.
 * @see {@link https://www.standardwebhooks.com/}
 */
export function createWebhookTarget(
  options: PostTargetOptions & { readonly signer: WebhookSigner },
): NotificationTarget {
  const { url, send, signer, now = Date.now, ...common } = options;
  return {
    ...common,
    kind: "webhook",
    async deliver(notice, { id, signal }) {
      const body = toJsonBytes(toWebhookEvent(notice));
      const headers = { ...JSON_HEADERS, ...(await signer.sign({ id, body })) };
      assertTaken(await send({ url, headers, body, signal }), now());
    },
  };
}

/** A command that is given the event as JSON on its stdin. Nothing of it is put into the command. */
export function createCommandTarget(
  options: Common & { readonly command: string; readonly run: RunNotification },
): NotificationTarget {
  const { command, run, ...common } = options;
  return {
    ...common,
    kind: "command",
    async deliver(notice, { signal }) {
      try {
        await run(command, { input: `${JSON.stringify(toWebhookEvent(notice))}\n`, signal });
      } catch {
        throw new NotificationError("the command failed", { mayRetry: true });
      }
    },
  };
}

function createPostTarget(
  kind: NotificationTarget["kind"],
  { url, send, now = Date.now, ...common }: PostTargetOptions,
  toMessage: (notice: Notice) => object,
): NotificationTarget {
  return {
    ...common,
    kind,
    async deliver(notice, { signal }) {
      const body = toJsonBytes(toMessage(notice));
      assertTaken(await send({ url, headers: JSON_HEADERS, body, signal }), now());
    },
  };
}

function toJsonBytes(value: object): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function assertTaken({ status, retryAfter }: PostReply, nowMs: number): void {
  if (status >= 200 && status < 300) return;
  const mayRetry = status === 408 || status === 429 || status >= 500;
  const message = `it was answered with HTTP status ${status}`;
  throw new NotificationError(message, { mayRetry, retryAfterMs: toRetryAfterMs(retryAfter, nowMs) });
}

function toRetryAfterMs(retryAfter: string | undefined, nowMs: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const waitMs = /^\d{1,9}(?:\.\d+)?$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS) : undefined;
}
