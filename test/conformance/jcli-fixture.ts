import { HookCallError } from "../../src/errors.ts";
import {
  createBashPort,
  createLlmPort,
  type FileHook,
  type HookContext,
  LifecycleManager,
  type LifecycleManagerOptions,
  readHookFile,
  type ShellCommand,
} from "../../src/jcli/index.ts";
import type { Log, LogFields } from "../../src/log.ts";

/** What a command or a model is: it gets its input and gives its output, or throws. */
export type Script = (input: HookContext, call: { readonly signal: AbortSignal }) => string | Promise<string>;

/** A manager whose commands and prompts are functions by name, and what it did. */
export interface Bench {
  readonly manager: LifecycleManager;
  /** The commands that were run, in order. */
  readonly commands: readonly ShellCommand[];
  /** The prompts that were asked, in order. */
  readonly prompts: readonly string[];
  readonly logged: readonly string[];
  /** Loads a file's text as a level. */
  load(level: "user" | "project", text: string): readonly FileHook[];
}

/** Makes a {@link Bench}. A prompt is looked up by its first word. */
export function createBench(scripts: Readonly<Record<string, Script>>, options: LifecycleManagerOptions = {}): Bench {
  const commands: ShellCommand[] = [];
  const prompts: string[] = [];
  const logged: string[] = [];
  const find = (name: string): Script => {
    const script = scripts[name];
    if (script === undefined) throw new HookCallError("not_running", `no script "${name}"`);
    return script;
  };
  const manager = new LifecycleManager({
    ports: {
      bash: createBashPort(async (command, { signal }) => {
        commands.push(command);
        return find(command.command)(JSON.parse(command.input) as HookContext, { signal });
      }),
      llm: createLlmPort(async ({ prompt }, { signal }) => {
        prompts.push(prompt);
        return find(prompt.split(" ")[0] ?? "")({ event: "stop", cwd: "" }, { signal });
      }),
    },
    cwd: "/work",
    log: createLog(logged),
    ...options,
  });
  return {
    manager,
    commands,
    prompts,
    logged,
    load(level, text) {
      const { hooks, problems } = readHookFile(text);
      if (problems.length > 0) throw new Error(problems.map(({ path, message }) => `${path}: ${message}`).join("; "));
      manager.load(level, hooks);
      return hooks;
    },
  };
}

function createLog(logged: string[]): Log {
  const write = (message: string, fields: LogFields = {}): void => {
    logged.push([message, ...Object.values(fields).map(String)].join(" "));
  };
  return { debug: write, info: write, warn: write, error: write };
}

/** A script that prints a result. */
export function prints(result: object): Script {
  return () => JSON.stringify(result);
}

/** A script that fails as a command that exits with code 1 does. */
export const fails: Script = () => {
  throw new HookCallError("exited", "the command exited with code 1");
};

/** Hooks of one event, one for each command, with what else each has. */
export function commandsAt(event: string, ...hooks: readonly (string | Readonly<Record<string, unknown>>)[]): string {
  const list = hooks.map((hook) => (typeof hook === "string" ? { command: hook } : hook));
  return JSON.stringify({ [event]: list });
}

/** A promise that is settled from outside. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** Makes a closed {@link Gate}. */
export function createGate(): Gate {
  const waiting: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => waiting.push(resolve));
  return { opened, open: () => waiting.forEach((resolve) => resolve()) };
}
