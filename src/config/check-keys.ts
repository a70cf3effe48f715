import { isHookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import { parsePrivateJwks, parsePublicJwks } from "../signing/jwk.ts";
import { parseJwksUrl } from "../signing/jwks-fetch.ts";
import { MIN_SECRET_BYTES } from "../signing/keys.ts";
import { parseWebhookSecret } from "../signing/standard-webhooks.ts";
import { checkParty } from "../signing/token.ts";
import { textsAt } from "./entry.ts";
import type { JsonPath } from "./path.ts";
import type { Finding } from "./problem.ts";

/** What a check throws, as a finding; its message never holds the value. */
export function toProblem(at: JsonPath, check: () => unknown): readonly Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!isHookgateError(error) && !(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    return [{ at, message: error.message }];
  }
}

const encoder = new TextEncoder();

/** Secrets of scheme jws: long enough, and not one twice. */
export function checkSecrets(at: JsonPath, value: unknown): readonly Finding[] {
  const secrets = textsAt(at, value);
  const short = secrets.flatMap(([place, secret]) => {
    const { length } = encoder.encode(secret);
    if (length >= MIN_SECRET_BYTES) return [];
    return [{ at: place, message: `a secret must have at least ${MIN_SECRET_BYTES} bytes, got ${length}` }];
  });
  return [...short, ...checkTwice(secrets)];
}

/** Secrets of scheme standard-webhooks. */
export function checkWebhookSecrets(at: JsonPath, value: unknown): readonly Finding[] {
  const secrets = textsAt(at, value);
  return [
    ...secrets.flatMap(([place, secret]) => toProblem(place, () => parseWebhookSecret(secret))),
    ...checkTwice(secrets),
  ];
}

function checkTwice(secrets: readonly (readonly [JsonPath, string])[]): readonly Finding[] {
  const [first, second] = secrets;
  return second !== undefined && first?.[1] === second[1]
    ? [{ at: second[0], message: "the secret is there twice" }]
    : [];
}

/** A private JWK, or a set of them. What has another type is left to the schema. */
export function checkPrivateKey(at: JsonPath, value: unknown): readonly Finding[] {
  return isKey(value) ? toProblem(at, () => parsePrivateJwks(value)) : [];
}

/** A public JWK, or a set of them. */
export function checkPublicKey(at: JsonPath, value: unknown): readonly Finding[] {
  return isKey(value) ? toProblem(at, () => parsePublicJwks(value)) : [];
}

function isKey(value: unknown): value is string | object {
  return typeof value === "string" || isObject(value);
}

/** Where keys are published. */
export function checkJwksUrl(at: JsonPath, value: unknown, sameOriginAs?: string): readonly Finding[] {
  return typeof value === "string" ? toProblem(at, () => parseJwksUrl(value, sameOriginAs)) : [];
}

/** A name that both sides of a signature are configured with. */
export function checkPartyName(at: JsonPath, value: unknown): readonly Finding[] {
  return typeof value === "string" ? toProblem(at, () => checkParty(String(at.at(-1)), value)) : [];
}
