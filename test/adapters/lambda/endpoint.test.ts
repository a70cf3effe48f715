import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createLambdaHandler, type LambdaEvent, type LambdaResult } from "../../../adapters/lambda/index.ts";
import { createHookEndpoint } from "../../../src/endpoint/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../../src/signing/jwk.ts";
import { createKeySet } from "../../../src/signing/key-set.ts";
import { createSecretKey } from "../../../src/signing/keys.ts";
import { createReplyVerifier } from "../../../src/signing/reply.ts";
import { createRequestSigner, type SignedRequest } from "../../../src/signing/request.ts";
import { AUDIENCE, ENV, GATEWAY, NAME, SECRET } from "../../endpoint/gateway-side.ts";

/** Not ASCII: what a platform makes of the bytes must not change them. */
const BODY = Buffer.from(
  JSON.stringify({
    jsonrpc: "2.0",
    method: "hook.approve_tool",
    params: { tool: "löschen — ⛔\u2028" },
    id: "019ab697-e800-7000-8000-000000000001",
  }),
);
const key = await createSecretKey(SECRET);
const signer = createRequestSigner({ key, issuer: GATEWAY, audience: AUDIENCE });
const replies = createReplyVerifier({ keys: createKeySet([key]), issuer: NAME, audience: GATEWAY });

function readEvent(name: string): LambdaEvent {
  return JSON.parse(readFileSync(join(import.meta.dirname, `events/${name}.json`), "utf8")) as LambdaEvent;
}

/** A recorded event with a body and signatures of now in it. */
function fill(name: string, tokens: readonly string[], body: Buffer = BODY): LambdaEvent {
  const event = readEvent(name);
  const encoded = body.toString(event.isBase64Encoded ? "base64" : "utf8");
  const { multiValueHeaders } = event;
  // Payload 2.0 joins the values of a header; payload 1.0 keeps the last and lists all of them beside it.
  if (multiValueHeaders) {
    const headers = { ...event.headers, "Hook-Signature": tokens.at(-1) };
    return { ...event, headers, multiValueHeaders: { ...multiValueHeaders, "Hook-Signature": tokens }, body: encoded };
  }
  return { ...event, headers: { ...event.headers, "hook-signature": tokens.join(",") }, body: encoded };
}

async function sign(body: Buffer = BODY): Promise<SignedRequest> {
  return signer.sign({ body, method: "hook.approve_tool" });
}

function reasonOf({ statusCode, body }: LambdaResult): string {
  const { error } = JSON.parse(body) as { error?: { data?: { reason?: string } } };
  return `${statusCode} ${error?.data?.reason}`;
}

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe.each(["function-url", "http-api", "rest-api"])("an event of %s", (name) => {
  let handler: (event: LambdaEvent) => Promise<LambdaResult>;

  beforeAll(async () => {
    for (const [variable, value] of Object.entries(ENV)) vi.stubEnv(variable, value);
    ({ handler } = await import("../../../examples/endpoint/lambda.ts"));
    vi.unstubAllEnvs();
  });

  test("is verified by its raw bytes, and its reply is signed", async () => {
    const request = await sign();
    const { statusCode, headers, body, isBase64Encoded } = await handler(fill(name, [request.token]));
    expect([statusCode, isBase64Encoded, headers["content-type"]]).toEqual([200, false, "application/json"]);
    expect(body).toContain("⛔\u2028 is not a tool that only reads");
    const reply = { signature: headers["hook-signature"], status: statusCode, body: Buffer.from(body), request };
    expect((await replies.verify(reply)).claims.iss).toBe(NAME);
  });

  test("is verified by its raw bytes, also in the other encoding", async () => {
    const { token } = await sign();
    const event = fill(name, [token]);
    const isBase64Encoded = event.isBase64Encoded !== true;
    const body = BODY.toString(isBase64Encoded ? "base64" : "utf8");
    expect((await handler({ ...event, isBase64Encoded, body })).statusCode).toBe(200);
  });

  test("with two signatures is refused", async () => {
    const tokens = [(await sign()).token, (await sign()).token];
    expect(reasonOf(await handler(fill(name, tokens)))).toBe("401 signature_duplicated");
  });

  test("that comes twice is refused", async () => {
    const { token } = await sign();
    await handler(fill(name, [token]));
    expect(reasonOf(await handler(fill(name, [token])))).toBe("401 replayed");
  });

  test("with another body, or none, is refused", async () => {
    const { token } = await sign();
    expect(reasonOf(await handler(fill(name, [token], Buffer.from("{}"))))).toBe("401 bh_mismatch");
    expect(reasonOf(await handler({ ...fill(name, [token]), body: null }))).toBe("401 bh_mismatch");
  });

  test.each(["GET", "PUT", "TRACE"])("with %s is refused", async (method) => {
    const event = { ...fill(name, []), httpMethod: method, requestContext: { http: { method } } };
    expect(reasonOf(await handler(event))).toBe("405 not_post");
  });
});

test("an event that says nothing is refused", async () => {
  const handler = createLambdaHandler(createHookEndpoint({}, { name: NAME, unsigned: true }));
  expect(reasonOf(await handler({}))).toBe("405 not_post");
});

test("the key set is served behind a stage", async () => {
  const own = await createPrivateJwk();
  const keys = { gateway: toPublicJwk(await createPrivateJwk()), own };
  const handler = createLambdaHandler(createHookEndpoint({}, { name: NAME, url: AUDIENCE, gateway: GATEWAY, keys }));
  const rawPath = "/prod/.well-known/jwks.json";
  const { statusCode, body } = await handler({ rawPath, requestContext: { http: { method: "GET" } } });
  expect([statusCode, JSON.parse(body)]).toMatchObject([200, { keys: [{ kty: "EC", use: "sig" }] }]);
});
