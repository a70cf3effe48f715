import * as z from "zod";
import { MAX_DELAY_MS } from "../wait.ts";

/** A model's provider: a server that speaks OpenAI-compatible chat completions. */
export interface LlmConfig {
  readonly base_url: string;
  readonly api_key?: string;
  readonly model: string;
}

/** The `yaml` object of a config file: the hooks of `hooks.yaml`. */
export interface YamlConfig {
  readonly user?: string;
  readonly project?: string;
  readonly chain_timeout_ms?: number;
  readonly allow_session_bash: boolean;
  readonly max_session_hooks?: number;
  readonly session_hooks_on_error?: "abort" | "skip";
  readonly llm?: LlmConfig;
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

const llmSchema = z.strictObject({
  base_url: z
    .string()
    .refine(isHttpUrl, "expected an http or https URL without user and password")
    .describe('Up to but not including "/chat/completions", such as "http://127.0.0.1:11434/v1".'),
  api_key: z
    .string()
    .regex(/^[\x21-\x7e]+$/, "expected printable ASCII without spaces")
    .exactOptional()
    .describe('Sent as a bearer token: best as "${env:NAME}". Without it none is sent, which local servers take.'),
  model: z.string().min(1).describe("The model that is asked where a hook names none."),
});

/** The hooks of `hooks.yaml`. `true` is `{}`. */
export const yamlSchema: z.ZodType<YamlConfig> = z
  .strictObject({
    user: z
      .string()
      .min(1)
      .exactOptional()
      .describe("The user's file, relative to this one. Default: ~/.jdata/agent/hooks.yaml, where it is there."),
    project: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        "The project's file, relative to this one, and trusted by being named here. Default: the nearest .jcli/hooks.yaml in the directory hookgate runs in or above it, loaded only when `hookgate trust` has been run for it.",
      ),
    chain_timeout_ms: z
      .int()
      .min(1)
      .max(MAX_DELAY_MS)
      .exactOptional()
      .describe("What the hooks of one event may take together, in milliseconds. Default: 30000."),
    allow_session_bash: z
      .boolean()
      .default(false)
      .describe(
        "Whether hooks of type bash may be registered over HTTP. Whoever has a token with scope register can then run any command on this machine.",
      ),
    max_session_hooks: z
      .int()
      .min(1)
      .max(1024)
      .exactOptional()
      .describe("How many hooks one session may register. Default: 64."),
    session_hooks_on_error: z
      .enum(["abort", "skip"])
      .exactOptional()
      .describe(
        "What an event comes to when the store of session hooks (approvals.store) cannot be asked and nothing is known of the session's hooks: skip goes on without them, which the trace and the log say; abort ends it with stop, for a guard may be among them. Default: skip.",
      ),
    llm: llmSchema
      .exactOptional()
      .describe(
        "Where hooks of type llm ask. Default: HOOKGATE_LLM_BASE_URL, HOOKGATE_LLM_API_KEY and HOOKGATE_LLM_MODEL of the environment.",
      ),
  })
  .describe("The hooks of hooks.yaml. Default: none are loaded.");
