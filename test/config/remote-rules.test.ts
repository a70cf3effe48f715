import { describe, expect, test } from "vitest";
import { desk, pair, privateJwk, problems, publicJwk, SECRET, WHSEC } from "./remote-setting.ts";

describe("a hook over HTTP", () => {
  test.each<readonly [string, unknown, string]>([
    ["no URL", desk({ url: undefined }), 'url: missing: such as "https://hooks.example.com/hook"'],
    ["no absolute URL", desk({ url: "desk/hook" }), "url: url must be an absolute URL"],
    ["another scheme", desk({ url: "ftp://desk.test/" }), "url: url must be https or http"],
    ["credentials in the URL", desk({ url: "https://me:pw@desk.test/" }), "url: url must not hold credentials"],
    [
      "http to another machine",
      desk({ url: "http://desk.test/" }),
      'url: url must be https, or http on a loopback address; "allow_insecure": true takes http to another machine',
    ],
    [
      "a metadata address",
      desk({ url: "https://169.254.169.254/" }),
      "url: url must not be a link-local or cloud metadata address",
    ],
    [
      "a private address that is not allowed",
      desk({ url: "https://10.0.0.1/", allow_private: false }),
      "url: url must not be a private address",
    ],
    [
      "a URL too long to be signed",
      desk({ url: `https://desk.test/${"x".repeat(1024)}` }),
      "url: url must be a string of 1 to 1024 characters of JSON in ASCII, got 1042",
    ],
    [
      "no key at all",
      desk({ secret: undefined }),
      'secret: nothing signs its calls: give it a "secret", or the gateway a "signing_key", or say "unsigned": true',
    ],
    ["a secret that is too short", desk({ secret: "short" }), "secret: a secret must have at least 32 bytes, got 5"],
    [
      "a second secret that is too short",
      desk({ secret: [SECRET, "short"] }),
      "secret[1]: a secret must have at least 32 bytes, got 5",
    ],
    ["one secret twice", desk({ secret: [SECRET, SECRET] }), "secret[1]: the secret is there twice"],
    ["a secret that is a number", desk({ secret: 5 }), "secret: expected a string, or a list of two of them"],
    [
      "a secret and a pinned key",
      desk({ reply_key: publicJwk }),
      'reply_key: the "secret" verifies replies too: leave out one of the two',
    ],
    [
      "a secret and published keys",
      desk({ reply_jwks: "https://desk.test/jwks" }),
      'reply_jwks: the "secret" verifies replies too: leave out one of the two',
    ],
    ["a secret for a key pair's algorithm", desk({ alg: "ES256" }), "alg: a shared secret signs with HS256 only"],
    [
      "a key pair for a secret's algorithm",
      pair({ alg: "HS256" }),
      "alg: HS256 is for a shared secret, and there is none",
    ],
    [
      "no key for replies",
      pair({ reply_key: undefined }),
      'reply_key: missing: the endpoint\'s public key, or "reply_jwks", or "require_signed_reply": false',
    ],
    [
      "both keys for replies",
      pair({ reply_jwks: "https://desk.test/jwks" }),
      'reply_jwks: "reply_key" and "reply_jwks" exclude each other',
    ],
    [
      "a private key for replies",
      pair({ reply_key: privateJwk }),
      "reply_key: invalid JSON Web Key: a private key where a public one belongs",
    ],
    ["a key that is none", pair({ reply_key: "no" }), "reply_key: invalid JSON Web Key: it is not JSON"],
    [
      "published keys of another origin",
      pair({ reply_key: undefined, reply_jwks: "https://other.test/jwks" }),
      "reply_jwks: url must have the origin of the endpoint, got https://other.test",
    ],
    [
      "published keys over http",
      pair({ reply_key: undefined, reply_jwks: "http://desk.test/jwks" }),
      "reply_jwks: url must be https, or http on a loopback address, got http:",
    ],
    [
      "a name that is empty",
      desk({ endpoint: "" }),
      "endpoint: endpoint must be a string of 1 to 1024 characters of JSON in ASCII, got 0",
    ],
    ["unsigned and a secret", desk({ unsigned: true }), 'secret: has no meaning beside "unsigned": true'],
    [
      "an unsigned approver elsewhere",
      desk({ secret: undefined, unsigned: true, intercept: ["before_tool", "approve_tool"] }),
      'intercept[1]: approvals must be signed: "unsigned" will do only for a loopback address or a service binding',
    ],
    [
      "an approver whose replies need no signature",
      desk({ require_signed_reply: false, intercept: ["approve_tool"] }),
      'intercept[0]: approvals must be signed: "require_signed_reply": false does not go with them',
    ],
    [
      "an approver by Standard Webhooks",
      desk({ scheme: "standard-webhooks", secret: WHSEC, intercept: ["approve_tool"] }),
      'intercept[0]: scheme "standard-webhooks" binds only the body: approvals need "allow_weak_approval": true',
    ],
    [
      "Standard Webhooks without a secret",
      desk({ scheme: "standard-webhooks", secret: undefined }),
      'secret: missing: scheme "standard-webhooks" needs the secret of the endpoint',
    ],
    [
      "Standard Webhooks with a secret of the other form",
      desk({ scheme: "standard-webhooks" }),
      'secret: a webhook secret must be "whsec_" and 24 to 64 bytes in base64',
    ],
    [
      "Standard Webhooks with a key pair",
      desk({ scheme: "standard-webhooks", secret: WHSEC, reply_key: publicJwk }),
      'reply_key: has no meaning with scheme "standard-webhooks": its secret is all there is',
    ],
    ["a header that is none", desk({ headers: { "x y": "1" } }), 'headers["x y"]: headers: "x y" is not a header name'],
    [
      "a header value that is none",
      desk({ headers: { "x-a": "a\nb" } }),
      'headers.x-a: headers: the value of "x-a" is not a header value',
    ],
    [
      "a point the dialect lacks",
      desk({ dialect: "picoclaw-docs", intercept: ["before_tool", "after_tool"] }),
      'intercept[1]: the dialect "picoclaw-docs" has no form for this point',
    ],
    ["an unknown grant", desk({ grants: ["respnd"] }), "grants[0]: unknown value"],
    ["too many retries", desk({ retry: 11 }), "retry: expected at most 10"],
    ["no concurrency", desk({ max_concurrency: 0 }), "max_concurrency: expected at least 1"],
    ["another handshake", desk({ handshake: "maybe" }), "handshake: unknown value"],
    ["a key of a process", desk({ command: ["desk"] }), "command: unknown key"],
    [
      "no mode",
      desk({ intercept: [] }),
      'hooks.processes.desk: the hook is never called: it has neither "observe" nor "intercept"',
    ],
    [
      "no binding",
      {
        hooks: {
          processes: { desk: { enabled: true, transport: "service", unsigned: true, intercept: ["before_tool"] } },
        },
      },
      'binding: missing: the name of a service binding, such as "APPROVALS"',
    ],
  ])("may not have %s", (_, config, problem) => {
    expect(problems(config)).toContain(problem);
  });
});
