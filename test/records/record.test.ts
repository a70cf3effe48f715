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
    ["**.secret", { secret: 1, a: [{ b: { secret: 2 } }] }, { secret: "[masked]", a: [{ b: { secret: "[masked]" } }] }],
    ["a.**.secret", { secret: 1, a: { secret: 2 } }, { secret: 1, a: { secret: "[masked]" } }],
    ["a.**", { secret: 1, a: { b: 2 } }, { secret: 1, a: "[masked]" }],
    ["*.secret", { a: { secret: 1 }, b: 2 }, { a: { secret: "[masked]" }, b: 2 }],
  ])("%s", (path, value, masked) => {
    expect(maskValue(value, [parseMaskPath(path)])).toEqual(masked);
  });

  const SECRET = "hunter2";
  const inner = JSON.stringify({ password: SECRET, path: "/" });
  const clean = JSON.stringify({ password: "[masked]", path: "/" });

  test.each<readonly [name: string, text: string, shown: string]>([
    ["an object", inner, clean],
    ["an object with space and a byte order mark before it", `\uFEFF \n${inner}`, clean],
    ["an array", `[1,${inner}]`, `[1,${inner}]`],
    ["a string of an object", JSON.stringify(inner), JSON.stringify(clean)],
    ["two members of one name", `{"password":"${SECRET}","password":1}`, '{"password":"[masked]"}'],
    ["a name in escapes", `{"pass\\u0077ord":"${SECRET}"}`, '{"password":"[masked]"}'],
    ["an object that is cut off", inner.slice(0, -3), "[masked]"],
    ["two objects", `${inner}\n${inner}`, "[masked]"],
    ["Python's", `{'password': '${SECRET}'}`, "[masked]"],
    ["a string of one that is cut off", JSON.stringify(inner.slice(0, -3)), JSON.stringify("[masked]")],
    ["no JSON", "[INFO] listening", "[INFO] listening"],
    ["words", "the password is not here", "the password is not here"],
  ])("reaches into a string that is %s", (name, text, shown) => {
    const value = { messages: [{ function: { arguments: text } }] };
    const paths = [parseMaskPath("messages[*].function.arguments.password")];
    expect(maskValue(value, paths)).toEqual({ messages: [{ function: { arguments: shown } }] });
    const anywhere = maskValue(value, [parseMaskPath("**.password")]);
    const shownAnywhere = name === "an array" ? text.replace(SECRET, "[masked]") : shown;
    expect(anywhere).toEqual({ messages: [{ function: { arguments: shownAnywhere } }] });
  });

  test("reaches into strings in strings, and masks what is too deep or too long to look into", () => {
    let text = inner;
    for (let level = 0; level < 3; level += 1) text = JSON.stringify({ a: text });
    const paths = [parseMaskPath("**.password")];
    expect(maskValue(text, paths)).toBe(text.replace(SECRET, "[masked]"));
    for (let level = 0; level < 3; level += 1) text = JSON.stringify({ a: text });
    expect(maskValue(text, paths)).not.toContain(SECRET);
    expect(maskValue(`{"a":"${"x".repeat(1_048_576)}","password":"${SECRET}"}`, paths)).toBe("[masked]");
    const deep = `${"[".repeat(100_000)}"${SECRET}"${"]".repeat(100_000)}`;
    expect(maskValue({ password: deep }, paths)).toEqual({ password: "[masked]" });
    expect(maskValue(`{"password":${deep}}`, paths)).not.toContain(SECRET);
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

  describe("of masked payloads never has a masked value, wherever it stands", () => {
    const secret = 'hun"ter\\2/ä';
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
    const base = { meta: { SessionKey: "s1" }, tool: "login", arguments: { password: secret } };
    const record = { hook: "gate", source: "in-process", point: "before_tool", outcome: "continue" } as const;
    const messages = [{ role: "tool", content: JSON.stringify({ password: secret }) }];

    test.each<readonly [name: string, changes: Parameters<typeof decision>[0], masks: readonly string[]]>([
      ["in the reason", { reason: `no: ${secret}` }, ["arguments.password"]],
      ["in the reason, as JSON", { reason: `no: ${JSON.stringify(base)}` }, ["arguments.password"]],
      ["in the reason, as a URL", { reason: `no: /?p=${encodeURIComponent(secret)}` }, ["arguments.password"]],
      [
        "in an error and in what an audit would",
        { records: [{ ...record, ms: 1, attempt: 1, error: secret, would: secret }] },
        ["arguments.password"],
      ],
      [
        "elsewhere in the payload",
        { input: { ...base, note: `it is ${secret}`, [secret]: 1 } },
        ["arguments.password"],
      ],
      ["in meta", { input: { ...base, meta: { SessionKey: secret } } }, ["arguments.password"]],
      ["as the tool", { input: { ...base, tool: secret } }, ["tool"]],
      [
        "in a change of it",
        { changes: [{ index: 0, before: { arguments: { password: 1 } }, after: base }] },
        ["arguments.password"],
      ],
      [
        "in a change that copies it",
        { changes: [{ index: 0, before: base, after: { ...base, copy: secret } }] },
        ["arguments.password"],
      ],
      [
        "in a change of JSON text",
        { input: { messages }, changes: [{ index: 0, before: { messages: [] }, after: { messages } }] },
        ["messages[*].content.password"],
      ],
      [
        "in a change that adds at an index",
        { input: {}, changes: [{ index: 0, before: { messages: [] }, after: { messages } }] },
        ["messages[0].content.password"],
      ],
      [
        "as a key in a change inside of it",
        { input: {}, changes: [{ index: 0, before: { users: {} }, after: { users: { [secret]: 1 } } }] },
        ["users"],
      ],
      [
        "in a change too long to be kept",
        {
          input: { tool: 1 },
          changes: [{ index: 0, before: { users: {} }, after: { users: { [secret]: 1 }, note: "x".repeat(5000) } }],
        },
        ["users", "tool"],
      ],
      [
        "among so many that not all are looked for",
        {
          input: { users: [...Array.from({ length: 600 }, (_, index) => `user ${index}`), secret] },
          reason: secret,
        },
        ["users"],
      ],
    ])("%s", async (_name, changes, masks) => {
      const sink = memorySink();
      const recorder = new Recorder({
        sinks: [sink],
        hash: sha256,
        payload: "masked",
        masks: masks.map(parseMaskPath),
      });
      recorder.toObserver()(decision({ input: base, ...changes }));
      await recorder.close();
      const text = sink.sealed[0]?.text ?? "";
      expect(text).toContain("[masked]");
      for (const form of forms) {
        expect(text).not.toContain(form);
        expect(text).not.toContain(JSON.stringify(form).slice(1, -1));
      }
    });

    test("nor its hash: the payload's is that of what is shown", async () => {
      const text = await recordOf({ payload: "masked", masks: [parseMaskPath("arguments.password")] });
      const { input: shown, input_sha256: hash } = JSON.parse(text) as { input: unknown; input_sha256: string };
      expect(hash).toBe(sha256(toCanonicalJson(shown)));
      expect(text).not.toContain(sha256(toCanonicalJson(input)));
    });

    test("but says that it was changed", async () => {
      const text = await recordOf({ payload: "masked", masks: [parseMaskPath("arguments")] });
      expect(JSON.parse(text)).toMatchObject({
        input: { arguments: "[masked]" },
        hooks: [{ changes: [{ op: "replace", path: "/arguments", value: "[masked]" }] }],
      });
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
