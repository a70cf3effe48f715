import * as z from "zod";
import { findUnknownPlaces, NOTICE_FIELDS } from "../approvals/index.ts";
import type { HookMatch } from "../picoclaw/index.ts";
import { matchSchema } from "../picoclaw/match-schema.ts";

interface CommonConfig {
  readonly name?: string;
  readonly on: readonly ("requested" | "decided")[];
  readonly match?: HookMatch;
  readonly approver?: string;
}

interface MessageConfig extends CommonConfig {
  readonly text?: string;
  readonly arguments: boolean;
}

/** One way in which people are told of approvals. */
export type NotifyConfig =
  | (CommonConfig & {
      readonly type: "webhook";
      readonly url: string;
      readonly secret: string | readonly string[];
      readonly allow_private: boolean;
    })
  | (MessageConfig & { readonly type: "slack" | "discord"; readonly url: string })
  | (MessageConfig & {
      readonly type: "telegram";
      readonly token: string;
      readonly chat_id: string;
      readonly api_url: string;
    })
  | (CommonConfig & { readonly type: "command"; readonly command: string });

/** Where Telegram's API is. */
export const TELEGRAM_API = "https://api.telegram.org";

const urlSchema = z.string().max(2048).describe("Where it is posted to: https, or http on a loopback address.");

const common = {
  name: z.string().min(1).max(100).exactOptional().describe("What it is called in its state and in the log."),
  on: z
    .array(z.enum(["requested", "decided"]))
    .min(1)
    .default(["requested"])
    .describe('What is told: "requested", "decided" or both. Default: ["requested"].'),
  match: matchSchema.exactOptional().describe("Which approvals are told of. Default: all."),
  approver: z
    .string()
    .min(1)
    .max(300)
    .exactOptional()
    .describe(
      "The one person who reads it. The link in it then decides as this person, once, without signing in: whoever else reads it can use it. Needs approvals.url and approvals.link_secret. Default: the link leads to the page, which asks to sign in.",
    ),
};

const message = {
  ...common,
  text: z
    .string()
    .min(1)
    .max(2000)
    .refine((text) => findUnknownPlaces(text).length === 0, `expected places of ${NOTICE_FIELDS.join(", ")}`)
    .exactOptional()
    .describe(
      "The message, in the service's own markup, with places such as {{tool}}; what is put into them is escaped. Default: a title and what is known.",
    ),
  arguments: z.boolean().default(true).describe("Whether the arguments, masked, are in a message without text."),
};

/** The schema of {@link NotifyConfig}. */
export const notifySchema: z.ZodType<NotifyConfig> = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("webhook"),
    url: urlSchema,
    secret: z
      .union([z.string(), z.array(z.string()).min(1).max(4)])
      .describe("The Standard Webhooks secret, whsec_ and base64, or several while rotating; from the environment."),
    allow_private: z.boolean().default(true).describe("Whether it may be in a private network."),
    ...common,
  }),
  z.strictObject({ type: z.literal("slack"), url: urlSchema, ...message }),
  z.strictObject({ type: z.literal("discord"), url: urlSchema, ...message }),
  z.strictObject({
    type: z.literal("telegram"),
    token: z
      .string()
      .regex(/^\d+:[\w-]+$/, "expected a bot's token, a number, a colon and letters")
      .describe("The bot's token; from the environment."),
    chat_id: z
      .string()
      .regex(/^(?:-?\d+|@\w+)$/, 'expected the number of a chat as text, or "@name"')
      .describe("The chat it is written to."),
    api_url: urlSchema.default(TELEGRAM_API).describe("Where the API is."),
    ...message,
  }),
  z.strictObject({
    type: z.literal("command"),
    command: z
      .string()
      .min(1)
      .max(4096)
      .describe("A shell command that is given the event as JSON on its stdin, and has 10 s."),
    ...common,
  }),
]);
