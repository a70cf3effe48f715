/** Values that go with a log line. Never a token, key, header or payload. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where hookgate logs to; the host injects it. A method must not throw and must not block. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const drop = (): void => {};

/** A log that keeps nothing: the default where a host gives none. */
export const silentLog: Log = { debug: drop, info: drop, warn: drop, error: drop };

/** A log that writes each line as one object: the message, and the fields beside it. */
export function createObjectLog(write: (level: keyof Log, line: LogFields) => void): Log {
  const at =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}): void =>
      write(level, { ...fields, message });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
