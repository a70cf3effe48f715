import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson } from "../../src/config/json.ts";

describe("readJson", () => {
  test("reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 2), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        const document = readJson(text);
        expect("fault" in document ? document.fault : document.value).toEqual(JSON.parse(text));
      }),
    );
  });

  test("refuses what JSON.parse refuses", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", '"', "x", "\n", "\\", "0"), (json, at, extra) => {
        const cut = at % (json.length + 1);
        const text = json.slice(0, cut) + extra + json.slice(cut + 1);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect("value" in readJson(text)).toBe(isJson);
      }),
      { numRuns: 1000 },
    );
  });

  test.each<readonly [string, readonly [number, number], string]>([
    ["", [1, 1], "the file is empty"],
    [" \n ", [2, 2], "the file is empty"],
    ["{", [1, 2], 'expected a key in double quotes or "}", but the file ends'],
    ['{"a": 1,\n}', [1, 8], 'a "," must not stand before "}"'],
    ["[1,]", [1, 3], 'a "," must not stand before "]"'],
    ["// hooks\n{}", [1, 1], "comments are not allowed in JSON"],
    ['{\n  "a": 1 /* one */\n}', [2, 10], "comments are not allowed in JSON"],
    ["# hooks\n{}", [1, 1], "comments are not allowed in JSON"],
    ["{'a': 1}", [1, 2], "strings and keys take double quotes"],
    ["{a: 1}", [1, 2], 'expected a key in double quotes or "}"'],
    ['{"a": 1}\n{}', [2, 1], "there is more after the end of the JSON value"],
    ['{\n\t"a" 1}', [2, 6], 'expected ":" after the key'],
    ['{"a": 1 "b": 2}', [1, 9], 'expected "," or "}"'],
    ['{"a": tru}', [1, 7], "expected a value"],
    ['{"a": "b\n"}', [1, 7], "the string that begins here is not closed"],
    ['{"a": "b\tc"}', [1, 9], "a control character in a string must be escaped"],
    ['{"a": "C:\\dir"}', [1, 10], "not an escape sequence of JSON; write a backslash as two"],
    ["[".repeat(200), [1, 130], "nested deeper than 128 levels"],
  ])("says where %j is not JSON", (text, [line, column], fault) => {
    expect(readJson(text)).toEqual({ fault, line, column });
  });

  test("knows where values are and which keys are there twice", () => {
    const document = readJson('\uFEFF{\r\n  "a": [10, {"b": true}],\r\n  "a": [20]\r\n}');
    if ("fault" in document) throw new Error(document.fault);
    expect(document.value).toEqual({ a: [20] });
    expect(document.duplicates).toEqual([{ path: ["a"], line: 3, column: 3 }]);
    expect(document.positionOf(["a", 1, "b"])).toEqual({ line: 2, column: 19 });
    expect(document.positionOf(["a", 0, "nowhere"])).toEqual({ line: 3, column: 9 });
    expect(document.positionOf([])).toEqual({ line: 1, column: 1 });
  });
});
