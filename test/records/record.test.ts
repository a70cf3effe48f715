import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffJson, maskValue, parseMaskPath, Recorder, toCanonicalJson } from "../../src/records/index.ts";
import { decision, memorySink, sha256 } from "./fixtures.ts";

describe("canonical JSON", () => {
  test("is that of RFC 8785, 3.2.3", () => {
    const value = { "€": 1, "\r": 2, "\ufb33": 3, 1: 4, "😀": 5, "\u0080": 6, ö: 7 };
    expect(toCanonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
    expect(toCanonicalJson([Number("333333333.33333329"), 1e30, 4.5, 2e-3, 1e-27, -0])).toBe(
      "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]",
    );
  });

  test("stands for the same value, whatever the order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = toCanonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(toCanonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });
});

/** Applies a patch as RFC 6902 says, for the steps that are made here. */
function patched(document: unknown, steps: ReturnType<typeof diffJson>["steps"]): unknown {
  const root = { "": structuredClone(document) } as Record<string, unknown>;
  for (const { op, path, value } of steps) {
    const keys = path.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    let parent = root as Record<string, unknown> | unknown[];
    for (const key of keys.slice(0, -1)) parent = Reflect.get(parent, key) as typeof parent;
    const key = keys.at(-1) ?? "";
    if (Array.isArray(parent)) {
      if (op === "remove") parent.splice(Number(key), 1);
      else if (op === "add") parent.push(value);
      else parent[Number(key)] = value;
    } else if (op === "remove") delete parent[key];
    else parent[key] = value;
  }
  return root[""];
}

describe("a patch", () => {
  test("makes the one of the other", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noNullPrototype: true } as never), fc.jsonValue(), (before, after) => {
        if (JSON.stringify([before, after]).includes("__proto__")) return;
        const { steps } = diffJson(before, after, { maxSteps: 100_000 });
        expect(toCanonicalJson(patched(before, steps))).toBe(toCanonicalJson(after));
      }),
    );
  });

  test("is bounded", () => {
    const after = Array.from({ length: 100 }, (_, index) => index);
    const { steps, isTruncated } = diffJson([], after, { maxSteps: 10 });
    expect([steps.length, isTruncated]).toEqual([10, true]);
  });
});

describe("a mask", () => {
  test.each([
    [
      "arguments.password",
      { arguments: { password: "p", user: "u" } },
      { arguments: { password: "[masked]", user: "u" } },
    ],
    [
      "messages[*].content",
      { messages: [{ content: 1 }, { role: "x" }] },
      { messages: [{ content: "[masked]" }, { role: "x" }] },
    ],
    ['arguments["api key"]', { arguments: { "api key": { a: 1 } } }, { arguments: { "api key": "[masked]" } }],
    ["a[1]", { a: [1, 2] }, { a: [1, "[masked]"] }],
    ["*.secret", { a: { secret: 1 }, b: 2 }, { a: { secret: "[masked]" }, b: 2 }],
  ])("%s", (path, value, masked) => {
    expect(maskValue(value, [parseMaskPath(path)])).toEqual(masked);
  });

  test.each(["", ".", "a.", ".a", "a..b", "a[", "a[x]", 'a["]', "a b"])("%j is no path", (text) => {
    expect(() => parseMaskPath(text)).toThrow(TypeError);
  });
});

describe("a record", () => {
  const input = { meta: { SessionKey: "s1" }, tool: "login", arguments: { user: "u", password: "hunter2" } };
  const after = { ...input, arguments: { user: "v", password: "hunter3", token: "t" } };
  const changed = decision({ input, changes: [{ index: 0, before: input, after }] });

  async function recordOf(options: Partial<ConstructorParameters<typeof Recorder>[0]>): Promise<string> {
    const sink = memorySink();
    const recorder = new Recorder({ sinks: [sink], hash: sha256, ...options });
    recorder.toObserver(3)(changed);
    await recorder.close();
    return sink.sealed[0]!.text;
  }

  test("holds no content unless asked to", async () => {
    const text = await recordOf({});
    expect(text).not.toContain("hunter");
    expect(JSON.parse(text)).toMatchObject({
      caller: "bot",
      generation: 3,
      session: "s1",
      tool: "login",
      point: "before_tool",
      action: "continue",
      input_sha256: sha256(toCanonicalJson(input)),
      hooks: [
        {
          hook: "gate",
          outcome: "continue",
          attempt: 1,
          changes: [
            { op: "replace", path: "/arguments/user" },
            { op: "replace", path: "/arguments/password" },
            { op: "add", path: "/arguments/token" },
          ],
        },
      ],
    });
  });

  test("holds what is not masked", async () => {
    const masks = [parseMaskPath("arguments.password"), parseMaskPath("arguments.token")];
    const text = await recordOf({ payload: "masked", masks });
    expect(text).not.toContain("hunter");
    expect(JSON.parse(text)).toMatchObject({
      input: { arguments: { user: "u", password: "[masked]" } },
      hooks: [
        {
          changes: [
            { value: "v" },
            { path: "/arguments/password", value: "[masked]" },
            { path: "/arguments/token", value: "[masked]" },
          ],
        },
      ],
    });
  });

  test("leaves out what is too long", async () => {
    const record = JSON.parse(await recordOf({ payload: "full", maxPayloadBytes: 20 })) as object;
    expect(record).toMatchObject({ input_truncated: true });
    expect(record).not.toHaveProperty("input");
  });

  test("full is full", async () => {
    expect(JSON.parse(await recordOf({ payload: "full" }))).toMatchObject({ input });
  });
});
