import { type Config, ConfigError } from "../config/index.ts";
import type { Log } from "../log.ts";
import { answerHost } from "../picoclaw/index.ts";
import type { Args } from "./args.ts";
import { type CheckedHook, checkHooks } from "./check.ts";
import { type Command, CONFIG_OPTION, EXIT } from "./command.ts";
import { parseDecision } from "./decision.ts";
import { examineAll, examineHook, withOnly } from "./doctor-config.ts";
import { examineRunning } from "./doctor-running.ts";
import { type Finding, formatFindings } from "./finding.ts";
import { createGatewayApi, GATEWAY_OPTIONS } from "./gateway-api.ts";
import type { CliHost } from "./host.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";
import { startHooks } from "./start-hooks.ts";
import { createPaint, formatMs, toSafeJson } from "./text.ts";

/** `hookgate doctor`: why a hook does not fire. */
export const doctor: Command = {
  name: "doctor",
  summary: "Says why a hook does not fire, and what to do about it.",
  usage: "doctor [--config FILE] [--url URL] [--probe] [--json]",
  details: [
    "Looks at each hook: whether it is enabled, where it is asked, what it is trusted with, its command and files, the greeting, and for hooks over HTTP each step of the way and the clocks. With --url a running gateway adds when each hook fired last, what came of it, and which hooks decide before it.",
    "With --probe each hook is asked about a call of the tool hookgate_doctor_probe, alone: only that shows a dialect that does not fit. It is not done unasked, for a hook may act on what it is asked.",
  ],
  options: {
    config: CONFIG_OPTION,
    ...GATEWAY_OPTIONS,
    url: { value: "URL", help: "A running gateway to ask too. Without it: none is asked." },
    probe: { help: "Asks each hook about a call that nobody makes." },
    json: { help: "Prints one JSON object." },
  },
  maxPositionals: 0,
  examples: [
    { line: "hookgate doctor", help: "looks at hooks.json and this machine" },
    { line: "hookgate doctor --probe --json", help: "asks each hook, for scripts" },
  ],
  exitCodes: {
    0: "nothing is bad, though there may be warnings",
    1: "something is bad",
    3: "the gateway cannot be reached",
  },
  run: runDoctor,
};

async function runDoctor(args: Args, host: CliHost): Promise<number> {
  const findings = await examine(args, host);
  const isBad = findings.some(({ level }) => level === "bad");
  if (args.has("json")) host.stdout.write(`${toSafeJson({ ok: !isBad, findings })}\n`);
  else host.stdout.write(formatFindings(findings, createPaint(host.stdout, host.env)));
  return isBad ? EXIT.usage : EXIT.ok;
}

async function examine(args: Args, host: CliHost): Promise<readonly Finding[]> {
  const api = args.has("url") ? createGatewayApi(args, host) : undefined;
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfig(args.get("config"), host);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split("\n").map((found) => toConfigFinding(found));
  }
  const { hooks } = loaded.config;
  const all = await examineAll(loaded, host);
  const own = await Promise.all(
    Object.entries(hooks.processes).map(([name, entry]) => examineHook(name, entry, { host, loaded })),
  );
  const started = await greet(loaded, host);
  const probed = args.has("probe") ? await probeHooks(loaded, host) : [];
  const running = api === undefined ? [] : await examineRunning(api, loaded.config);
  return byHook([...all, ...own.flat(), ...started, ...probed, ...running]);
}

function toConfigFinding(found: string): Finding {
  const name = /environment variable (\w+) is not set/.exec(found)?.[1];
  const fix = name === undefined ? "mend it: nothing is loaded before that" : `set ${name} where hookgate is started`;
  return { check: name === undefined ? "config" : "environment", level: "bad", found, fix };
}

/** All that is about one hook together, in the order in which hooks were met first. */
function byHook(findings: readonly Finding[]): readonly Finding[] {
  const names = [...new Set(findings.map(({ hook }) => hook))];
  return names.flatMap((name) => findings.filter(({ hook }) => hook === name));
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A greeting that takes longer than this, in milliseconds, is more than half of what it may take. */
const SLOW_HELLO_MS = 2500;

async function greet(loaded: LoadedConfig, host: CliHost): Promise<readonly Finding[]> {
  const hooks = await checkHooks(loaded, { host, log: silent });
  return hooks.flatMap((hook) => [...toHello(hook), ...toSteps(hook)]);
}

function toHello({ name, transport, state, reason = "it is not up", ms, steps }: CheckedHook): readonly Finding[] {
  if (transport === "in-process" || steps !== undefined) return [];
  const check = "hello";
  if (state !== "ready") {
    return [
      { hook: name, check, level: "bad", found: reason, fix: "run its command by hand and send it a hook.hello line" },
    ];
  }
  const found = `answered after ${formatMs(ms)} ms`;
  if (ms < SLOW_HELLO_MS) return [{ hook: name, check, level: "ok", found }];
  return [{ hook: name, check, level: "warn", found, fix: "it is given 5000 ms: move slow work behind the greeting" }];
}

function toSteps({ name, steps = [] }: CheckedHook): readonly Finding[] {
  return steps.map(({ step, outcome, found, ms, hint }) => ({
    hook: name,
    check: step,
    level: outcome === "failed" ? "bad" : "ok",
    found: outcome === "ok" ? `${found} (${formatMs(ms)} ms)` : found,
    ...(hint === undefined ? {} : { fix: hint }),
  }));
}

const PROBE = { tool: "hookgate_doctor_probe", arguments: {} };

async function probeHooks(loaded: LoadedConfig, host: CliHost): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const { hooks } = loaded.config;
  for (const [name, { enabled, intercept }] of Object.entries(hooks.processes)) {
    const points = (["before_tool", "approve_tool"] as const).filter((point) => intercept.includes(point));
    if (!hooks.enabled || !enabled || points.length === 0) continue;
    const { yaml: _, ...config }: Config = withOnly(name, loaded.config);
    const warnings: string[] = [];
    const log: Log = {
      ...silent,
      warn: (message, fields) => void (fields?.["keys"] !== undefined && warnings.push(message)),
    };
    const { manager } = await startHooks({ ...loaded, config }, { host, log });
    try {
      for (const point of points) {
        const decision = parseDecision(await answerHost(manager, { method: `hook.${point}`, params: PROBE }));
        findings.push(...decision.records.map((record) => toProbed(point, record)));
      }
      const fix = 'set "dialect": "picoclaw-docs"';
      for (const found of new Set(warnings)) findings.push({ hook: name, check: "dialect", level: "bad", found, fix });
    } finally {
      await manager.close();
    }
  }
  return findings;
}

function toProbed(
  point: string,
  { hook, outcome, kind, error, ms }: ReturnType<typeof parseDecision>["records"][number],
): Finding {
  const check = `probe ${point}`;
  if (kind === undefined) return { hook, check, level: "ok", found: `${outcome} after ${formatMs(ms)} ms` };
  const fix = kind === "timeout" ? "give it more time, or make it faster" : "see docs/protocol.md, No-verdict kinds";
  return { hook, check, level: "bad", found: `no verdict, ${kind}: ${error ?? ""}`, fix };
}
