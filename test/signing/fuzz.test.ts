import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nodeCrypto } from "../../adapters/node/crypto.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey } from "../../src/signing/keys.ts";
import type { SigningKey, VerificationKey } from "../../src/signing/keys.ts";
import { createReplySigner, createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner, createRequestVerifier } from "../../src/signing/request.ts";
import { isVerificationError } from "../../src/signing/verification-error.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/, \n\0\u00e9";
const NAMES = [
  "alg",
  "typ",
  "kid",
  "iss",
  "aud",
  "iat",
  "exp",
  "jti",
  "htm",
  "bh",
  "mtd",
  "rid",
  "rqh",
  "sts",
  "crit",
  "jwk",
];
const VALUES = [
  "none",
  "HS256",
  "ES256",
  "EdDSA",
  "",
  null,
  0,
  1e99,
  [],
  {},
  ["HS256"],
  "hook-request+jwt",
  "POST",
] as const;
const BODY = Buffer.from('{"jsonrpc":"2.0","id":"1","method":"m"}');
const now = (): number => 1_764_000_000_000;

interface Mutation {
  readonly kind: "replace" | "insert" | "delete" | "truncate" | "repeat" | "part" | "json" | "noise";
  readonly at: number;
  readonly char: string;
  readonly name: string;
  readonly value: unknown;
  readonly noise: string;
}

const mutations: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom("replace", "insert", "delete", "truncate", "repeat", "part", "json", "noise"),
  at: fc.nat(1_000_000),
  char: fc.constantFrom(...ALPHABET.split("")),
  name: fc.constantFrom(...NAMES),
  value: fc.constantFrom(...VALUES),
  noise: fc.string({ maxLength: 40 }),
});

function editJson(part: string, { name, value }: Mutation): string {
  const parsed = JSON.parse(Buffer.from(part, "base64url").toString()) as object;
  return Buffer.from(JSON.stringify({ ...parsed, [name]: value })).toString("base64url");
}

/** A token in parts, and how far into it a mutation goes. */
interface Place {
  readonly token: string;
  readonly parts: readonly string[];
  readonly index: number;
  readonly others: readonly string[];
}

const MUTATORS: Readonly<Record<Mutation["kind"], (place: Place, mutation: Mutation) => string>> = {
  replace: ({ token, index }, { char }) => token.slice(0, index) + char + token.slice(index + 1),
  insert: ({ token, index }, { char }) => token.slice(0, index) + char + token.slice(index),
  delete: ({ token, index }, { at }) => token.slice(0, index) + token.slice(index + 1 + (at % 3)),
  truncate: ({ token, index }) => token.slice(0, index),
  repeat: ({ token, index }, { at }) => (at % 2 === 0 ? `${token},${token}` : token + token.slice(index)),
  part: ({ parts, others }, { at }) =>
    parts.with(at % 3, others[at % others.length]?.split(".")[(at >> 4) % 3] ?? "").join("."),
  json: ({ parts }, mutation) =>
    parts.with(mutation.at % 2, editJson(parts[mutation.at % 2] ?? "", mutation)).join("."),
  noise: ({ parts }, { at, noise }) => (at % 2 === 0 ? noise : parts.with(at % 3, noise).join(".")),
};

/** The token changed as told; `others` lend their parts. */
function mutate(token: string, mutation: Mutation, others: readonly string[]): string {
  const place = { token, parts: token.split("."), index: mutation.at % token.length, others };
  return MUTATORS[mutation.kind](place, mutation);
}

interface Target {
  readonly token: string;
  verify(token: string): Promise<unknown>;
}

async function createTarget(key: SigningKey, verification: VerificationKey): Promise<readonly Target[]> {
  const keys = createKeySet([verification]);
  const shared = { crypto: nodeCrypto, now };
  const requests = { issuer: "gateway", audience: "https://hooks.example.com/h", ...shared };
  const sent = await createRequestSigner({ key, ...requests }).sign({ method: "m", body: BODY });
  // A store that remembers nothing: what is accepted twice is still accepted, and would be seen.
  const requestVerifier = createRequestVerifier({ keys, replay: { insert: () => true }, ...requests });
  const verifyRequest = (signature: string): Promise<unknown> =>
    requestVerifier.verify({ method: "POST", contentType: "application/json", signature, body: BODY });
  const request = await requestVerifier.verify({
    method: "POST",
    contentType: "application/json",
    signature: sent.token,
    body: BODY,
  });
  const reply = await createReplySigner({ key, issuer: "endpoint", ...shared }).sign({
    request,
    status: 200,
    body: BODY,
  });
  const replyVerifier = createReplyVerifier({ keys, issuer: "endpoint", audience: "gateway", ...shared });
  return [
    { token: sent.token, verify: verifyRequest },
    {
      token: reply,
      verify: (signature) => replyVerifier.verify({ signature, status: 200, body: BODY, request: sent }),
    },
  ];
}

async function createTargets(): Promise<readonly Target[]> {
  const secret = await createSecretKey("x".repeat(32), { crypto: nodeCrypto });
  // HS256 twice as often: it is quick, and it has all the same paths.
  const targets = [...(await createTarget(secret, secret)), ...(await createTarget(secret, secret))];
  for (const alg of ["ES256", "EdDSA"] as const) {
    const jwk = await createPrivateJwk(alg);
    const key = await createSigningKey(jwk, { crypto: nodeCrypto });
    targets.push(...(await createTarget(key, await createVerificationKey(toPublicJwk(jwk), { crypto: nodeCrypto }))));
  }
  return targets;
}

const RUNS = 550;
const PER_RUN = 200;

test(
  "of 100,000 mutated tokens none is accepted, and each is refused with a typed error",
  { timeout: 60_000 },
  async () => {
    const targets = await createTargets();
    const tokens = targets.map(({ token }) => token);
    for (const target of targets) await target.verify(target.token);
    let tried = 0;
    const reasons = new Set<string>();
    const tryOne = async (target: Target, mutation: Mutation): Promise<void> => {
      const token = mutate(target.token, mutation, tokens);
      // A mutation may give back a token that is right: its own, or that of the twin with another jti.
      if (tokens.includes(token)) return;
      tried += 1;
      const outcome: unknown = await target.verify(token).then(
        () => "accepted",
        (error: unknown) => error,
      );
      if (!isVerificationError(outcome))
        throw new Error(`not refused: ${JSON.stringify(mutation)}`, { cause: outcome });
      reasons.add(outcome.reason);
    };
    const batches = fc.array(mutations, { minLength: PER_RUN, maxLength: PER_RUN, size: "max" });
    await fc.assert(
      fc.asyncProperty(batches, async (batch) => {
        for (const [index, mutation] of batch.entries()) {
          const target = targets[index % targets.length];
          if (target !== undefined) await tryOne(target, mutation);
        }
      }),
      { numRuns: RUNS },
    );
    expect(tried).toBeGreaterThanOrEqual(100_000);
    expect(reasons.size).toBeGreaterThanOrEqual(8);
  },
);

test("no value of a header that is not a string brings anything but a typed error", async () => {
  const [target] = await createTargets();
  await fc.assert(
    fc.asyncProperty(fc.anything(), async (value) => {
      const outcome: unknown = await target?.verify(value as string).catch((error: unknown) => error);
      expect(isVerificationError(outcome)).toBe(true);
    }),
  );
});

test("no claims in a right signature bring anything but a typed error", async () => {
  const key = await createSecretKey("x".repeat(32), { crypto: nodeCrypto });
  const [target] = await createTarget(key, key);
  const sign = key.prepare({ typ: "hook-request+jwt" });
  const right = JSON.parse(Buffer.from(target?.token.split(".")[1] ?? "", "base64url").toString()) as object;
  const values = fc.oneof(fc.jsonValue(), fc.constantFrom(...VALUES));
  const changes = fc.dictionary(fc.constantFrom(...Object.keys(right)), values, { minKeys: 1, maxKeys: 3 });
  await fc.assert(
    fc.asyncProperty(fc.oneof(changes, fc.jsonValue()), async (change) => {
      const changed: unknown =
        typeof change === "object" && change !== null && !Array.isArray(change) ? { ...right, ...change } : change;
      const claims = JSON.stringify(changed).replace(/[\u007f-\uffff]/g, "?");
      const outcome: unknown = await target?.verify(await sign(claims)).then(
        () => "accepted",
        (error: unknown) => error,
      );
      const untouched = JSON.stringify(right) === JSON.stringify(changed);
      const harmless = typeof changed === "object" && changed !== null && isRight(right, changed);
      expect(isVerificationError(outcome) || untouched || harmless).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

/** Whether a change left every rule kept: another jti, iat, exp or mtd can be right as well. */
function isRight(right: object, changed: object): boolean {
  return (["iss", "aud", "htm", "bh"] as const).every(
    (name) => Reflect.get(right, name) === Reflect.get(changed, name),
  );
}
