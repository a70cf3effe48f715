import { describe, expect, test } from "vitest";
import { interpolate } from "../../src/config/interpolate.ts";

const env = { NAME: "value", EMPTY: "", ODD: "${env:NAME} $& $1" };

describe("interpolate", () => {
  test.each([
    ["${env:NAME}", "value"],
    ["a ${env:NAME} b ${env:NAME}", "a value b value"],
    ["${env:EMPTY}", ""],
    ["${env:ODD}", "${env:NAME} $& $1"],
    ["$${env:NAME}", "${env:NAME}"],
    ["$$${env:NAME}", "$${env:NAME}"],
    ["$${HOME}", "${HOME}"],
    ["${HOME} $HOME $(x) $", "${HOME} $HOME $(x) $"],
  ])("%j becomes %j", (text, expected) => {
    expect(interpolate({ list: [text] }, { env })).toMatchObject({ value: { list: [expected] }, findings: [] });
  });

  test("fills in values, not keys, and remembers where", () => {
    const { value, fromEnvironment } = interpolate({ "${env:NAME}": ["${env:NAME}", 1, null, "$${"] }, { env });
    expect(value).toEqual({ "${env:NAME}": ["value", 1, null, "${"] });
    expect([...fromEnvironment]).toEqual(['["${env:NAME}"][0]']);
  });

  test.each(["${env:}", "${env:A-B}", "${env:1}", "${env:NAME"])("%j is no variable", (text) => {
    expect(interpolate({ a: text }, { env }).findings).toEqual([
      { at: ["a"], message: "a variable is written ${env:NAME}, with a name of letters, digits and _" },
    ]);
  });

  test("says which variable is not set, where it is needed", () => {
    const root = { a: "${env:NOPE}", b: "${env:toString}", c: "${env:NOPE}" };
    expect(interpolate(root, { env, isNeeded: ([key]) => key !== "c" }).findings).toEqual([
      { at: ["a"], message: "the environment variable NOPE is not set" },
      { at: ["b"], message: "the environment variable toString is not set" },
    ]);
  });
});
