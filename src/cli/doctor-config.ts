import type { Config, ProcessConfig, StdioConfig } from "../config/index.ts";
import type { Finding } from "./finding.ts";
import type { CliHost } from "./host.ts";
import type { LoadedConfig } from "./load.ts";

/** Below so many milliseconds a deadline is missed by a process that merely has to be scheduled. */
const SMALL_TIMEOUT_MS = 50;
/** Below so many milliseconds no person approves anything. */
const SMALL_APPROVAL_MS = 1000;

/** What is wrong for all hooks: the switch, the deadlines, who may write the file. */
export async function examineAll({ config, file }: LoadedConfig, host: CliHost): Promise<readonly Finding[]> {
  const { enabled, defaults } = config.hooks;
  const findings: Finding[] = [];
  if (!enabled) {
    findings.push({
      check: "enabled",
      level: "bad",
      found: "hooks.enabled is false: no hook is loaded",
      fix: 'set "enabled": true in "hooks"',
    });
  }
  for (const [key, least] of [
    ["observer_timeout_ms", SMALL_TIMEOUT_MS],
    ["interceptor_timeout_ms", SMALL_TIMEOUT_MS],
    ["approval_timeout_ms", SMALL_APPROVAL_MS],
  ] as const) {
    const value = defaults[key] ?? 0;
    if (value <= 0 || value >= least) continue;
    const found = `hooks.defaults.${key} is ${value}: most calls will time out`;
    findings.push({
      check: "timeouts",
      level: "warn",
      found,
      fix: `leave it out for the default, or give at least ${least}`,
    });
  }
  if ((await host.inspectFile(file))?.isWritableByAll === true) {
    const found = `everyone on this machine may change ${file}, and with it which programs run`;
    findings.push({ check: "permissions", level: "bad", found, fix: `chmod o-w ${file}` });
  }
  return findings;
}

/** Why a hook of the config may not fire, as far as the config and this machine's files tell. */
export async function examineHook(
  name: string,
  entry: ProcessConfig,
  { host, loaded }: { readonly host: CliHost; readonly loaded: LoadedConfig },
): Promise<readonly Finding[]> {
  const at = `hooks.processes.${name}`;
  if (!entry.enabled) {
    return [
      {
        hook: name,
        check: "enabled",
        level: "warn",
        found: "it is not enabled, so it is not loaded",
        fix: `set "enabled": true in ${at}`,
      },
    ];
  }
  return [
    { hook: name, check: "enabled", level: "ok", found: "yes" },
    ...examinePoints(name, entry),
    ...examineTrust(name, entry),
    ...(entry.transport === "stdio" ? await examineCommand(name, entry, { host, loaded }) : []),
  ];
}

function examinePoints(name: string, entry: ProcessConfig): readonly Finding[] {
  const { intercept, observe } = entry;
  const told = observe.length === 0 ? "" : `; told of ${observe.join(", ")}`;
  const findings: Finding[] = [];
  if (intercept.length > 0) {
    findings.push({ hook: name, check: "points", level: "ok", found: `asked at ${intercept.join(", ")}${told}` });
  } else {
    const fix = 'name the points in "intercept", if it is meant to decide';
    findings.push({ hook: name, check: "points", level: "warn", found: `it is never asked${told}`, fix });
  }
  // Keys of newer versions, which are shown as they stand.
  for (const key of ["match", "mode"]) {
    const value: unknown = Reflect.get(entry, key);
    if (value === undefined || value === "enforce") continue;
    const found = `${key} is ${JSON.stringify(value)}`;
    const fix =
      key === "match" ? "it is asked only for what matches" : "in audit mode its verdict is recorded and not applied";
    findings.push({ hook: name, check: key, level: value === "audit" ? "warn" : "ok", found, fix });
  }
  return findings;
}

function examineTrust(name: string, { transport, intercept, grants }: ProcessConfig): readonly Finding[] {
  const given = grants ?? (transport === "stdio" ? ["respond", "rewrite_system", "rewrite_tools"] : []);
  const wanted = [
    ...(intercept.includes("before_tool") ? ["respond"] : []),
    ...(intercept.includes("before_llm") ? ["rewrite_system", "rewrite_tools"] : []),
  ];
  const missing = wanted.filter((grant) => !given.some((has) => has === grant));
  if (missing.length === 0) return [];
  const found = `without ${missing.join(", ")}: a reply that uses it is not applied`;
  const fix = `"grants": ${JSON.stringify([...given, ...missing])}, if it is trusted with that`;
  return [{ hook: name, check: "trust", level: "ok", found, fix }];
}

const SCRIPT = /\.(?:py|[cm]?[jt]s|sh|rb|pl)$/;

async function examineCommand(
  name: string,
  { command, dir }: StdioConfig,
  { host, loaded }: { readonly host: CliHost; readonly loaded: LoadedConfig },
): Promise<readonly Finding[]> {
  const [program = "", script] = command;
  const base = dir === "" ? host.directoryOf("x") : /^[/\\]|^[A-Za-z]:/.test(dir) ? dir : `${loaded.baseDir}/${dir}`;
  const path = await host.findProgram(program, base);
  if (path === undefined) {
    const where = /[/\\]/.test(program) ? `in ${base}` : "in PATH";
    return [
      {
        hook: name,
        check: "command",
        level: "bad",
        found: `there is no "${program}" ${where}`,
        fix: "install it, or name it by its path",
      },
    ];
  }
  if ((await host.inspectFile(path))?.isExecutable !== true) {
    return [{ hook: name, check: "command", level: "bad", found: `${path} may not be run`, fix: `chmod +x ${path}` }];
  }
  const findings: Finding[] = [{ hook: name, check: "command", level: "ok", found: path }];
  if (script !== undefined && SCRIPT.test(script))
    findings.push(...(await examineScript(name, `${/^[/\\]/.test(script) ? "" : `${base}/`}${script}`, host)));
  return [...findings, ...(await examineRuntime(name, { path, script: script ?? "", host }))];
}

async function examineScript(name: string, path: string, host: CliHost): Promise<readonly Finding[]> {
  const facts = await host.inspectFile(path);
  const check = "script";
  if (facts?.isFile !== true) {
    return [
      {
        hook: name,
        check,
        level: "bad",
        found: `there is no file ${path}`,
        fix: '"dir" is the directory the command runs in, relative to the config file',
      },
    ];
  }
  if (!facts.isReadable)
    return [{ hook: name, check, level: "bad", found: `${path} may not be read`, fix: `chmod +r ${path}` }];
  if (!facts.isWritableByAll) return [];
  return [
    {
      hook: name,
      check: "permissions",
      level: "warn",
      found: `everyone on this machine may change ${path}`,
      fix: `chmod o-w ${path}`,
    },
  ];
}

/** The oldest versions that hooks as the documentation shows them run on. */
const OLDEST: readonly (readonly [program: RegExp, major: number, minor: number, why: string])[] = [
  [/(?:^|[/\\])node(?:\.exe)?$/i, 22, 18, "older ones do not run TypeScript as it stands"],
  [/(?:^|[/\\])python[\d.]*(?:\.exe)?$/i, 3, 8, "the examples and most hooks need it"],
];

async function examineRuntime(
  name: string,
  { path, script, host }: { readonly path: string; readonly script: string; readonly host: CliHost },
): Promise<readonly Finding[]> {
  const rule = OLDEST.find(([program]) => program.test(path));
  if (rule === undefined) return [];
  const [, major, minor, why] = rule;
  const said = (await host.versionOf(path)) ?? "nothing";
  const [, has = "0", hasMinor = "0"] = /(\d+)\.(\d+)/.exec(said) ?? [];
  const isOld = Number(has) < major || (Number(has) === major && Number(hasMinor) < minor);
  const isConcerned = isOld && (!/node/i.test(path) || /\.[cm]?ts$/.test(script));
  if (!isConcerned) return [{ hook: name, check: "version", level: "ok", found: said }];
  return [
    {
      hook: name,
      check: "version",
      level: "warn",
      found: `${path} says ${said}`,
      fix: `use ${major}.${minor} or newer: ${why}`,
    },
  ];
}

/** The config with one hook alone. */
export function withOnly(name: string, config: Config): Config {
  const { hooks } = config;
  const processes = Object.fromEntries(Object.entries(hooks.processes).filter(([key]) => key === name));
  return { ...config, hooks: { ...hooks, builtins: {}, processes } };
}
