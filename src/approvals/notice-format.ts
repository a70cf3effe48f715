import { fillTemplate, type Notice, type NoticeField, toNoticeValues, toTitle } from "./notice.ts";

/** How a message is written. */
export interface FormatOptions {
  /** The text, in the format's own markup, with places such as `{{tool}}`. @default a title and the values that are there */
  readonly template?: string | undefined;
  /** Whether arguments are shown where there is no template. @default true */
  readonly showsArguments?: boolean | undefined;
}

const LABELS: readonly (readonly [field: NoticeField, label: string])[] = [
  ["agent", "Agent"],
  ["session", "Session"],
  ["channel", "Channel"],
  ["caller", "Host"],
  ["reason", "Why"],
  ["risk", "Risk"],
  ["by", "By"],
  ["comment", "Comment"],
  ["expires", "Until"],
  ["id", "Id"],
];

function listLines(notice: Notice): readonly (readonly [label: string, value: string])[] {
  const values = toNoticeValues(notice);
  return LABELS.flatMap(([field, label]) => (values[field] === "" ? [] : [[label, values[field]] as const]));
}

function showsArguments({ news }: Notice, options: FormatOptions): boolean {
  return news === "requested" && options.showsArguments !== false;
}

/**
 * Escapes for the text of a Slack message.
 * @see {@link https://docs.slack.dev/messaging/formatting-message-text/#escaping}
 */
export function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The most characters of a Slack header. */
const MAX_SLACK_HEADER = 150;

/**
 * A message for a Slack incoming webhook. Without a template every value is rich text, which has no markup in it.
 * @see {@link https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks}
 */
export function toSlackMessage(notice: Notice, options: FormatOptions = {}): object {
  const { template } = options;
  if (template !== undefined) return { text: fillTemplate(template, notice, escapeSlack), unfurl_links: false };
  const values = toNoticeValues(notice);
  const lines = listLines(notice).flatMap(([label, value]) => [
    { type: "text", text: `${label}: `, style: { bold: true } },
    { type: "text", text: `${value}\n` },
  ]);
  const title = toTitle(notice);
  const preformatted = { type: "rich_text_preformatted", elements: [{ type: "text", text: values.arguments }] };
  const richText = {
    type: "rich_text",
    elements: [
      { type: "rich_text_section", elements: lines },
      ...(showsArguments(notice, options) ? [preformatted] : []),
    ],
  };
  const button = { type: "button", text: { type: "plain_text", text: "Look and decide" }, url: values.link };
  return {
    // What notifications and old clients show.
    text: escapeSlack(title),
    unfurl_links: false,
    blocks: [
      { type: "header", text: { type: "plain_text", text: title.slice(0, MAX_SLACK_HEADER), emoji: false } },
      richText,
      ...(values.link === "" ? [] : [{ type: "actions", elements: [button] }]),
    ],
  };
}

/** Escapes for Discord's Markdown: no markup, mention, link or heading comes out of it. */
export function escapeDiscord(text: string): string {
  return text.replaceAll(/[\\*_~`|>#\-+[\]()<:@&/.!]/g, String.raw`\$&`);
}

const MAX_DISCORD_TITLE = 256;
const MAX_DISCORD_DESCRIPTION = 4096;
const MAX_DISCORD_CONTENT = 2000;

/**
 * A message for a Discord webhook. It mentions nobody, whatever is in it.
 * @see {@link https://discord.com/developers/docs/resources/webhook#execute-webhook}
 */
export function toDiscordMessage(notice: Notice, options: FormatOptions = {}): object {
  const quiet = { allowed_mentions: { parse: [] } };
  const { template } = options;
  if (template !== undefined) {
    return { content: fillTemplate(template, notice, escapeDiscord).slice(0, MAX_DISCORD_CONTENT), ...quiet };
  }
  const values = toNoticeValues(notice);
  const lines = listLines(notice).map(([label, value]) => `**${label}:** ${escapeDiscord(value)}`);
  if (showsArguments(notice, options)) lines.push("", escapeDiscord(values.arguments));
  if (values.link !== "") lines.push("", `[Look and decide](${values.link})`);
  return {
    embeds: [
      {
        title: escapeDiscord(toTitle(notice)).slice(0, MAX_DISCORD_TITLE),
        description: lines.join("\n").slice(0, MAX_DISCORD_DESCRIPTION),
      },
    ],
    ...quiet,
  };
}

/**
 * Escapes for Telegram's HTML.
 * @see {@link https://core.telegram.org/bots/api#html-style}
 */
export function escapeTelegram(text: string): string {
  return escapeSlack(text).replaceAll('"', "&quot;");
}

/**
 * The body of Telegram's sendMessage. Values are code, in which Telegram makes no links and no mentions.
 * @param chatId - A chat's number, or `@name` of a channel.
 * @see {@link https://core.telegram.org/bots/api#sendmessage}
 */
export function toTelegramMessage(notice: Notice, chatId: string, options: FormatOptions = {}): object {
  const message = { chat_id: chatId, parse_mode: "HTML", link_preview_options: { is_disabled: true } };
  const { template } = options;
  if (template !== undefined) return { ...message, text: fillTemplate(template, notice, escapeTelegram) };
  const values = toNoticeValues(notice);
  const lines = [`<b>${escapeTelegram(toTitle(notice))}</b>`];
  for (const [label, value] of listLines(notice)) lines.push(`${label}: <code>${escapeTelegram(value)}</code>`);
  if (showsArguments(notice, options)) lines.push(`<pre>${escapeTelegram(values.arguments)}</pre>`);
  if (values.link !== "") lines.push(`<a href="${escapeTelegram(values.link)}">Look and decide</a>`);
  return { ...message, text: lines.join("\n") };
}

/** What a webhook and a command are given: the approval as the gateway shows it, and where to decide. */
export function toWebhookEvent({ news, approval, link }: Notice): object {
  return {
    type: news === "requested" ? "approval.requested" : "approval.decided",
    timestamp: approval.changed,
    data: { approval, ...(link !== undefined && { link }) },
  };
}
