import type { Log, LogFields } from "../log.ts";
import type { CliHost } from "./host.ts";
import { toLine } from "./text.ts";

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** How loud a log is: lines below the level are not written. */
export type LogLevel = (typeof LEVELS)[number];

/** The names of the levels, quietest last. */
export const LOG_LEVELS: readonly string[] = LEVELS;

/** Whether a word names a level. */
export function isLogLevel(word: string): word is LogLevel {
  return LOG_LEVELS.includes(word);
}

/** A log that writes one line of text each to stderr: time, level, message, fields. */
export function createTextLog({ stderr }: Pick<CliHost, "stderr">, minimum: LogLevel): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(minimum)) return;
      const rest = Object.entries(fields).flatMap(([key, value]) =>
        value === undefined ? [] : [`${key}=${quote(value)}`],
      );
      stderr.write(`${[new Date().toISOString(), level.padEnd(5), toLine(message), ...rest].join(" ")}\n`);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function quote(value: string | number | boolean): string {
  const text = toLine(String(value));
  return typeof value === "string" && /[\s"=]|^$/.test(text) ? JSON.stringify(text) : text;
}
