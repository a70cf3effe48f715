import { isSameJson } from "../chain/index.ts";
import { type CaseExpectation, type HookCase, parseCases, valueAt } from "../config/index.ts";
import { answerHost, type HookHost } from "../picoclaw/index.ts";
import { type Args, UsageError } from "./args.ts";
import { type CaseResult, formatCases, REPORT_FORMATS, type ReportFormat } from "./case-report.ts";
import { type Command, CONFIG_OPTION, EXIT, logLevelOption, readLogLevel } from "./command.ts";
import { actionOf, decidedBy, type Decision, isRefused, parseDecision } from "./decision.ts";
import type { CliHost } from "./host.ts";
import { loadConfig, readFile } from "./load.ts";
import { createTextLog } from "./log.ts";
import { startHooks } from "./start-hooks.ts";
import { createPaint } from "./text.ts";

/** `hookgate test`: cases that a policy has to stand. */
export const test: Command = {
  name: "test",
  summary: "Asks the hooks about the cases of a file and compares what they decide.",
  usage: "test FILE [--config FILE] [--format pretty|tap|junit]",
  details: [
    'FILE is YAML or JSON: "cases" is a list of {name, point, payload, expect}, and "config" names the config beside it.',
    'What "expect" may have: "action" (allowed, continue, modify, respond, deny_tool, abort_turn, hard_abort, approved, denied), "reason" (a regular expression), "by" (the hook that decided), "changes" (values of the payload as the hooks left it, by path such as call.arguments.path), "unchanged". A hook that gives no verdict fails the case unless "allow_no_verdict" is true.',
    "The hooks are started once, asked in the order of the file, and ended.",
  ],
  options: {
    config: { ...CONFIG_OPTION, help: 'The config file. Without it: "config" of the cases, or hooks.json.' },
    format: { value: "NAME", help: `How the result is written: ${REPORT_FORMATS.join(", ")}. Without it: pretty.` },
    "log-level": logLevelOption("error"),
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate test hooks.test.yaml", help: "for people" },
    { line: "hookgate test hooks.test.yaml --format junit > report.xml", help: "for CI" },
  ],
  exitCodes: {
    0: "every case is as expected",
    1: "a case is not, or the cases, the config or the command line is not good",
  },
  run: runTest,
};

async function runTest(args: Args, host: CliHost): Promise<number> {
  const [file] = args.positionals;
  if (file === undefined) throw new UsageError("which cases? hookgate test FILE");
  const format = readFormat(args);
  const text = await readFile(file, host);
  if (text === undefined) throw new UsageError(`there is no file ${file}`);
  const { cases, config } = parseCases(text, file);
  const log = createTextLog(host, readLogLevel(args, "error"));
  const named = args.get("config") ?? (config === undefined ? undefined : `${host.directoryOf(file)}/${config}`);
  const { host: hooks } = await startHooks(await loadConfig(named, host), { host, log });
  const results: CaseResult[] = [];
  try {
    for (const each of cases) results.push(await runCase(each, hooks, host));
  } finally {
    await hooks.close();
  }
  host.stdout.write(formatCases(results, { format, file, paint: createPaint(host.stdout, host.env) }));
  return results.every(({ failures }) => failures.length === 0) ? EXIT.ok : EXIT.usage;
}

function readFormat(args: Args): ReportFormat {
  const given = args.get("format") ?? "pretty";
  const format = REPORT_FORMATS.find((name) => name === given);
  if (format !== undefined) return format;
  throw new UsageError(`--format: expected one of ${REPORT_FORMATS.join(", ")}, got "${given}"`);
}

async function runCase(
  { name, point, payload, expect }: HookCase,
  hooks: HookHost,
  host: CliHost,
): Promise<CaseResult> {
  const startedAtMs = host.now();
  let failures: readonly string[];
  try {
    const decision = parseDecision(await answerHost(hooks, { method: `hook.${point}`, params: payload }));
    failures = compare(decision, expect);
  } catch (error) {
    // A payload that no gateway would take.
    failures = [error instanceof Error ? error.message : String(error)];
  }
  return { name, failures, ms: host.now() - startedAtMs };
}

function compare(decision: Decision, expect: CaseExpectation): readonly string[] {
  const failures: string[] = [];
  const fail = (what: string, expected: unknown, got: unknown): void => {
    failures.push(`${what}: expected ${toText(expected)}, got ${toText(got)}`);
  };
  const action = actionOf(decision);
  const isAsExpected = expect.action === "allowed" ? !isRefused(decision) : expect.action === action;
  if (expect.action !== undefined && !isAsExpected) {
    const why = decision.reason === "" ? "" : ` (${decision.reason})`;
    failures.push(`action: expected ${expect.action}, got ${action}${why}`);
  }
  if (expect.reason !== undefined && !new RegExp(expect.reason, "u").test(decision.reason)) {
    failures.push(`reason: expected /${expect.reason}/, got ${toText(decision.reason)}`);
  }
  if (expect.by !== undefined && decidedBy(decision) !== expect.by) fail("by", expect.by, decidedBy(decision));
  for (const [path, value] of Object.entries(expect.changes ?? {})) {
    const got = valueAt(decision.payload, toPath(path));
    if (!isSameJson(got, value)) fail(path, value, got);
  }
  if (expect.unchanged === true && action === "modify") fail("unchanged", true, false);
  if (!expect.allow_no_verdict) {
    for (const { hook, outcome, kind, error } of decision.records) {
      if (outcome === "no_verdict") failures.push(`hook "${hook}" gave no verdict: ${kind ?? ""}: ${error ?? ""}`);
    }
  }
  return failures;
}

/** `messages[0].content`, or the same with dots alone. */
function toPath(text: string): readonly (string | number)[] {
  return text.split(/\.|\[(\d+)\]/).flatMap((part) => (part === undefined || part === "" ? [] : [part]));
}

function toText(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
