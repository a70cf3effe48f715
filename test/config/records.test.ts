import { expect, test } from "vitest";
import { ConfigError, parseConfig } from "../../src/config/index.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";

function problemsOf(file: object): readonly string[] {
  try {
    parseConfig(JSON.stringify({ hooks: {}, ...file }), { env: {}, builtins: createBuiltinRegistry() });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message.slice(0, 30)}`);
  }
}

test.each<[object, readonly string[]]>([
  [{}, []],
  [{ records: {} }, []],
  [{ records: { record: { payload: "masked", mask: ["arguments.password"] } }, metrics: { enabled: false } }, []],
  [
    { records: { record: { payload: "masked", mask: ["ok", "arguments..x"] } } },
    ["records.record.mask[1]: not a path: expected keys with"],
  ],
  [{ records: { record: { payload: "masked" } } }, ['records.record.mask: missing: "payload": "masked" n']],
  [{ records: { record: { mask: ["a"] } } }, ['records.record.mask: has no meaning without "payloa']],
  [{ records: { record: { payload: "all" } } }, ["records.record.payload: unknown value"]],
  [{ records: { sqlit: {} } }, ["records.sqlit: unknown key"]],
  [{ records: { http: { url: "ftp://x" } } }, ["records.http.url: Invalid URL"]],
  [{ records: { console: true } }, []],
  [{ records: { queue: "DECISIONS" } }, ["records.queue: this runtime has no such place"]],
  [{ records: { queue: "DECISIONS", enabled: false } }, []],
  [{ record: {} }, ["record: unknown key"]],
])("%j", (file, problems) => {
  expect(problemsOf(file)).toEqual(problems);
});
