import * as z from "zod";
import { type NotifyConfig, notifySchema } from "./notify-schema.ts";

/** The `approvals` object of a config file: where human approvals are kept. */
export interface ApprovalsConfig {
  /** Such as `sqlite:hookgate-approvals.db`; see {@link parseStoreAddress}. */
  readonly store: string;
  /** Paths such as `arguments.password`. Absent: those of `records`. */
  readonly mask?: readonly string[];
  /** How long settled approvals are kept. */
  readonly keep_days: number;
  /** Where people reach the gateway, for links; without a query. */
  readonly url?: string;
  /** Signs links that decide. */
  readonly link_secret?: string;
  /** How people are told. */
  readonly notify?: readonly NotifyConfig[];
}

/** A kind of store that approvals can be kept in. */
export type ApprovalStoreKind = "memory" | "sqlite" | "redis" | "durable_object";

/** Where approvals are kept. */
export interface StoreAddress {
  readonly kind: ApprovalStoreKind;
  /** The file, the URL or the binding; empty for memory. */
  readonly target: string;
}

/** Where approvals are kept when a config does not say. */
export const DEFAULT_APPROVALS: ApprovalsConfig = { store: "sqlite:hookgate-approvals.db", keep_days: 30 };

/** What a store's address may look like, for messages. */
export const STORE_FORMS = '"sqlite:FILE", "memory", "redis://HOST:PORT" or "durable_object:BINDING"';

/** Reads the address of a store; undefined when it is none. */
export function parseStoreAddress(text: string): StoreAddress | undefined {
  if (text === "memory") return { kind: "memory", target: "" };
  if (/^rediss?:\/\/./.test(text)) return URL.canParse(text) ? { kind: "redis", target: text } : undefined;
  const [, kind, target] = /^(sqlite|durable_object):(.+)$/s.exec(text) ?? [];
  if (target === undefined) return undefined;
  return { kind: kind === "sqlite" ? "sqlite" : "durable_object", target };
}

/** The schema of {@link ApprovalsConfig}. */
export const approvalsSchema: z.ZodType<ApprovalsConfig> = z
  .strictObject({
    store: z
      .string()
      .refine((text) => parseStoreAddress(text) !== undefined, `expected ${STORE_FORMS}`)
      .default(DEFAULT_APPROVALS.store)
      .describe(
        `Where approvals are kept: ${STORE_FORMS}. A file is relative to the config's; what is in memory is gone with the gateway. Default: "${DEFAULT_APPROVALS.store}".`,
      ),
    mask: z
      .array(z.string())
      .exactOptional()
      .describe(
        'Paths of what people are not shown, such as "arguments.password". Default: those of records.record.mask. What is masked is approved unseen.',
      ),
    keep_days: z
      .int()
      .min(1)
      .max(3650)
      .default(DEFAULT_APPROVALS.keep_days)
      .describe("How long settled approvals are kept, in days."),
    url: z
      .string()
      .max(2048)
      .exactOptional()
      .describe("Where people reach this gateway, such as https://gate.example.com, for the links they are sent."),
    link_secret: z
      .string()
      .min(32)
      .max(1024)
      .exactOptional()
      .describe(
        "At least 32 random characters, from the environment: it signs links with which one person decides one approval without signing in.",
      ),
    notify: z.array(notifySchema).max(50).exactOptional().describe("How people are told of approvals."),
  })
  .describe("Where human approvals are kept.");
