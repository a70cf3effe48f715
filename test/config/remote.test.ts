import { describe, expect, test } from "vitest";
import { DESK, desk, OTHER, pair, problems, publicJwk, read, SECRET, WHSEC } from "./remote-setting.ts";

describe("a hook over HTTP", () => {
  test("has every default filled in", () => {
    expect(read(desk({})).hooks.processes["desk"]).toEqual({
      ...DESK,
      priority: 0,
      observe: [],
      required: false,
      events: "hook.event",
      dialect: "picoclaw",
      headers: {},
      scheme: "jws",
      unsigned: false,
      allow_weak_approval: false,
      retry: 1,
      max_concurrency: 64,
      handshake: "hello",
      allow_private: true,
      allow_insecure: false,
    });
  });

  test.each<readonly [string, unknown]>([
    ["a secret", desk({})],
    ["two secrets, while rotating", desk({ secret: [SECRET, OTHER] })],
    ["http to this machine", desk({ url: "http://127.0.0.1:8788/hook" })],
    ["http to another, when that is said", desk({ url: "http://desk.test/hook", allow_insecure: true })],
    ["the gateway's key, and a pinned one of the endpoint", pair({})],
    ["a pinned key as JSON text", pair({ reply_key: JSON.stringify(publicJwk) })],
    ["a pinned key set", pair({ reply_key: { keys: [publicJwk] } })],
    ["published keys", pair({ reply_key: undefined, reply_jwks: "https://desk.test/.well-known/jwks.json" })],
    ["replies without a signature", pair({ reply_key: undefined, require_signed_reply: false })],
    ["nothing signed", desk({ secret: undefined, unsigned: true })],
    [
      "an unsigned approver here",
      desk({ secret: undefined, unsigned: true, url: "http://localhost:1/", intercept: ["approve_tool"] }),
    ],
    [
      "an unsigned approver behind a binding",
      {
        hooks: {
          processes: {
            desk: { enabled: true, transport: "service", binding: "DESK", unsigned: true, intercept: ["approve_tool"] },
          },
        },
      },
    ],
    ["Standard Webhooks", desk({ scheme: "standard-webhooks", secret: WHSEC })],
    [
      "an approver by Standard Webhooks, when that is said",
      desk({ scheme: "standard-webhooks", secret: WHSEC, intercept: ["approve_tool"], allow_weak_approval: true }),
    ],
    ["the documented dialect", desk({ dialect: "picoclaw-docs", intercept: ["before_tool", "approve_tool"] })],
    [
      "one secret for two endpoints, by jws",
      { hooks: { processes: { desk: DESK, other: { ...DESK, url: "https://other.test/" } } } },
    ],
    ["everything of it, not enabled", desk({ enabled: false, url: "", secret: "${env:NOT_SET}", reply_key: "x" })],
  ])("may have %s", (_, config) => {
    expect(problems(config)).toEqual([]);
  });

  test("shares no secret of Standard Webhooks, which binds no URL", () => {
    const webhook = { ...DESK, scheme: "standard-webhooks", secret: WHSEC };
    const processes = { desk: webhook, other: { ...webhook, url: "https://other.test/hook" } };
    expect(problems({ hooks: { processes } })).toEqual([
      'hooks.processes.other.secret: another endpoint has the same secret: with "standard-webhooks" each needs its own',
    ]);
  });

  test("is measured by the secret that the environment gives", () => {
    const config = desk({ secret: "${env:DESK}", headers: { "x-key": "${env:DESK}" } });
    expect(problems(config, { DESK: "short" })).toEqual(["secret: a secret must have at least 32 bytes, got 5"]);
    expect(problems(config)).toEqual([
      "secret: the environment variable DESK is not set",
      "headers.x-key: the environment variable DESK is not set",
    ]);
    expect(read(config, { DESK: SECRET }).hooks.processes["desk"]).toMatchObject({ headers: { "x-key": SECRET } });
  });
});

describe("what every hook may have", () => {
  test("grants, dialect and approval of responses, for processes too", () => {
    const { hooks } = read({
      hooks: {
        defaults: { respond_requires_approval: true },
        processes: {
          a: {
            enabled: true,
            command: ["a"],
            intercept: ["before_tool"],
            dialect: "picoclaw-docs",
            grants: ["respond"],
            respond_requires_approval: false,
          },
        },
      },
    });
    expect(hooks.defaults.respond_requires_approval).toBe(true);
    expect(hooks.processes["a"]).toMatchObject({
      dialect: "picoclaw-docs",
      grants: ["respond"],
      respond_requires_approval: false,
    });
  });
});
