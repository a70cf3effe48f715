import { isHookCallError } from "../../src/errors.ts";
import {
  type HookContext,
  type HookFilter,
  impossibleField,
  matchesFilter,
  PLACEHOLDERS,
  readAnswer,
  readOutput,
  renderPrompt,
} from "../../src/jcli/index.ts";
import { type Case, equal, ok } from "./case.ts";

function textCase(section: number, id: string, test: () => void): Case {
  return { id: `jcli-text/${id}`, source: `YAML hook system, section ${section}`, run: async () => test() };
}

function kindOf(read: () => unknown): string {
  try {
    return `it gave ${JSON.stringify(read())}`;
  } catch (error) {
    return isHookCallError(error) ? error.kind : String(error);
  }
}

const OUTPUTS: readonly [name: string, text: string, expected: object | undefined][] = [
  ["nothing", "", {}],
  ["blank-lines", " \n\t\n", {}],
  ["an-empty-object", "{}\n", {}],
  ["an-object", '  {"user_input":"hooked"}\n', { user_input: "hooked" }],
  ["an-object-over-lines", '{\n"user_input":\n"x"\n}', { user_input: "x" }],
  ["prose-around-an-object", "x {} y", undefined],
  ["prose", "done", undefined],
  ["half-an-object", '{"user_input":"x', undefined],
  ["two-objects", "{}{}", undefined],
  ["two-objects-on-two-lines", "{}\n{}\n", undefined],
  ["an-array", "[]", undefined],
  ["null", "null", undefined],
  ["a-string", '"x"', undefined],
];

const FENCE = "```";

const ANSWERS: readonly [name: string, text: string, expected: object | undefined][] = [
  ["an-object", '{"action":"stop"}', { action: "stop" }],
  ["a-fenced-object", `${FENCE}json\n{"action":"stop"}\n${FENCE}`, { action: "stop" }],
  ["an-object-after-prose", 'I would say {"user_input":"a } in text"} and no more.', { user_input: "a } in text" }],
  ["the-last-of-several-objects", 'First {"user_input":"a"}, then {"user_input":"b"}.', { user_input: "b" }],
  ["an-object-after-a-brace", 'A set {x} and {"user_input":"b"} {', { user_input: "b" }],
  ["an-object-within-braces", 'So {{"user_input":"b"}} it is', { user_input: "b" }],
  ["an-object-with-nested-ones", '{"a":{"b":{}}} {', { a: { b: {} } }],
  ["quotes-in-prose", 'The "answer is {"user_input":"b"}', { user_input: "b" }],
  ["an-object-cut-short", '{"messages":[{"role":"user","content":"x"}],"act', undefined],
  ["an-object-and-one-cut-short", '{"user_input":"a"} {"messages":[{"role":"x"}', undefined],
  ["prose", "This looks fine to me.", undefined],
  ["nothing", "", undefined],
  ["an-array", "[1, 2]", undefined],
  ["closing-before-opening", "} {", undefined],
  ["nothing-but-braces", `${"{".repeat(50_000)}}`, undefined],
  ["braces-in-pairs", `{x}${"{".repeat(5000)}${"}".repeat(5000)}`, undefined],
];

const context: HookContext = { event: "pre_tool_execution", cwd: "/w", tool_name: "Bash", tool_arguments: "{}" };

/** The text before what every prompt ends with. */
function rendered(template: string, values: Partial<HookContext> = {}): string {
  const text = renderPrompt(template, { ...context, ...values });
  return text.slice(0, text.indexOf("\n\nAnswer with one JSON object"));
}

const FILTERS: readonly [name: string, filter: HookFilter, values: Partial<HookContext>, matches: boolean][] = [
  ["no-field", {}, {}, true],
  ["the-tools-name", { tool_name: "Bash" }, {}, true],
  ["another-name", { tool_name: "Write" }, {}, false],
  ["letter-case-counts", { tool_name: "bash" }, {}, false],
  ["one-of-a-matcher", { tool_matcher: "Bash|Shell" }, {}, true],
  ["the-other-of-a-matcher", { tool_matcher: "Bash | Shell" }, { tool_name: "Shell" }, true],
  ["none-of-a-matcher", { tool_matcher: "Bash|Shell" }, { tool_name: "Write" }, false],
  ["a-matcher-is-exact", { tool_matcher: "Bas|ash|Ba.*" }, {}, false],
  ["a-name-with-a-matcher", { tool_name: "Bash", tool_matcher: "Write|Edit" }, { tool_name: "Write" }, false],
  ["a-name-counts-and-not-the-matcher", { tool_name: "Bash", tool_matcher: "Write|Edit" }, {}, true],
  ["the-models-beginning", { model_prefix: "gpt-4" }, { model: "gpt-4o" }, true],
  ["another-beginning", { model_prefix: "gpt-4" }, { model: "claude" }, false],
  ["no-model", { model_prefix: "gpt-4" }, {}, false],
  ["all-fields-must-match", { tool_name: "Bash", model_prefix: "gpt" }, { model: "claude" }, false],
];

/** Outputs, answers, prompts and filters. */
export const jcliTextCases: readonly Case[] = [
  ...OUTPUTS.map(([name, text, expected]) =>
    textCase(4, `output/${name}`, () => {
      if (expected === undefined)
        equal(
          kindOf(() => readOutput(text)),
          "bad_json",
        );
      else equal(readOutput(text), expected);
    }),
  ),
  ...ANSWERS.map(([name, text, expected]) =>
    textCase(5, `answer/${name}`, () => {
      if (expected === undefined)
        equal(
          kindOf(() => readAnswer(text)),
          "bad_json",
        );
      else equal(readAnswer(text), expected);
    }),
  ),
  textCase(5, "prompt/every-placeholder", () => {
    const values: Required<HookContext> = {
      event: "stop",
      cwd: "c",
      user_input: "u",
      assistant_output: "a",
      tool_name: "n",
      tool_arguments: "g",
      tool_result: "r",
      tool_error: "e",
      system_prompt: "s",
      model: "m",
      session_id: "i",
      messages: [],
    };
    for (const name of PLACEHOLDERS) equal(rendered(`<{{${name}}}>`, values), `<${values[name]}>`);
  }),
  textCase(5, "prompt/what-is-absent-is-empty", () => equal(rendered("<{{user_input}}>"), "<>")),
  textCase(5, "prompt/unknown-names-stay", () =>
    equal(rendered("{{messages}} {{ event }} {{}}"), "{{messages}} {{ event }} {{}}"),
  ),
  textCase(5, "prompt/values-are-not-expanded", () => {
    const values = { user_input: "{{tool_arguments}} {{model}} $& $1 {{", tool_arguments: "secret" };
    equal(rendered("{{user_input}}|{{tool_arguments}}", values), "{{tool_arguments}} {{model}} $& $1 {{|secret");
  }),
  textCase(5, "prompt/values-cannot-make-a-placeholder", () => {
    equal(rendered("{{{user_input}}}", { user_input: "{model}", model: "m" }), "{{model}}");
    equal(rendered("{{user_input}}model}}", { user_input: "{{", model: "m" }), "{{model}}");
  }),
  textCase(5, "prompt/the-instruction-comes-last", () => {
    ok(renderPrompt("x", context).startsWith("x\n\nAnswer with one JSON object"), "after the prompt");
  }),
  ...FILTERS.map(([name, filter, values, matches]) =>
    textCase(6, `filter/${name}`, () => equal(matchesFilter(filter, { ...context, ...values }), matches)),
  ),
  textCase(6, "filter/a-matcher-without-a-tool", () => {
    equal(matchesFilter({ tool_matcher: "Bash|Shell" }, { event: "stop", cwd: "" }), false);
  }),
  textCase(6, "filter/what-can-never-match", () => {
    equal(impossibleField({ tool_name: "Bash" }, "pre_tool_execution"), undefined);
    equal(impossibleField({ tool_name: "Bash" }, "stop"), "tool_name");
    equal(impossibleField({ tool_matcher: "Bash" }, "session_start"), "tool_matcher");
    equal(impossibleField({ tool_matcher: " | " }, "pre_tool_execution"), "tool_matcher");
    equal(impossibleField({ model_prefix: "gpt" }, "pre_tool_execution"), "model_prefix");
    equal(impossibleField({ model_prefix: "gpt" }, "pre_llm_request"), undefined);
  }),
];
