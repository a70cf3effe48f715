import { formatHookProblem, type HookFile, readHookFile, type ReadHookFileOptions } from "../../src/jcli/index.ts";
import { type Case, equal } from "./case.ts";

function fileCase(id: string, test: () => void): Case {
  return { id: `jcli-file/${id}`, source: "YAML hook system, section 1", run: async () => test() };
}

function lines(...text: readonly string[]): string {
  return `${text.join("\n")}\n`;
}

/** Where each hook is and what it runs. */
function kept({ hooks }: HookFile): readonly string[] {
  return hooks.map(({ event, index, line, definition }) => {
    const text =
      definition.type === "bash" ? definition.command : definition.type === "llm" ? definition.prompt : definition.url;
    return `${line} ${event}[${index}] ${text}`;
  });
}

function problems({ problems: found }: HookFile): readonly string[] {
  return found.map((problem) => formatHookProblem(problem, "f"));
}

/** Each file with one thing wrong: the hooks that are kept, and what is said. */
const WRONG: readonly [
  id: string,
  text: string,
  kept: readonly string[],
  said: readonly string[],
  ReadHookFileOptions?,
][] = [
  [
    "unknown-event",
    lines("pre_send_mesage:", "  - command: a", "stop:", "  - command: b"),
    ["4 stop[0] b"],
    ['f:1:1 pre_send_mesage: unknown event; did you mean "pre_send_message"?'],
  ],
  [
    "event-that-is-no-list",
    lines("stop:", "  command: a", "post_auto_compact: 5"),
    [],
    ["f:2:3 stop: expected a list of hooks", "f:3:20 post_auto_compact: expected a list of hooks"],
  ],
  ["top-level-list", lines("- command: a"), [], ["f:1:1 $: expected a map from events to lists of hooks"]],
  [
    "entry-that-is-no-map",
    lines("stop:", "  - a", "  - command: b"),
    ["3 stop[1] b"],
    ["f:2:5 stop[0]: expected a hook, got text"],
  ],
  [
    "no-command",
    lines("stop:", "  - timeout: 5", "  - command: b"),
    ["3 stop[1] b"],
    ["f:2:5 stop[0].command: missing: a hook of type bash needs it"],
  ],
  ["no-prompt", lines("stop:", "  - type: llm"), [], ["f:2:5 stop[0].prompt: missing: a hook of type llm needs it"]],
  [
    "prompt-without-a-type",
    lines("stop:", "  - prompt: hi"),
    [],
    ['f:2:5 stop[0].type: a hook with a prompt needs "type: llm"'],
  ],
  ["empty-command", lines("stop:", '  - command: " "'), [], ["f:2:14 stop[0].command: must not be empty"]],
  [
    "unknown-type",
    lines("stop:", "  - type: bsh", "    command: a"),
    [],
    ['f:2:11 stop[0].type: unknown type, got "bsh"; did you mean "bash"? (expected one of: bash, llm, http)'],
  ],
  [
    "wrong-types",
    lines("stop:", "  - command: [a]", '    timeout: "5"', "    retry: 1.5", "    filter: x"),
    [],
    [
      "f:2:14 stop[0].command: expected text, got a list",
      'f:3:14 stop[0].timeout: expected a number, got "5"',
      "f:4:12 stop[0].retry: expected an integer, got 1.5",
      'f:5:13 stop[0].filter: expected a map, got "x"',
    ],
  ],
  [
    "out-of-range",
    lines(
      "stop:",
      "  - command: a",
      "    timeout: 0",
      "    retry: -1",
      "  - command: b",
      "    timeout: 1e9",
      "    retry: 101",
    ),
    [],
    [
      "f:3:14 stop[0].timeout: expected more than 0, got 0",
      "f:4:12 stop[0].retry: expected at least 0, got -1",
      "f:6:14 stop[1].timeout: expected at most 2147483.647, got 1000000000",
      "f:7:12 stop[1].retry: expected at most 100, got 101",
    ],
  ],
  [
    "unknown-on-error",
    lines("stop:", "  - command: a", "    on_error: abrt"),
    [],
    ['f:3:15 stop[0].on_error: unknown value, got "abrt"; did you mean "abort"? (expected one of: skip, abort, stop)'],
  ],
  [
    "wrong-filter",
    lines("stop:", "  - command: a", "    filter: { tool_name: 5 }"),
    [],
    ["f:3:26 stop[0].filter.tool_name: expected text, got 5"],
  ],
  [
    "unknown-keys-are-warnings",
    lines("pre_tool_execution:", "  - command: a", "    timout: 5", "    filter: { tool: x }"),
    ["2 pre_tool_execution[0] a"],
    [
      'f:3:13 warning: pre_tool_execution[0].timout: unknown key, not read; did you mean "timeout"?',
      "f:4:21 warning: pre_tool_execution[0].filter.tool: unknown key, not read",
    ],
  ],
  [
    "keys-of-the-other-type-are-warnings",
    lines("stop:", "  - command: a", "    model: m"),
    ["2 stop[0] a"],
    ["f:3:12 warning: stop[0].model: not read: the hook is of type bash"],
  ],
  [
    "unknown-placeholders-are-warnings",
    lines("stop:", "  - type: llm", '    prompt: "{{user_inptu}} {{model}}"'),
    ["2 stop[0] {{user_inptu}} {{model}}"],
    [
      'f:3:13 warning: stop[0].prompt: unknown placeholder {{user_inptu}}, which stays as it is; did you mean "user_input"?',
    ],
  ],
  [
    "filters-that-never-match-are-warnings",
    lines("stop:", "  - command: a", "    filter: { tool_name: Bash }"),
    ["2 stop[0] a"],
    ["f:3:26 warning: stop[0].filter.tool_name: can never match at stop"],
  ],
  [
    "key-twice",
    lines("stop:", "  - command: a", "    command: b", "  - command: c"),
    ["4 stop[1] c"],
    ["f:3:5 stop[0].command: the key is there twice"],
  ],
  [
    "event-twice",
    lines("stop:", "  - command: a", "stop:", "  - command: b"),
    ["2 stop[0] a", "4 stop[1] b"],
    ["f:3:1 stop: the event is there twice; the hooks of both are called"],
  ],
  [
    "unclosed-quote",
    lines("stop:", "  - command: a", '  - command: "b', "post_auto_compact:", "  - command: c"),
    ["2 stop[0] a"],
    ['f:6:1 $: Missing closing "quote'],
  ],
  [
    "bad-indentation",
    lines("pre_send_message:", "  - command: a", "stop:", "  - command: b", "   on_error: abort", "  - command: c"),
    ["2 pre_send_message[0] a", "6 stop[2] c"],
    ["f:5:1 $: Sequence item without - indicator", "f:5:4 stop[1].command: missing: a hook of type bash needs it"],
  ],
  [
    "unknown-anchor",
    lines("stop: *nothing", "post_auto_compact:", "  - *neither", "  - command: a"),
    ["4 post_auto_compact[1] a"],
    ["f:1:7 stop: unknown anchor", "f:3:5 post_auto_compact[0]: an alias in the hook cannot be resolved"],
  ],
  [
    "type-that-cannot-run-here",
    lines("stop:", "  - command: a", "  - type: llm", "    prompt: b"),
    ["3 stop[1] b"],
    ["f:2:5 stop[0].type: bash hooks cannot run here"],
    { types: ["llm"] },
  ],
];

/** What a `hooks.yaml` may hold, and what is said of what it may not. */
export const jcliFileCases: readonly Case[] = [
  fileCase("defaults-of-bash", () => {
    const [hook] = readHookFile(lines("stop:", "  - command: a")).hooks;
    equal(hook?.definition, { type: "bash", command: "a", timeoutMs: 10_000, retryCount: 0, onError: "skip" });
  }),
  fileCase("defaults-of-llm", () => {
    const [hook] = readHookFile(lines("stop:", "  - type: llm", "    prompt: a")).hooks;
    equal(hook?.definition, { type: "llm", prompt: "a", timeoutMs: 30_000, retryCount: 1, onError: "skip" });
  }),
  fileCase("explicit-values-are-honoured", () => {
    const { hooks } = readHookFile(
      lines(
        "pre_tool_execution:",
        "  - { type: llm, prompt: a, model: m, timeout: 10, retry: 0, on_error: abort, filter: { tool_matcher: x } }",
        "  - { type: bash, command: a, timeout: 0.25, retry: 3, on_error: stop }",
      ),
    );
    equal(
      hooks.map(({ definition }) => definition),
      [
        {
          type: "llm",
          prompt: "a",
          model: "m",
          timeoutMs: 10_000,
          retryCount: 0,
          onError: "abort",
          filter: { tool_matcher: "x" },
        },
        { type: "bash", command: "a", timeoutMs: 250, retryCount: 3, onError: "abort" },
      ],
    );
  }),
  fileCase("keys-without-a-value-are-absent", () => {
    const file = readHookFile(lines("stop:", "  - command: a", "    timeout:", "    filter:", "session_end:"));
    equal([kept(file), problems(file)], [["2 stop[0] a"], []]);
  }),
  fileCase("an-empty-file-has-no-hooks", () => {
    for (const text of ["", "\n", "# nothing\n", "---\n", "{}"]) equal(readHookFile(text), { hooks: [], problems: [] });
  }),
  fileCase("anchors-are-resolved", () => {
    const file = readHookFile(
      lines("stop: &list", "  - &hook", "    command: a", "post_auto_compact: *list", "session_end:", "  - *hook"),
    );
    equal(
      [kept(file).map((text) => text.slice(2)), problems(file)],
      [["stop[0] a", "post_auto_compact[0] a", "session_end[0] a"], []],
    );
  }),
  fileCase("a-bomb-of-aliases-is-refused", () => {
    const levels = Array.from({ length: 9 }, (_, n) => `  l${n + 1}: &l${n + 1} [${`*l${n}, `.repeat(9)}]`);
    const file = readHookFile(lines("stop:", "- command: a", "- l0: &l0 [x, x, x]", ...levels, "  command: *l9"));
    equal(
      [kept(file), file.problems.map(({ message }) => message)],
      [["2 stop[0] a"], ["an alias in the hook cannot be resolved"]],
    );
  }),
  fileCase("a-file-that-is-too-long-is-not-read", () => {
    const file = readHookFile(`${lines("stop:", "  - command: a")}#${"x".repeat(1_048_576)}`);
    equal([file.hooks, file.problems.length], [[], 1]);
  }),
  ...WRONG.map(([id, text, hooks, said, options]) =>
    fileCase(`wrong/${id}`, () => {
      const file = readHookFile(text, options);
      equal([problems(file), kept(file)], [said, hooks]);
    }),
  ),
];
