import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Readable } from "node:stream";

/** The program. */
export const BIN: string = join(import.meta.dirname, "../../adapters/node/bin.ts");

/** How a program ended. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that is running. */
export interface Running {
  /** Resolves with what was written to stdout so far, once it holds the text. */
  seen(text: string): Promise<string>;
  /** The same of stderr. */
  seenError(text: string): Promise<string>;
  signal(name: NodeJS.Signals): void;
  ended: Promise<Ran>;
}

/** Options of {@link start}. */
export interface RunOptions {
  readonly cwd: string;
  readonly stdin?: string;
  /** Whether stdin stays open, as a host's does. @default false */
  readonly keepsStdin?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `hookgate` as a process of its own, or a shell line in which `hookgate` is a command. */
export function start(line: string | readonly string[], { cwd, stdin, env, keepsStdin = false }: RunOptions): Running {
  const shell = ["sh", "-c", `hookgate() { "${process.execPath}" "${BIN}" "$@"; }; ${String(line)}`];
  const [file = "", ...args] = typeof line === "string" ? shell : [process.execPath, BIN, ...line];
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const child = spawn(file, args, { cwd, env: { ...clean(process.env), PATH: path, ...env } });
  const stdout = new Written(child.stdout);
  const stderr = new Written(child.stderr);
  child.stdin.on("error", () => {});
  if (!keepsStdin) child.stdin.end(stdin ?? "");
  const ended = once(child, "close").then(([code]) => {
    stdout.end(stderr.text);
    stderr.end(stdout.text);
    return { code: code as number | null, stdout: stdout.text, stderr: stderr.text };
  });
  return {
    ended,
    signal: (name) => void child.kill(name),
    seen: (text) => stdout.seen(text),
    seenError: (text) => stderr.seen(text),
  };
}

/** What a program has written to one of its outputs. */
class Written {
  text = "";
  #isEnded = false;
  readonly #waiting = new Set<(other?: string) => void>();

  constructor(output: Readable) {
    output.on("data", (chunk: Buffer) => {
      this.text += chunk.toString();
      for (const check of this.#waiting) check();
    });
  }

  seen(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const check = (other = ""): void => {
        if (this.text.includes(text)) resolve(this.text);
        else if (this.#isEnded) reject(new Error(`ended without "${text}": ${this.text}${other}`));
      };
      this.#waiting.add(check);
      check();
    });
  }

  /** @param other what it wrote to its other output, for the message */
  end(other: string): void {
    this.#isEnded = true;
    for (const check of this.#waiting) check(other);
  }
}

/** Runs it to its end. */
export function run(line: string | readonly string[], options: RunOptions): Promise<Ran> {
  return start(line, options).ended;
}

/** The environment without what npm and the test runner put into it. */
function clean(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_|^NODE_|^VITEST|COLOR/.test(name)));
}

/** A hook that answers as its config says: `before_tool` and `approve_tool` take their result from its arguments. */
export const HOOK = `
const answers = process.argv[2];
const results = JSON.parse(answers);
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined && results[method] !== "silence") {
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
  }
});`;

/** A process hook of a config, which answers each method as told. */
export function hook(answers: Readonly<Record<string, unknown>>, changes: object = {}): object {
  const points = Object.keys(answers).filter((method) => method !== "hook.hello");
  const intercept = points.map((method) => method.replace("hook.", ""));
  return { enabled: true, command: ["node", "hook.cjs", JSON.stringify(answers)], dir: ".", intercept, ...changes };
}

/** A directory with `hook.cjs` and the given files in it. */
export async function makeDir(files: Readonly<Record<string, unknown>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "hookgate-cli-"));
  for (const [name, content] of Object.entries({ "hook.cjs": HOOK, ...files })) {
    await writeFile(join(dir, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return dir;
}

/** Removes what {@link makeDir} made. */
export function removeDir(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true });
}
