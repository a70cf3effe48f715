import { type OptionSpecs, withHelp } from "./args.ts";
import type { Command } from "./command.ts";
import { wrap } from "./text.ts";

/** The help of the program: its commands. */
export function formatOverview(commands: readonly Command[]): string {
  const rows = [
    ...commands.map(({ name, summary }) => [name, summary] as const),
    ["help", "Shows this, or the help of a command."] as const,
  ];
  return [
    "hookgate asks the hooks of an AI agent before each step it takes.",
    "",
    "usage: hookgate COMMAND [flags]",
    "",
    "commands:",
    ...toColumns(rows),
    "",
    "hookgate help COMMAND, or hookgate COMMAND --help, says everything about one of them.",
    "",
  ].join("\n");
}

/** The help of one command. */
export function formatHelp({ usage, summary, details, options, examples, exitCodes }: Command): string {
  const codes = Object.entries(exitCodes).map(([code, meaning]) => [code, meaning] as const);
  return [
    `usage: hookgate ${usage}`,
    "",
    wrap(summary, 0),
    ...details.flatMap((paragraph) => ["", wrap(paragraph, 0)]),
    "",
    "flags:",
    ...toColumns(toOptionRows(withHelp(options))),
    "",
    "examples:",
    ...examples.flatMap(({ line, help }) => (help === "" ? [`  ${line}`] : [`  # ${help}`, `  ${line}`])),
    "",
    "exit codes:",
    ...toColumns(codes),
    "",
  ].join("\n");
}

function toOptionRows(options: OptionSpecs): readonly (readonly [string, string])[] {
  return Object.entries(options).map(([name, { value, short, help, isRepeatable }]) => {
    const flag = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
    return [flag, isRepeatable === true ? `${help} May be repeated.` : help];
  });
}

function toColumns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${wrap(right, width + 4)}`);
}
