import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from "jose";
import { parseConfig } from "../../src/config/index.ts";
import { createGatewayFromConfig, type Gateway, type GatewayFromConfigOptions } from "../../src/gateway/index.ts";
import { createBuiltinRegistry, type Hook, HookManager } from "../../src/picoclaw/index.ts";
import { type Answer, CALL, errorOf, post, resultOf } from "./gateway-fixture.ts";

/** What time it is for the gateway and its hosts. */
export const NOW_MS = 1_764_000_000_000;
export const ISSUER = "https://idp.test";
export const JWKS_URL = "https://idp.test/jwks";
export const AUDIENCE = "https://gate.test/rpc";
export const HOST = "bot";
export const SECRET = "a shared secret of more than 32 bytes, for tests";

type Fields = Readonly<Record<string, unknown>>;

/** A gateway as a config describes it, in front of these hooks. */
export async function configuredGateway(
  gateway: Fields,
  {
    hooks = {},
    ...options
  }: Partial<Omit<GatewayFromConfigOptions, "hooks">> & { readonly hooks?: Readonly<Record<string, Hook>> } = {},
): Promise<Gateway> {
  const host = new HookManager();
  for (const [name, hook] of Object.entries(hooks)) await host.mount(hook, { name });
  const text = JSON.stringify({ hooks: {}, gateway });
  const config = parseConfig(text, { env: {}, builtins: createBuiltinRegistry() });
  return createGatewayFromConfig(config.gateway, {
    host,
    hooks: () => host.hooks(),
    epochNow: () => NOW_MS,
    ...options,
  });
}

/** A key of an issuer of JWTs. */
export interface IssuerKey {
  /** As it is published. */
  readonly jwk: Fields;
  readonly alg: string;
  /** Makes a JWT that is good, but for what is given. */
  token(claims?: Fields, header?: Partial<JWTHeaderParameters>): Promise<string>;
}

/** Makes a key of an issuer of JWTs. */
export async function issuerKey(alg = "ES256", kid: string | null = "one"): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), ...(kid === null ? {} : { kid }) };
  const seconds = NOW_MS / 1000;
  const good = { iss: ISSUER, aud: AUDIENCE, sub: "agent-7", iat: seconds, exp: seconds + 300 };
  return {
    jwk,
    alg,
    token: (claims, header) =>
      new SignJWT({ ...good, ...claims })
        .setProtectedHeader({ alg, ...(kid === null ? {} : { kid }), ...header })
        .sign(privateKey),
  };
}

/** The `auth` of a gateway that takes JWTs of keys. */
export function jwtAuth(keys: readonly IssuerKey[], changes: Fields = {}): Fields {
  const base = { name: "idp", issuer: ISSUER, audience: AUDIENCE };
  return { auth: { jwt: [{ ...base, keys: keys.map(({ jwk }) => jwk), ...changes }] } };
}

/** What a host with this token is answered: the action, or the status and the reason. */
export async function answerTo(gateway: Gateway, token: string): Promise<string> {
  return summary(await post(gateway, CALL, { authorization: `Bearer ${token}` }));
}

/** An answer in a word or two. */
export function summary({ status, json }: Answer): string {
  const error = errorOf(json);
  if (error === undefined) return String((resultOf(json) as { readonly action: unknown }).action);
  const { data } = error as { readonly data?: { readonly reason?: string } };
  return `${status} ${data?.reason ?? error.message}`;
}
