import { z } from "zod";
import type { ChangeableField, HookPoint } from "./point.ts";

/** A JSON object. Keys this version does not know pass through untouched, at every level. */
export interface Open {
  readonly [key: string]: unknown;
}

/** Where in an agent's run a hook is called. Keys are PascalCase on the wire and always all present. */
export interface Meta extends Open {
  readonly AgentID: string;
  readonly TurnID: string;
  readonly ParentTurnID: string;
  readonly SessionKey: string;
  /** The model call of the turn this belongs to; the first is 0. */
  readonly Iteration: number;
  readonly TracePath: string;
  readonly Source: string;
}

/** A tool call as the model asks for it. */
export interface ModelToolCall extends Open {
  readonly id: string;
  readonly type?: string;
  /** `arguments` is JSON text, as the model wrote it. */
  readonly function?: Open & { readonly name: string; readonly arguments: string };
}

/** One message of the conversation. */
export interface Message extends Open {
  readonly role: string;
  /** Text, or an array of parts. */
  readonly content?: string | readonly unknown[] | null;
  readonly tool_calls?: readonly ModelToolCall[];
  readonly tool_call_id?: string;
}

/** A tool the model may call. */
export interface ToolDefinition extends Open {
  readonly type: string;
  /** `parameters` is a JSON Schema; empty is `{}`, never null. */
  readonly function: Open & { readonly name: string; readonly description?: string; readonly parameters?: Open };
}

/** What a model answered. */
export interface ModelResponse extends Open {
  /** Text, or an array of parts. */
  readonly content?: string | readonly unknown[] | null;
  readonly tool_calls?: readonly ModelToolCall[];
  readonly finish_reason?: string;
  readonly usage?: Open;
}

/** What a tool gave back. */
export interface ToolResult extends Open {
  /** What the model is told. */
  readonly for_llm: string;
  /** What the user is shown. */
  readonly for_user?: string;
  readonly silent?: boolean;
  readonly is_error?: boolean;
  readonly async?: boolean;
  readonly media?: readonly unknown[];
  /** Whether the result already answered the user, so that the turn can end. */
  readonly response_handled?: boolean;
}

/** Where a message came from; hooks see it and cannot change it. */
export interface Origin extends Open {
  readonly meta: Meta;
  readonly channel?: string;
  readonly chat_id?: string;
}

/** What `before_llm` hooks see and may change: model, messages, tools and options. */
export interface LlmRequest extends Origin {
  readonly model: string;
  readonly messages?: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly options?: Open;
  readonly graceful_terminal?: boolean;
}

/** What `after_llm` hooks see; they may change `response`. */
export interface LlmResponse extends Origin {
  readonly model: string;
  readonly response?: ModelResponse;
}

/** What `before_tool` hooks see and may change: tool and arguments. */
export interface ToolCall extends Origin {
  readonly tool: string;
  readonly arguments?: Open;
  /** A result that is already there; a `respond` hook may put it here. */
  readonly hook_result?: ToolResult;
}

/** What `approve_tool` hooks see. */
export interface ToolApproval extends Origin {
  readonly tool: string;
  readonly arguments?: Open;
}

/** What `after_tool` hooks see; they may change `result`, and `tool` to another name. */
export interface ToolOutcome extends Origin {
  readonly tool: string;
  readonly arguments?: Open;
  readonly result?: ToolResult;
  /** How long the tool ran, in integer nanoseconds. */
  readonly duration: number;
}

/** What hosts may leave out of a payload: any part of `meta`, and a tool's duration. */
export type HostPayload<P extends Origin> = {
  readonly [K in keyof P as K extends "meta" | "duration" ? never : K]: P[K];
} & {
  readonly meta?: Partial<Meta>;
  readonly duration?: number;
};

// Null is what some encoders write for what is absent, so every key that may be absent may be null.
const text = z.string();
const object = z.looseObject({});

/** Problems of one list that are reported. A list of millions that do not fit must not take the time and memory of as many. */
const MAX_PROBLEMS = 20;

/** A list, read until too many of its items do not fit. */
function listOf(item: z.ZodType): z.ZodType {
  return z.array(z.unknown()).superRefine((list, context) => {
    let problemCount = 0;
    for (const [index, value] of list.entries()) {
      for (const issue of item.safeParse(value).error?.issues ?? []) {
        context.addIssue({ ...issue, path: [index, ...issue.path] });
        problemCount += 1;
      }
      if (problemCount >= MAX_PROBLEMS) return;
    }
  });
}

/** The schema of `meta` as a host sends it. */
export const metaSchema: z.ZodType = z.looseObject({
  AgentID: text.nullish(),
  TurnID: text.nullish(),
  ParentTurnID: text.nullish(),
  SessionKey: text.nullish(),
  Iteration: z.int().nullish(),
  TracePath: text.nullish(),
  Source: text.nullish(),
});

const modelToolCallSchema = z.looseObject({
  id: text.nullish(),
  type: text.nullish(),
  function: z.looseObject({ name: text, arguments: text.nullish() }).nullish(),
});

const content = z.union([text, z.array(z.unknown())]).nullish();

const messageSchema = z.looseObject({
  role: text,
  content,
  tool_calls: listOf(modelToolCallSchema).nullish(),
  tool_call_id: text.nullish(),
});

const toolDefinitionSchema = z.looseObject({
  type: text,
  function: z.looseObject({ name: text, description: text.nullish(), parameters: object.nullish() }),
});

/** The schema of a model's response. */
export const modelResponseSchema: z.ZodType = z.looseObject({
  content,
  tool_calls: listOf(modelToolCallSchema).nullish(),
  finish_reason: text.nullish(),
  usage: object.nullish(),
});

/** The schema of a tool's result. */
export const toolResultSchema: z.ZodType = z.looseObject({
  for_llm: text.nullish(),
  for_user: text.nullish(),
  silent: z.boolean().nullish(),
  is_error: z.boolean().nullish(),
  async: z.boolean().nullish(),
  media: z.array(z.unknown()).nullish(),
  response_handled: z.boolean().nullish(),
});

/** The schemas of the fields a hook may change, by field name. */
export const fieldSchemas: Readonly<Record<ChangeableField, z.ZodType>> = {
  model: text,
  messages: listOf(messageSchema),
  tools: listOf(toolDefinitionSchema),
  options: object,
  tool: text,
  arguments: object,
  response: modelResponseSchema,
  result: toolResultSchema,
};

const origin = { meta: metaSchema.nullish(), channel: text.nullish(), chat_id: text.nullish() };

/** The schemas of the params a host sends, by hook point. */
export const paramsSchemas: Readonly<Record<HookPoint, z.ZodType>> = {
  before_llm: z.looseObject({
    ...origin,
    model: text,
    messages: fieldSchemas.messages.nullish(),
    tools: fieldSchemas.tools.nullish(),
    options: object.nullish(),
    graceful_terminal: z.boolean().nullish(),
  }),
  after_llm: z.looseObject({ ...origin, model: text, response: modelResponseSchema.nullish() }),
  before_tool: z.looseObject({
    ...origin,
    tool: text.min(1),
    arguments: object.nullish(),
    hook_result: toolResultSchema.nullish(),
  }),
  approve_tool: z.looseObject({ ...origin, tool: text.min(1), arguments: object.nullish() }),
  after_tool: z.looseObject({
    ...origin,
    tool: text.min(1),
    arguments: object.nullish(),
    result: toolResultSchema.nullish(),
    duration: z.int().nullish(),
  }),
};
