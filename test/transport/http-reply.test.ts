import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isHookCallError } from "../../src/errors.ts";
import { parseHttpReply } from "../../src/transport/http-reply.ts";

const ID = "01900000-0000-7000-8000-000000000000";
const RUNS = 100_000;
const KINDS = new Set(["bad_json", "bad_envelope", "wrong_id", "rpc_error"]);
const encoder = new TextEncoder();

/** What a reader of its own makes of a body: a result only for the one reply that counts. */
function expectedResult(body: Uint8Array): { readonly value: unknown } | undefined {
  let reply: Record<string, unknown>;
  try {
    reply = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (typeof reply !== "object" || reply === null || Array.isArray(reply)) return undefined;
  const own = new Map(Object.entries(reply));
  if (own.get("jsonrpc") !== "2.0" || own.get("id") !== ID || !own.has("result")) return undefined;
  return (own.get("error") ?? null) === null ? { value: own.get("result") } : undefined;
}

/** Whether the reader gives what is expected, and fails in no other way than its own. */
function agrees(body: Uint8Array): boolean {
  const expected = expectedResult(body);
  try {
    const value = parseHttpReply(body, ID);
    return expected !== undefined && JSON.stringify(value) === JSON.stringify(expected.value);
  } catch (error) {
    return expected === undefined && isHookCallError(error) && KINDS.has(error.kind);
  }
}

const member = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("jsonrpc", "id", "result", "error", "method", "__proto__", "Result", "ID") },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
);
const value = fc.oneof(
  fc.constantFrom<unknown>(
    "2.0",
    "1.0",
    ID,
    `${ID} `,
    null,
    true,
    0,
    -1,
    {},
    [],
    { message: "no" },
    { code: 1, message: 2 },
  ),
  fc.string({ maxLength: 12 }),
);
/** Any JSON is slow to make, so it is one of eight. */
const result = fc.oneof({ weight: 7, arbitrary: value }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
const text = fc
  .array(fc.tuple(member, value), { maxLength: 6 })
  .map((members) => `{${members.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join(",")}}`);
const good = fc.tuple(result, fc.array(fc.tuple(member, value), { maxLength: 2 })).map(([given, extra]) => {
  const more = extra.map(([name, item]) => `,${JSON.stringify(name)}:${JSON.stringify(item)}`).join("");
  return `{"jsonrpc":"2.0","id":"${ID}","result":${JSON.stringify(given)}${more}}`;
});

/** A reply with a few of its bytes replaced, cut off, or said twice. */
const damaged = fc
  .tuple(fc.oneof(good, text), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }), fc.nat(3))
  .map(([json, changes, how]) => {
    const bytes = encoder.encode(how === 1 ? json + json : json);
    if (how === 2) return bytes.subarray(0, (changes[0]?.[0] ?? 0) % (bytes.length + 1));
    for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  });

const body = fc.oneof(
  { weight: 3, arbitrary: good.map((json) => encoder.encode(json)) },
  { weight: 3, arbitrary: text.map((json) => encoder.encode(json)) },
  { weight: 4, arbitrary: damaged },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) },
);

test(
  `${RUNS} bodies: the reader takes the one reply that counts and fails in no other way than its own`,
  { timeout: 60_000 },
  () => {
    let taken = 0;
    let refused = 0;
    fc.assert(
      fc.property(body, (bytes) => {
        if (expectedResult(bytes) === undefined) refused += 1;
        else taken += 1;
        return agrees(bytes);
      }),
      { numRuns: RUNS },
    );
    // Both sides are reached, so that neither is right for want of trying.
    expect(Math.min(taken, refused)).toBeGreaterThan(RUNS / 10);
  },
);
