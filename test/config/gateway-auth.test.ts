import { describe, expect, test } from "vitest";
import { desk, privateJwk, problems, publicJwk, read, SECRET } from "./remote-setting.ts";

function auth(ways: object): unknown {
  return { hooks: {}, gateway: { auth: ways } };
}

describe("the gateway's key", () => {
  const env = { HOOKGATE_SIGNING_KEY: JSON.stringify(privateJwk) };

  test("comes from the environment where the file has none", () => {
    const keyless = desk({ secret: undefined, reply_key: publicJwk });
    expect(problems(keyless, env)).toEqual([]);
    expect(read(keyless, env).gateway.signing_key).toBe(env.HOOKGATE_SIGNING_KEY);
    expect(
      read({ hooks: {}, gateway: { signing_key: privateJwk } }, { HOOKGATE_SIGNING_KEY: "x" }).gateway.signing_key,
    ).toEqual(privateJwk);
  });

  test.each<readonly [string, unknown, string]>([
    ["text that is not JSON", "no", "invalid JSON Web Key: it is not JSON"],
    ["a public key", publicJwk, 'invalid JSON Web Key: "d" must be 32 bytes in base64url'],
    ["three keys", { keys: [1, 2, 3] }, 'invalid JSON Web Key: "keys" must list one or two keys'],
  ])("is not %s", (_, key, message) => {
    expect(problems({ hooks: {}, gateway: { signing_key: key } })).toEqual([`gateway.signing_key: ${message}`]);
    if (typeof key !== "string") return;
    expect(problems({ hooks: {} }, { HOOKGATE_SIGNING_KEY: key })).toEqual([`gateway.signing_key: ${message}`]);
  });
});

describe("the ways of hosts", () => {
  const JWT = { name: "idp", issuer: "https://idp.test", audience: "gate", jwks_url: "https://idp.test/jwks" };
  const HOST = { name: "bot", issuer: "bot", audience: "https://gate.test/rpc", secret: SECRET };

  test("have every default filled in", () => {
    const { jwt, signatures } = read(auth({ jwt: [JWT], signatures: [HOST] })).gateway.auth;
    expect(jwt).toEqual([
      { ...JWT, algorithms: ["ES256", "EdDSA", "Ed25519", "RS256"], name_claim: "sub", scope_claim: "scope" },
    ]);
    expect(signatures).toEqual([{ ...HOST, scopes: ["call", "observe"] }]);
  });

  test.each<readonly [string, object, string]>([
    [
      "no keys of an issuer",
      { jwt: [{ ...JWT, jwks_url: undefined }] },
      "jwt[0].jwks_url: missing: one of jwks_url, keys",
    ],
    [
      "both kinds of keys",
      { jwt: [{ ...JWT, keys: [publicJwk] }] },
      'jwt[0].keys: "jwks_url" is there too: one of them',
    ],
    [
      "a private key",
      { jwt: [{ ...JWT, jwks_url: undefined, keys: [privateJwk] }] },
      "jwt[0].keys[0]: invalid JSON Web Key: it must be a public EC, OKP or RSA key",
    ],
    [
      "a shared secret for JWTs",
      { jwt: [{ ...JWT, jwks_url: undefined, keys: [{ kty: "oct", k: "AAAA" }] }] },
      "jwt[0].keys[0]: invalid JSON Web Key: it must be a public EC, OKP or RSA key",
    ],
    [
      "keys over http",
      { jwt: [{ ...JWT, jwks_url: "http://idp.test/" }] },
      "jwt[0].jwks_url: url must be https, or http on a loopback address, got http:",
    ],
    ["a symmetric algorithm", { jwt: [{ ...JWT, algorithms: ["HS256"] }] }, "jwt[0].algorithms[0]: unknown value"],
    ["no algorithm at all", { jwt: [{ ...JWT, algorithms: ["none"] }] }, "jwt[0].algorithms[0]: unknown value"],
    ["no audience", { jwt: [{ ...JWT, audience: "" }] }, "jwt[0].audience: must not be empty"],
    ["one issuer twice", { jwt: [JWT, { ...JWT, name: "b" }] }, "jwt[1].issuer: another issuer has the same issuer"],
    [
      "one name twice",
      { jwt: [JWT], signatures: [{ ...HOST, name: "idp" }] },
      "signatures[0].name: another caller has the same name",
    ],
    [
      "no key of a host",
      { signatures: [{ ...HOST, secret: undefined }] },
      "signatures[0].secret: missing: one of secret, key, jwks_url",
    ],
    [
      "a short secret of a host",
      { signatures: [{ ...HOST, secret: "short" }] },
      "signatures[0].secret: a secret must have at least 32 bytes, got 5",
    ],
    [
      "a private key of a host",
      { signatures: [{ ...HOST, secret: undefined, key: privateJwk }] },
      "signatures[0].key: invalid JSON Web Key: a private key where a public one belongs",
    ],
    ["an unknown scope", { signatures: [{ ...HOST, scopes: ["cal"] }] }, "signatures[0].scopes[0]: unknown scope"],
    [
      "an unknown scope in a map",
      { jwt: [{ ...JWT, scope_map: { "hooks:call": ["cal"] } }] },
      'jwt[0].scope_map["hooks:call"][0]: unknown value',
    ],
  ])("have not %s", (_, ways, problem) => {
    expect(problems(auth(ways)).map((text) => text.replace("gateway.auth.", ""))).toContain(problem);
  });
});
