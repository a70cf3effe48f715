import { type Case, equal, ok } from "./case.ts";
import { PageSessions } from "../../src/gateway/page/index.ts";
import { createObjectLog } from "../../src/log.ts";
import { casesOf } from "./fixture.ts";
import { CALL, gatewayOf, post, requestOf, tokenOf } from "./gateway-fixture.ts";
import { formOf, pageOf, recordingOf, recordOf, signIn, storeOf } from "./page-fixture.ts";
import type { Gateway, GatewayOptions } from "../../src/gateway/index.ts";

const SOURCE = 'docs/operations.md, "Status page"';
const TOKEN = "secret-of-eye";

async function guarded(options: Partial<GatewayOptions> = {}): Promise<Gateway> {
  const tokens = [(await tokenOf("eye", "observe")).known, (await tokenOf("bot", "call")).known];
  return gatewayOf({}, { auth: { tokens }, records: storeOf([recordOf()]), recording: recordingOf(), ...options });
}

async function enter(gateway: Gateway, fields: Readonly<Record<string, string>>, headers = {}): Promise<Response> {
  return gateway.fetch(requestOf(formOf("/page/sign-in", fields, headers)));
}

async function statusWith(gateway: Gateway, cookie: string, path = "/"): Promise<number> {
  return (await gateway.fetch(requestOf({ method: "GET", path, headers: { cookie } }))).status;
}

/** Who gets to see the pages. */
export const signInCases: readonly Case[] = casesOf(
  { topic: "sign-in", source: SOURCE },
  {
    "a-page-asks-who-is-there-and-shows-nothing": async () => {
      const gateway = await guarded();
      for (const path of ["/", "/?tool=ls", `/decisions/${recordOf().id}`, "/decisions/none"]) {
        const { status, text, headers, attributes } = await pageOf(gateway, { path });
        equal([path, status, headers.get("www-authenticate")], [path, 401, 'Bearer realm="hookgate"']);
        ok(text.includes("Sign in") && !text.includes("before_tool"), text);
        ok(
          attributes.some(([name, value]) => name === "value" && value === path),
          "it forgets where one was going",
        );
      }
    },
    "who-follows-a-link-of-another-site-is-looked-at-again-once": async () => {
      const gateway = await guarded();
      const navigate = { "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" };
      const first = await pageOf(gateway, { path: "/?tool=ls", headers: navigate });
      equal([first.status, first.html.includes('http-equiv="refresh" content="0"')], [401, true]);
      const again = { ...navigate, "sec-fetch-site": "same-origin" };
      const second = await pageOf(gateway, { path: "/?tool=ls", headers: again });
      equal([second.status, second.html.includes("http-equiv"), second.text.includes("Token")], [401, false, true]);
    },
    "a-good-token-opens-a-session-that-is-not-the-token": async () => {
      const lines: unknown[] = [];
      const gateway = await guarded({ log: createObjectLog((_level, line) => void lines.push(line)) });
      const response = await enter(gateway, { token: ` ${TOKEN}\n`, next: "/?tool=ls" });
      const cookie = response.headers.get("set-cookie") ?? "";
      equal([response.status, response.headers.get("location")], [303, "/?tool=ls"]);
      ok(/^hookgate_session=[\da-f]{64}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/.test(cookie), cookie);
      const { status, text, html } = await pageOf(gateway, {
        path: "/",
        headers: { cookie: cookie.split(";")[0] ?? "" },
      });
      equal(status, 200);
      ok(text.includes("Signed in as eye Sign out") && text.includes("Recent decisions"), text);
      ok(!`${html}${cookie}${JSON.stringify(lines)}`.includes("secret-of"), "the token is somewhere");
      ok(JSON.stringify(lines).includes("signed in"), "the log does not say who signed in");
    },
    "each-session-has-a-number-of-its-own-and-ends-the-one-before": async () => {
      const gateway = await guarded();
      const first = await signIn(gateway, TOKEN);
      const second = (await enter(gateway, { token: TOKEN }, { cookie: first })).headers
        .get("set-cookie")
        ?.split(";")[0];
      ok(second !== undefined && second !== first, "the same number");
      equal([await statusWith(gateway, first), await statusWith(gateway, second)], [401, 200]);
    },
    "over-tls-the-cookie-is-kept-to-it": async () => {
      const gateway = await guarded();
      const host = { host: "gate.example", origin: "https://gate.example" };
      const cookie = (await enter(gateway, { token: TOKEN }, host)).headers.get("set-cookie") ?? "";
      ok(/^__Host-hookgate_session=[\da-f]{64}; Path=\/; .*; SameSite=Strict; Secure$/.test(cookie), cookie);
      equal(await statusWith(gateway, cookie.split(";")[0] ?? ""), 200);
    },
    "a-bad-token-opens-nothing": async () => {
      const gateway = await guarded();
      for (const [token, status] of [
        ["nope", 401],
        ["", 401],
        ["a b", 401],
        ["tökən", 401],
        [`${TOKEN}x`, 401],
        ["\u0000", 401],
        ["secret-of-bot", 403],
      ] as const) {
        const response = await enter(gateway, { token });
        const html = await response.text();
        equal([token, response.status, response.headers.get("set-cookie")], [token, status, null]);
        ok(token === "" || !html.includes(token), "the answer has the token");
      }
    },
    "a-cookie-that-was-made-up-opens-nothing": async () => {
      const gateway = await guarded();
      await signIn(gateway, TOKEN);
      for (const cookie of [
        `hookgate_session=${"0".repeat(64)}`,
        "hookgate_session=",
        `hookgate_session=${TOKEN}`,
        "__proto__=1",
        `hookgate_session=${"0".repeat(100_000)}`,
        ";".repeat(500),
      ]) {
        equal(await statusWith(gateway, cookie), 401);
      }
    },
    "the-cookie-reads-and-does-nothing-else": async () => {
      const tokens = [(await tokenOf("all", "observe", "admin", "call", "register")).known];
      const gateway = await guarded({ auth: { tokens } });
      const cookie = await signIn(gateway, "secret-of-all");
      const read = ["/", "/v1/hooks", "/v1/records", `/v1/records/${recordOf().id}`];
      for (const path of read) equal([path, await statusWith(gateway, cookie, path)], [path, 200]);
      equal((await post(gateway, CALL, { cookie })).status, 401);
      const foreign = { cookie, origin: "http://evil.example" };
      const { status } = await gateway.fetch(requestOf({ method: "GET", path: "/v1/records", headers: foreign }));
      equal(status, 403);
    },
    "a-token-that-is-no-longer-good-ends-its-sessions": async () => {
      let isGood = true;
      const authenticators = [
        ({ headers }: { readonly headers: Headers }) =>
          isGood && headers.get("authorization") === "Bearer jwt"
            ? { name: "idp/me", scopes: new Set(["admin"] as const) }
            : undefined,
      ];
      const gateway = await guarded({ auth: { authenticators } });
      const cookie = await signIn(gateway, "jwt");
      equal(await statusWith(gateway, cookie), 200);
      isGood = false;
      equal(await statusWith(gateway, cookie), 401);
    },
    "a-session-ends-when-its-time-is-over": async () => {
      let nowMs = 0;
      const gateway = await guarded({ sessions: new PageSessions({ now: () => nowMs }) });
      const cookie = await signIn(gateway, TOKEN);
      nowMs = 28_799_999;
      equal(await statusWith(gateway, cookie), 200);
      nowMs = 28_800_000;
      equal(await statusWith(gateway, cookie), 401);
    },
    "there-are-only-so-many-sessions": async () => {
      const gateway = await guarded({ sessions: new PageSessions({ maxSessions: 2 }) });
      const cookies = [await signIn(gateway, TOKEN), await signIn(gateway, TOKEN), await signIn(gateway, TOKEN)];
      equal(await Promise.all(cookies.map((cookie) => statusWith(gateway, cookie))), [401, 200, 200]);
    },
    "signing-out-ends-the-session-itself": async () => {
      const gateway = await guarded();
      const cookie = await signIn(gateway, TOKEN);
      const response = await gateway.fetch(requestOf(formOf("/page/sign-out", {}, { cookie })));
      equal([response.status, response.headers.get("location")], [303, "/"]);
      ok(/hookgate_session=; Path=\/; Max-Age=0/.test(response.headers.get("set-cookie") ?? ""), "the cookie stays");
      equal(await statusWith(gateway, cookie), 401);
    },
    "a-form-of-another-site-is-refused": async () => {
      const gateway = await guarded({ allowedOrigins: ["https://friend.example"] });
      const cookie = await signIn(gateway, TOKEN);
      for (const headers of [
        { origin: "http://evil.example" },
        { origin: "https://friend.example" },
        { origin: "null" },
        { origin: "http://127.0.0.1:9999" },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "none" },
      ]) {
        for (const path of ["/page/sign-in", "/page/sign-out"]) {
          const response = await gateway.fetch(requestOf(formOf(path, { token: TOKEN }, { cookie, ...headers })));
          equal([path, headers, response.status, response.headers.get("set-cookie")], [path, headers, 403, null]);
        }
      }
      const { origin: _, ...silent } = formOf("/page/sign-out", {}, { cookie }).headers as Record<string, string>;
      equal((await gateway.fetch(requestOf({ path: "/page/sign-out", headers: silent, body: "" }))).status, 403);
      equal(await statusWith(gateway, cookie), 200);
    },
    "a-form-that-is-none-is-refused": async () => {
      const gateway = await guarded();
      const type = { "content-type": "application/json" };
      equal((await enter(gateway, { token: TOKEN }, type)).status, 400);
      equal((await enter(gateway, { token: "x".repeat(20_000) })).status, 400);
      const body = new Uint8Array([0xff, 0xfe]);
      const { headers } = formOf("/page/sign-in", {});
      equal((await gateway.fetch(requestOf({ path: "/page/sign-in", ...(headers && { headers }), body }))).status, 400);
    },
    "signing-in-leads-to-no-other-place": async () => {
      const gateway = await guarded();
      for (const next of [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/page/sign-out",
        "",
        "evil",
      ]) {
        const location = (await enter(gateway, { token: TOKEN, next })).headers.get("location");
        equal([next, location], [next, "/"]);
      }
      const { headers } = await enter(gateway, { token: TOKEN, next: "/decisions/x?a=b" });
      equal(headers.get("location"), "/decisions/x?a=b");
    },
    "who-guesses-has-to-wait-and-who-knows-has-not": async () => {
      let nowMs = 0;
      const gateway = await guarded({ now: () => nowMs });
      for (let count = 0; count < 50; count += 1) equal((await enter(gateway, { token: TOKEN })).status, 303);
      for (let count = 0; count < 20; count += 1) equal((await enter(gateway, { token: "guess" })).status, 401);
      const refused = await enter(gateway, { token: TOKEN });
      equal([refused.status, refused.headers.get("retry-after")], [429, "3"]);
      const other = { remoteAddress: "192.0.2.7" };
      equal((await gateway.fetch(requestOf(formOf("/page/sign-in", { token: TOKEN })), other)).status, 303);
      nowMs = 3000;
      equal((await enter(gateway, { token: TOKEN })).status, 303);
    },
    "without-auth-nobody-signs-in": async () => {
      const gateway = await gatewayOf();
      const { text } = await pageOf(gateway, { path: "/" });
      ok(!text.includes("Sign"), text);
      const response = await enter(gateway, { token: "x" });
      equal([response.status, response.headers.get("set-cookie")], [303, null]);
    },
  },
);
