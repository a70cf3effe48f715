import { HookCallError } from "../errors.ts";
import { isObject, type JsonObject } from "../is-object.ts";
import type { ModelQuestion } from "../jcli/port.ts";
import type { TransportScope } from "./contract.ts";

/** Where a model is reached: a server that speaks OpenAI-compatible chat completions. */
export interface LlmProvider {
  /** Up to but not including `/chat/completions`, such as `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. @default none is sent, which local servers take */
  readonly apiKey?: string | undefined;
  /** The model that is asked where a hook names none. */
  readonly model: string;
}

/** Options of {@link createLlmTransport}. */
export interface LlmTransportOptions extends LlmProvider {
  /** The host's fetch. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The longest prompt that is sent, in UTF-16 code units, 1 or more. @default 1048576 */
  readonly maxPromptChars?: number | undefined;
  /**
   * The longest reply that is read, in bytes, 1 or more. It bounds the memory a server can make the host use.
   * @default 1048576 (1 MiB)
   */
  readonly maxReplyBytes?: number | undefined;
}

/** What the transport may know of its call, and where it notes what the call cost. */
export interface LlmScope extends TransportScope {
  note(detail: Readonly<Record<string, unknown>>): void;
}

/** Asks a model and resolves to the text it answered. */
export type LlmTransport = (question: ModelQuestion, scope: LlmScope) => Promise<string>;

/**
 * Asks models with one request each. JSON mode is asked for and left out for good once the server has refused it; the
 * tokens a reply says it cost are noted in the record. No key and no reply is in any error.
 * @throws {TypeError} when the base URL is not an `http:` or `https:` one without user and password, the model is empty or
 * the key is not a header value
 * @throws {RangeError} when a bound is out of range
 * @see YAML hook system, section 5
 */
export function createLlmTransport(options: LlmTransportOptions): LlmTransport {
  const client = new ChatClient(options);
  return (question, scope) => client.ask(question, scope);
}

/** Variables that name a provider. */
export type LlmEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * The provider that `HOOKGATE_LLM_BASE_URL`, `HOOKGATE_LLM_API_KEY` and `HOOKGATE_LLM_MODEL` name; undefined when the first
 * or the last is not set.
 */
export function readLlmProvider(env: LlmEnvironment): LlmProvider | undefined {
  const baseUrl = env["HOOKGATE_LLM_BASE_URL"];
  const model = env["HOOKGATE_LLM_MODEL"];
  if (!baseUrl || !model) return undefined;
  return { baseUrl, model, apiKey: env["HOOKGATE_LLM_API_KEY"] || undefined };
}

const MEBI = 1_048_576;
/** What a server answers that does not know a parameter. */
const REFUSED = new Set([400, 422]);

class ChatClient {
  readonly #fetch: LlmTransportOptions["fetch"];
  readonly #url: string;
  readonly #model: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #maxPromptChars: number;
  readonly #maxReplyBytes: number;
  #hasJsonMode = true;

  constructor({ baseUrl, apiKey, model, fetch, maxPromptChars = MEBI, maxReplyBytes = MEBI }: LlmTransportOptions) {
    if (model === "") throw new TypeError("model must not be empty");
    // Checked here, because the platform's own error would hold the key.
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError("apiKey must be printable ASCII without spaces");
    }
    this.#url = toEndpoint(baseUrl);
    this.#fetch = fetch;
    this.#model = model;
    const headers = { "content-type": "application/json", accept: "application/json" };
    this.#headers = apiKey === undefined ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
    this.#maxPromptChars = assertBound("maxPromptChars", maxPromptChars);
    this.#maxReplyBytes = assertBound("maxReplyBytes", maxReplyBytes);
  }

  async ask({ prompt, model = this.#model }: ModelQuestion, scope: LlmScope): Promise<string> {
    if (prompt.length > this.#maxPromptChars) {
      throw new HookCallError("too_large", `the prompt is longer than ${this.#maxPromptChars} characters`);
    }
    const body = { model, messages: [{ role: "user", content: prompt }], temperature: 0, stream: false };
    if (this.#hasJsonMode) {
      const response = await this.#post({ ...body, response_format: { type: "json_object" } }, scope);
      if (!REFUSED.has(response.status)) return this.#read(response, scope);
      discard(response);
    }
    const response = await this.#post(body, scope);
    if (response.ok) this.#hasJsonMode = false;
    return this.#read(response, scope);
  }

  async #post(body: object, { signal }: LlmScope): Promise<Response> {
    try {
      // Followed, a redirect would carry the prompt to a place nobody has configured.
      const init = { method: "POST", headers: this.#headers, redirect: "manual", signal } as const;
      return await this.#fetch(this.#url, { ...init, body: JSON.stringify(body) });
    } catch (cause) {
      throw new HookCallError("unreachable", "the model's server cannot be reached", { cause });
    }
  }

  async #read(response: Response, scope: LlmScope): Promise<string> {
    const { status } = response;
    if (!response.ok) {
      discard(response);
      const isRedirect = response.type === "opaqueredirect" || (status >= 300 && status <= 399);
      if (isRedirect) throw new HookCallError("redirect", "the model's server answered with a redirect");
      throw new HookCallError("http_status", `the model's server answered with status ${status}`);
    }
    const reply = parseReply(await readText(response, this.#maxReplyBytes));
    if (isObject(reply["usage"])) scope.note({ usage: toUsage(reply["usage"]) });
    return toAnswer(reply);
  }
}

/** Lets go of a reply that is not read. */
function discard(response: Response): void {
  response.body?.cancel().catch(() => {});
}

function parseReply(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new HookCallError("bad_json", "the model's server did not answer with JSON", { cause });
  }
  if (!isObject(value)) throw new HookCallError("bad_envelope", "the reply is not a chat completion");
  return value;
}

function toAnswer(reply: JsonObject): string {
  const choice: unknown = Array.isArray(reply["choices"]) ? reply["choices"][0] : undefined;
  const message = isObject(choice) ? choice["message"] : undefined;
  const content = isObject(message) ? message["content"] : undefined;
  if (!isObject(choice) || typeof content !== "string") {
    throw new HookCallError("bad_envelope", "the reply is not a chat completion with text");
  }
  // What is left of an answer that was cut short could still hold a whole object, which was not the answer.
  if (choice["finish_reason"] === "length") throw new HookCallError("bad_result", "the model's answer was cut short");
  return content;
}

/** The numbers of a reply's usage; whatever else a server puts there is not recorded. */
function toUsage(usage: JsonObject): JsonObject {
  const counts = ["prompt_tokens", "completion_tokens", "total_tokens"].map((name) => [name, usage[name]] as const);
  return Object.fromEntries(counts.filter(([, count]) => typeof count === "number"));
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let byteCount = 0;
  if (response.body === null) return text;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await readChunk(reader);
    if (done) return text + decoder.decode();
    byteCount += value.length;
    if (byteCount > maxBytes) {
      reader.cancel().catch(() => {});
      throw new HookCallError("too_large", `the model's server answered with more than ${maxBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function readChunk(reader: Reader): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await reader.read();
  } catch (cause) {
    throw new HookCallError("unreachable", "the model's server broke off its reply", { cause });
  }
}

function toEndpoint(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isUsable =
    (url?.protocol === "http:" || url?.protocol === "https:") && url.username === "" && url.password === "";
  if (url === undefined || !isUsable) {
    throw new TypeError("baseUrl must be an http: or https: URL without user and password");
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`;
  url.hash = "";
  return url.href;
}

function assertBound(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new RangeError(`${name} must be an integer of 1 or more, got ${value}`);
}
