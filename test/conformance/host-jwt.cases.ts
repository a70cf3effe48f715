import { SignJWT } from "jose";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, keepingLog } from "./fixture.ts";
import { CALL, errorOf, post } from "./gateway-fixture.ts";
import {
  answerTo,
  AUDIENCE,
  configuredGateway,
  ISSUER,
  issuerKey,
  JWKS_URL,
  jwtAuth,
  NOW_MS,
} from "./host-auth-setting.ts";

const SECONDS = NOW_MS / 1000;

/** Hosts that come with a JWT. */
export const hostJwtCases: readonly Case[] = casesOf(
  { topic: "host-jwt", source: "The gateway's interface, section 3, Auth of hosts" },
  {
    "a-good-one-may-call": async () => {
      for (const alg of ["ES256", "EdDSA", "RS256"]) {
        const key = await issuerKey(alg);
        const gateway = await configuredGateway(jwtAuth([key]));
        equal([alg, await answerTo(gateway, await key.token())], [alg, "continue"]);
        equal(await answerTo(gateway, await key.token({ aud: ["other", AUDIENCE] })), "continue");
        equal(await answerTo(gateway, await key.token({}, { typ: "at+jwt" })), "continue");
      }
    },
    "anything-else-may-not": async () => {
      const key = await issuerKey();
      const foreign = await issuerKey();
      const gateway = await configuredGateway(jwtAuth([key]));
      const [header = "", claims = "", signature = ""] = (await key.token()).split(".");
      const none = btoa('{"alg":"none","kid":"one"}').replaceAll("=", "");
      const bad: Readonly<Record<string, string>> = {
        aud_mismatch: await key.token({ aud: "https://other.test" }),
        expired: await key.token({ exp: SECONDS - 31 }),
        not_yet_valid: await key.token({ nbf: SECONDS + 31 }),
        signature_invalid: await foreign.token(),
        kid_unknown: await key.token({}, { kid: "two" }),
        typ_mismatch: await key.token({}, { typ: "hook-request+jwt" }),
        time_malformed: await key.token({ exp: undefined }),
        alg_not_allowed: `${none}.${claims}.${signature}`,
        header_malformed: `x${header.slice(1)}.${claims}.${signature}`,
      };
      for (const [reason, token] of Object.entries(bad)) equal(await answerTo(gateway, token), `401 ${reason}`);
      // The skew is 30 s each way.
      equal(await answerTo(gateway, await key.token({ exp: SECONDS - 29 })), "continue");
    },
    "a-public-key-is-no-shared-secret": async () => {
      const key = await issuerKey();
      const gateway = await configuredGateway(jwtAuth([key]));
      const secret = new TextEncoder().encode(JSON.stringify(key.jwk));
      const forged = await new SignJWT({ iss: ISSUER, aud: AUDIENCE, exp: SECONDS + 60 })
        .setProtectedHeader({ alg: "HS256", kid: "one" })
        .sign(secret);
      equal(await answerTo(gateway, forged), "401 alg_not_allowed");
    },
    "an-algorithm-that-is-not-configured-is-none": async () => {
      const key = await issuerKey("ES384");
      equal(await answerTo(await configuredGateway(jwtAuth([key])), await key.token()), "401 alg_not_allowed");
      const gateway = await configuredGateway(jwtAuth([key], { algorithms: ["ES384"] }));
      equal(await answerTo(gateway, await key.token()), "continue");
    },
    "an-unknown-issuer-is-told-nothing": async () => {
      const key = await issuerKey();
      const gateway = await configuredGateway(jwtAuth([key]));
      const token = await key.token({ iss: "https://evil.test" });
      equal(await answerTo(gateway, token), "401 the credentials are not known here");
      equal(await answerTo(gateway, "a.b.c"), "401 the credentials are not known here");
      equal(await answerTo(gateway, `${token}${"x".repeat(8192)}`), "401 the credentials are not known here");
    },
    "each-issuer-has-its-own-keys": async () => {
      const [one, two] = [await issuerKey(), await issuerKey()];
      const entry = { audience: AUDIENCE };
      const gateway = await configuredGateway({
        auth: {
          jwt: [
            { ...entry, name: "one", issuer: ISSUER, keys: [one.jwk] },
            { ...entry, name: "two", issuer: "https://two.test", keys: [two.jwk] },
          ],
        },
      });
      equal(await answerTo(gateway, await two.token({ iss: "https://two.test" })), "continue");
      equal(await answerTo(gateway, await two.token()), "401 signature_invalid");
    },
    "a-key-without-an-id-is-tried-on-every-token": async () => {
      const nameless = await issuerKey("ES256", null);
      const gateway = await configuredGateway(jwtAuth([nameless]));
      equal(await answerTo(gateway, await nameless.token({}, { kid: "any" })), "continue");
      equal(await answerTo(gateway, await nameless.token()), "continue");
    },
    "scopes-come-from-a-claim": async () => {
      const key = await issuerKey();
      const scope_map = { "hooks:call": ["call"], "hooks:watch": ["observe"] };
      const mapped = await configuredGateway(jwtAuth([key], { scope_map }));
      equal(await answerTo(mapped, await key.token({ scope: "openid hooks:call" })), "continue");
      equal(await answerTo(mapped, await key.token({ scope: ["hooks:call"] })), "continue");
      equal(await answerTo(mapped, await key.token({ scope: "openid toString" })), FORBIDDEN);
      equal(await answerTo(mapped, await key.token()), FORBIDDEN);
      const { status, json } = await post(mapped, CALL, {
        authorization: `Bearer ${await key.token({ scope: "hooks:watch" })}`,
      });
      equal([status, errorOf(json).message], [200, "hook.before_tool needs a token with scope call"]);
      const named = await configuredGateway(jwtAuth([key], { scope_map, scope_claim: "roles", scopes: ["observe"] }));
      equal(await answerTo(named, await key.token({ roles: "hooks:call" })), "continue");
      const fallback = await post(named, CALL, { authorization: `Bearer ${await key.token()}` });
      equal(errorOf(fallback.json).message, "hook.before_tool needs a token with scope call");
    },
    "what-is-logged-is-the-reason-and-the-key": async () => {
      const { log, warnings } = keepingLog();
      const key = await issuerKey();
      const gateway = await configuredGateway(jwtAuth([key]), { log });
      const token = await key.token({ exp: SECONDS - 60, sub: "agent-secret" });
      await answerTo(gateway, token);
      equal(warnings, [
        { message: "a host's credentials were refused", fields: { caller: "idp", reason: "expired", kid: "one" } },
      ]);
      ok(!JSON.stringify(warnings).includes("agent-secret"), "the claims are in the log");
    },
    "published-keys-are-fetched-and-rotate": async () => {
      const [old, next] = [await issuerKey("ES256", "old"), await issuerKey("RS256", "next")];
      let published = [old.jwk];
      let fetches = 0;
      let nowMs = NOW_MS;
      const gateway = await configuredGateway(jwtAuth([], { keys: undefined, jwks_url: JWKS_URL }), {
        epochNow: () => nowMs,
        fetch: async (url) => {
          fetches += 1;
          equal(url, JWKS_URL);
          return Response.json({ keys: published });
        },
      });
      equal(await answerTo(gateway, await old.token()), "continue");
      equal(await answerTo(gateway, await old.token()), "continue");
      equal(fetches, 1);
      published = [old.jwk, next.jwk];
      nowMs += 30_000;
      // A key that is not known yet is looked for once; both are good while they rotate.
      equal(
        [await answerTo(gateway, await next.token()), await answerTo(gateway, await old.token())],
        ["continue", "continue"],
      );
      equal(fetches, 2);
      published = [next.jwk];
      nowMs += 300_000;
      const later = { iat: nowMs / 1000, exp: nowMs / 1000 + 60 };
      equal(await answerTo(gateway, await next.token(later)), "continue");
      equal(await answerTo(gateway, await old.token(later)), "401 kid_unknown");
    },
    "keys-that-cannot-be-fetched-let-nobody-in": async () => {
      const key = await issuerKey();
      const gateway = await configuredGateway(jwtAuth([], { keys: undefined, jwks_url: JWKS_URL }), {
        fetch: () => Promise.reject(new Error("down")),
      });
      equal(await answerTo(gateway, await key.token()), "503 keys_unavailable");
    },
    "a-token-beside-it-still-counts": async () => {
      const key = await issuerKey();
      const { auth } = jwtAuth([key]) as { readonly auth: object };
      const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
      const gateway = await configuredGateway({ auth: { ...auth, tokens: [{ name: "old", sha256 }] } });
      equal([await answerTo(gateway, "test"), await answerTo(gateway, await key.token())], ["continue", "continue"]);
      equal(await answerTo(gateway, "nope"), "401 the credentials are not known here");
    },
  },
);

const FORBIDDEN = "403 a token with scope call or observe is required";
