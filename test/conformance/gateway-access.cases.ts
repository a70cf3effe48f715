import { type Case, equal, ok, rejects } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { CALL, callText, errorOf, gatewayOf, post, requestOf, resultOf, toAnswer, tokenOf } from "./gateway-fixture.ts";

const AUTH = "The gateway's interface, section 3, Auth of hosts";
const BROWSERS = "The gateway's interface, section 3, A page in a browser";

/** Who may call. */
export const authCases: readonly Case[] = casesOf(
  { topic: "gateway-auth", source: AUTH },
  {
    "a-known-token-may-call": async () => {
      const { known, headers } = await tokenOf("host", "call");
      const gateway = await gatewayOf({}, { auth: { tokens: [known] } });
      equal(resultOf((await post(gateway, CALL, headers)).json), { action: "continue" });
      equal(
        (await post(gateway, CALL, { authorization: headers.authorization.replace("Bearer", "bearer") })).status,
        200,
      );
    },
    "anything-else-may-not": async () => {
      const { known, headers } = await tokenOf("host", "call");
      const gateway = await gatewayOf({}, { auth: { tokens: [known] } });
      const { authorization } = headers;
      const bad = [
        "Bearer",
        "Bearer ",
        "Bearer nope",
        `Basic ${authorization}`,
        `${authorization}x`,
        authorization.slice(7),
      ];
      for (const value of [...bad, `${authorization}, ${authorization}`, `Bearer ${known.sha256}`]) {
        const answer = await post(gateway, CALL, { authorization: value });
        equal([value, answer.status, errorOf(answer.json).code], [value, 401, -32001]);
        equal(answer.headers.get("www-authenticate"), 'Bearer realm="hookgate", error="invalid_token"');
        ok(!answer.text.includes("secret"), answer.text);
      }
      const { status, headers: answered } = await post(gateway, CALL);
      equal([status, answered.get("www-authenticate")], [401, 'Bearer realm="hookgate"']);
    },
    "no-token-at-all-lets-nobody-in": async () => {
      equal((await post(await gatewayOf({}, { auth: {} }), CALL)).status, 401);
      equal((await post(await gatewayOf({}, { auth: { tokens: [] } }), CALL)).status, 401);
    },
    "scopes-say-what-a-token-may-do": async () => {
      const tokens = await Promise.all([tokenOf("c", "call"), tokenOf("o", "observe"), tokenOf("a", "admin")]);
      const gateway = await gatewayOf({}, { auth: { tokens: tokens.map(({ known }) => known) } });
      const event = JSON.stringify({ jsonrpc: "2.0", method: "hook.event", params: { Kind: "turn_start" } });
      const seen: unknown[] = [];
      for (const { headers } of tokens) {
        const hello = await post(gateway, callText("hook.hello", {}), headers);
        const call = await post(gateway, CALL, headers);
        const list = await toAnswer(await gateway.fetch(requestOf({ method: "GET", path: "/v1/hooks", headers })));
        const codes = [hello, call].map(({ json }) => errorOf(json)?.code);
        seen.push([hello.status, call.status, ...codes, (await post(gateway, event, headers)).status, list.status]);
      }
      equal(seen, [
        [200, 200, undefined, undefined, 202, 403],
        [200, 200, undefined, -32001, 202, 200],
        [403, 403, -32001, -32001, 403, 200],
      ]);
    },
    "a-scope-is-checked-for-each-call-of-a-batch": async () => {
      const { known, headers } = await tokenOf("o", "observe");
      const gateway = await gatewayOf({}, { auth: { tokens: [known] } });
      const { json } = await post(gateway, `[${callText("hook.hello", {}, 1)},${CALL}]`, headers);
      const [hello, call] = json as readonly unknown[];
      equal([errorOf(hello), errorOf(call).code], [undefined, -32001]);
    },
    "further-ways-are-asked-in-order": async () => {
      const asked: string[] = [];
      const gateway = await gatewayOf(
        {},
        {
          auth: {
            authenticators: [
              () => void asked.push("first"),
              async ({ headers, readBody }) => {
                const bytes = await readBody();
                asked.push(bytes instanceof Uint8Array ? `second ${bytes.byteLength}` : "second");
                if (headers.get("hook-signature") !== "good") return undefined;
                return { name: "signed", scopes: new Set(["call"]) };
              },
              () => void asked.push("third"),
            ],
          },
        },
      );
      equal((await post(gateway, CALL, { "hook-signature": "good" })).status, 200);
      equal((await post(gateway, CALL)).status, 401);
      const second = `second ${CALL.length}`;
      equal(asked, ["first", second, "first", second, "third"]);
    },
    "a-token-that-is-not-valid-is-a-mistake": async () => {
      const { known } = await tokenOf("x", "call");
      const bad = [
        { sha256: "abc" },
        { name: "" },
        { scopes: [] },
        { scopes: ["all"] },
      ] as unknown as readonly object[];
      for (const part of bad) await rejects(gatewayOf({}, { auth: { tokens: [{ ...known, ...part }] } }), "TypeError");
      await rejects(gatewayOf({}, { auth: { tokens: [known, { ...known, name: "y" }] } }), "TypeError");
    },
    "only-loopback-is-served-without-auth": async () => {
      const open = await gatewayOf();
      const names = ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"];
      for (const name of names) open.assertBindable(name);
      for (const name of [
        "0.0.0.0",
        "::",
        "",
        "192.168.1.2",
        "example.com",
        "127.0.0.1.example.com",
        "localhost.example",
      ]) {
        await rejects(
          Promise.resolve().then(() => open.assertBindable(name)),
          "ERR_CONFIG",
        );
        (await gatewayOf({}, { auth: {} })).assertBindable(name);
      }
    },
  },
);

/** What a page in a browser could do. */
export const originCases: readonly Case[] = casesOf(
  { topic: "gateway-origin", source: BROWSERS },
  {
    "only-a-loopback-name-is-a-host": async () => {
      const gateway = await gatewayOf();
      for (const host of ["127.0.0.1:8787", "localhost", "LOCALHOST:1", "[::1]:8787", "127.1.2.3:80"]) {
        equal([host, (await post(gateway, CALL, { host })).status], [host, 200]);
      }
      const others = [
        "evil.example",
        "evil.example:8787",
        "127.0.0.1.evil.example",
        "localhost:x",
        "0.0.0.0:8787",
        "::1",
      ];
      for (const host of [...others, "127.0.0.1, evil.example", "localhost.", "10.0.0.1"]) {
        const { status, json } = await post(gateway, CALL, { host });
        equal([host, status, errorOf(json).code], [host, 403, -32001]);
      }
      const { known, headers } = await tokenOf("host", "call");
      const open = await gatewayOf({}, { auth: { tokens: [known] } });
      equal((await post(open, CALL, { ...headers, host: "gateway.example" })).status, 200);
    },
    "a-foreign-origin-is-refused": async () => {
      const { known, headers } = await tokenOf("host", "call");
      for (const options of [{}, { auth: { tokens: [known] } }]) {
        const gateway = await gatewayOf({}, options);
        for (const origin of ["https://evil.example", "null", "http://localhost:3000", "file://"]) {
          const { status, headers: answered } = await post(gateway, CALL, { ...headers, origin });
          equal([origin, status, answered.get("access-control-allow-origin")], [origin, 403, null]);
        }
      }
    },
    "its-own-origin-is-not": async () => {
      const headers = { host: "127.0.0.1:8787", origin: "http://127.0.0.1:8787" };
      const answer = await post(await gatewayOf(), CALL, headers);
      equal([answer.status, answer.headers.get("access-control-allow-origin")], [200, null]);
    },
    "a-configured-origin-may-call-and-read": async () => {
      const gateway = await gatewayOf({}, { allowedOrigins: ["https://app.example"] });
      const headers = { origin: "https://app.example" };
      const preflight = requestOf({
        method: "OPTIONS",
        headers: {
          ...headers,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type",
        },
      });
      const asked = await toAnswer(await gateway.fetch(preflight));
      equal([asked.status, asked.headers.get("access-control-allow-origin")], [204, "https://app.example"]);
      equal(asked.headers.get("access-control-allow-methods"), "GET, POST, DELETE");
      const answer = await post(gateway, CALL, headers);
      equal([answer.status, answer.headers.get("access-control-allow-origin")], [200, "https://app.example"]);
      equal(answer.headers.get("vary"), "origin");
      const other = await post(gateway, CALL, { origin: "https://evil.example" });
      equal([other.status, other.headers.get("access-control-allow-origin")], [403, null]);
    },
    "no-cors-unless-configured": async () => {
      const preflight = { method: "OPTIONS", headers: { origin: "https://app.example" } };
      const { status, headers } = await toAnswer(await (await gatewayOf()).fetch(requestOf(preflight)));
      equal([status, headers.get("access-control-allow-origin"), headers.get("vary")], [204, null, null]);
    },
    "only-origins-can-be-configured": async () => {
      for (const origin of ["*", "https://app.example/", "https://app.example/x", "app.example", "null", ""]) {
        await rejects(gatewayOf({}, { allowedOrigins: [origin] }), "TypeError");
      }
    },
    "without-auth-only-this-machine-may-call": async () => {
      const gateway = await gatewayOf();
      for (const remoteAddress of ["127.0.0.1", "::1", "::ffff:127.0.0.1", undefined]) {
        equal((await toAnswer(await gateway.fetch(requestOf({ body: CALL }), { remoteAddress }))).status, 200);
      }
      for (const info of [{ remoteAddress: "10.0.0.9" }, { boundHost: "0.0.0.0" }]) {
        equal((await toAnswer(await gateway.fetch(requestOf({ body: CALL }), info))).status, 403);
      }
    },
  },
);
