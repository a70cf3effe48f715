import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashBody } from "../../adapters/node/body-hash.ts";
import { nodeCrypto } from "../../adapters/node/crypto.ts";
import { HOOK_POINTS } from "../../src/picoclaw/index.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey, type SigningKey } from "../../src/signing/keys.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { createReplySigner, createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner, createRequestVerifier, type VerifiedRequest } from "../../src/signing/request.ts";
import { createWebhookSigner, createWebhookVerifier } from "../../src/signing/standard-webhooks.ts";
import { createJwsSignature, createWebhookSignature, type MessageSignature } from "../../src/transport/signature.ts";
import { createFaultServer, type FaultServer, type Received, toJson, toReply } from "./server.ts";
import { createStage, EXCHANGES, outcomesOf, type Seen, type StageOptions, toOutcomes } from "./stage.ts";

const GATEWAY = "https://gateway.test";
const ENDPOINT = "gate";
/** What the endpoint is configured with; the port of a test is not known before. */
const AUDIENCE = "https://hooks.test/hook";
const crypto = nodeCrypto;

const gatewayJwk = await createPrivateJwk("ES256");
const endpointJwk = await createPrivateJwk("EdDSA");
const strangerJwk = await createPrivateJwk("EdDSA");
const gatewayKey = await createSigningKey(gatewayJwk, { crypto });
const endpointKey = await createSigningKey(endpointJwk, { crypto });
const strangerKey = await createSigningKey(strangerJwk, { crypto });
const gatewayKeys = createKeySet([await createVerificationKey(toPublicJwk(gatewayJwk), { crypto })]);
const endpointKeys = createKeySet([await createVerificationKey(toPublicJwk(endpointJwk), { crypto })]);

const signature = createJwsSignature({
  signer: createRequestSigner({ key: gatewayKey, issuer: GATEWAY, audience: AUDIENCE, crypto }),
  verifier: createReplyVerifier({ keys: endpointKeys, issuer: ENDPOINT, audience: GATEWAY, crypto }),
  hashBody,
});

const requests = createRequestVerifier({
  keys: gatewayKeys,
  issuer: GATEWAY,
  audience: AUDIENCE,
  replay: createMemoryReplayStore(),
  crypto,
});

/** What an endpoint signs its reply with; what is left out is right. */
interface Signing {
  readonly key?: SigningKey;
  readonly body?: string;
  readonly status?: number;
  readonly agoMs?: number;
  readonly issuer?: string;
  readonly request?: Partial<VerifiedRequest>;
}

async function sign(request: VerifiedRequest, body: string, signing: Signing = {}): Promise<string> {
  const { key = endpointKey, agoMs = 0, issuer = ENDPOINT, status = 200 } = signing;
  const signer = createReplySigner({ key, issuer, crypto, now: () => Date.now() - agoMs });
  const bytes = Buffer.from(signing.body ?? body);
  return signer.sign({ request: { ...request, ...signing.request }, status, body: bytes });
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** The token with another header, signed by whatever `seal` makes of it. */
function forge(token: string, header: Readonly<Record<string, unknown>>, seal: (input: string) => string): string {
  const input = `${encode(header)}.${token.split(".")[1]}`;
  return `${input}.${seal(input)}`;
}

type MakeHeader = (request: VerifiedRequest, body: string) => Promise<string | readonly string[] | undefined>;

const typ = "hook-reply+jwt";
let previous: Promise<string> | undefined;

const signatureFaults: readonly (readonly [name: string, kind: string, makeHeader: MakeHeader])[] = [
  ["unsigned", "unsigned_reply", async () => undefined],
  ["wrong key", "bad_signature", (request, body) => sign(request, body, { key: strangerKey })],
  [
    "wrong aud",
    "bad_signature",
    (request, body) => sign(request, body, { request: { claims: { ...request.claims, iss: "https://other.test" } } }),
  ],
  ["wrong iss", "bad_signature", (request, body) => sign(request, body, { issuer: "other" })],
  ["expired", "bad_signature", (request, body) => sign(request, body, { agoMs: 120_000 })],
  ["from the future", "bad_signature", (request, body) => sign(request, body, { agoMs: -60_000 })],
  ["of another body", "bad_signature", (request, body) => sign(request, body, { body: `${body} ` })],
  ["of another status", "bad_signature", (request, body) => sign(request, body, { status: 202 })],
  [
    "of another request",
    "replayed_reply",
    (request, body) => sign(request, body, { request: { claims: { ...request.claims, jti: "0".repeat(36) } } }),
  ],
  [
    "of another request's token",
    "replayed_reply",
    (request, body) => sign(request, body, { request: { token: "a.b.c" } }),
  ],
  ["our own request sent back", "bad_signature", async ({ token }) => token],
  [
    "alg none",
    "bad_signature",
    async (request, body) => forge(await sign(request, body), { alg: "none", typ, kid: endpointKey.kid }, () => "AA"),
  ],
  [
    "HS256 with the public key as the secret",
    "bad_signature",
    async (request, body) =>
      forge(await sign(request, body), { alg: "HS256", typ, kid: endpointKey.kid }, (input) =>
        createHmac("sha256", Buffer.from(toPublicJwk(endpointJwk).x, "base64url"))
          .update(input)
          .digest("base64url"),
      ),
  ],
  [
    "a key in the header",
    "bad_signature",
    async (request, body) =>
      forge(
        await sign(request, body),
        { alg: "EdDSA", typ, kid: strangerKey.kid, jwk: strangerKey.published },
        () => "AA",
      ),
  ],
  [
    "duplicate header",
    "bad_signature",
    async (request, body) => [await sign(request, body), await sign(request, body)],
  ],
  ["not a token", "bad_signature", async () => "yes"],
];

let server: FaultServer;
let makeHeader: MakeHeader;

async function answer(received: Received): Promise<void> {
  const body = toJson(received);
  const request = await requests.verify({
    method: "POST",
    contentType: received.headers["content-type"],
    signature: received.headers["hook-signature"],
    body: received.body,
  });
  expect(request.claims.mtd).toBe(received.message.method);
  const header = await makeHeader(request, body);
  const values = header === undefined ? [] : typeof header === "string" ? [header] : header;
  const names = ["hook-signature", "Hook-Signature"];
  const headers = Object.fromEntries(values.map((value, index) => [names[index] ?? "", value]));
  received.socket.write(toReply(body, { headers }));
}

async function ask(options: Partial<StageOptions>): Promise<readonly Seen[]> {
  const stage = await createStage({
    url: `http://127.0.0.1:${server.port}/hook`,
    exchange: EXCHANGES.undici(),
    signature,
    ...options,
  });
  try {
    return await stage.askAll();
  } finally {
    await stage.close();
  }
}

beforeAll(async () => {
  server = await createFaultServer((received) => void answer(received));
});

afterAll(() => server.close());

describe.each(["undici", "fetch"] as const)("signed, over %s", (exchange) => {
  test("a verdict", async () => {
    makeHeader = sign;
    expect(toOutcomes(await ask({ exchange: EXCHANGES[exchange]() }))).toEqual(outcomesOf("verdict"));
  });

  test.each(signatureFaults)("%s", async (_name, kind, make) => {
    makeHeader = make;
    const seen = await ask({ exchange: EXCHANGES[exchange]() });
    expect(toOutcomes(seen)).toEqual(outcomesOf(kind));
    // What is kept of it is a constant text.
    expect(seen.map(({ record }) => record?.error).join()).not.toContain("eyJ");
  });

  test("replayed: the reply to an earlier call, byte for byte", async () => {
    previous = undefined;
    makeHeader = (request, body) => {
      previous ??= sign(request, body);
      return previous;
    };
    const seen = await ask({ exchange: EXCHANGES[exchange]() });
    expect(seen.map(({ record }) => record?.kind ?? "verdict").toSorted()).toEqual([
      "replayed_reply",
      "replayed_reply",
      "replayed_reply",
      "replayed_reply",
      "verdict",
    ]);
  });
});

const lax = (requireSignedReply: boolean): MessageSignature =>
  createJwsSignature({
    signer: createRequestSigner({ key: gatewayKey, issuer: GATEWAY, audience: AUDIENCE, crypto }),
    verifier: createReplyVerifier({ keys: endpointKeys, issuer: ENDPOINT, audience: GATEWAY, crypto }),
    requireSignedReply,
  });

describe("what is required of a reply", () => {
  test("where no signature is required, none is taken for interceptors, and no approval is", async () => {
    makeHeader = async () => undefined;
    const seen = await ask({ signature: lax(false) });
    expect(seen.map(({ record }) => record?.kind ?? "verdict")).toEqual(
      HOOK_POINTS.map((point) => (point === "approve_tool" ? "unsigned_reply" : "verdict")),
    );
  });

  test("where no signature is required, a bad one is still refused", async () => {
    makeHeader = (request, body) => sign(request, body, { key: strangerKey });
    const seen = await ask({ signature: lax(false) });
    expect(seen.filter(({ point }) => point !== "approve_tool").map(({ record }) => record?.kind)).toEqual([
      "bad_signature",
      "bad_signature",
      "bad_signature",
      "bad_signature",
    ]);
  });

  test("a shared secret signs both ways", async () => {
    const key = await createSecretKey("s".repeat(32), { crypto });
    const keys = createKeySet([key]);
    const secretRequests = createRequestVerifier({
      keys,
      issuer: GATEWAY,
      audience: AUDIENCE,
      replay: createMemoryReplayStore(),
    });
    const replies = createReplySigner({ key, issuer: ENDPOINT });
    const secretServer = await createFaultServer((received) => {
      void (async () => {
        const request = await secretRequests.verify({
          method: "POST",
          contentType: "application/json",
          signature: received.headers["hook-signature"],
          body: received.body,
        });
        const body = toJson(received);
        const token = await replies.sign({ request, status: 200, body: Buffer.from(body) });
        received.socket.write(toReply(body, { headers: { "hook-signature": token } }));
      })();
    });
    const seen = await ask({
      url: `http://127.0.0.1:${secretServer.port}/hook`,
      signature: createJwsSignature({
        signer: createRequestSigner({ key, issuer: GATEWAY, audience: AUDIENCE }),
        verifier: createReplyVerifier({ keys, issuer: ENDPOINT, audience: GATEWAY }),
      }),
    });
    expect(toOutcomes(seen)).toEqual(outcomesOf("verdict"));
    await secretServer.close();
  });

  test("Standard Webhooks: both ways, and no approval unless it is said", async () => {
    const secrets = [Buffer.alloc(32, 7)];
    const signer = createWebhookSigner({ secrets, crypto });
    const verifier = createWebhookVerifier({ secrets, crypto });
    const webhookServer = await createFaultServer((received) => {
      void (async () => {
        const request = await verifier.verify({
          method: "POST",
          contentType: "application/json",
          id: received.headers["webhook-id"],
          timestamp: received.headers["webhook-timestamp"],
          signature: received.headers["webhook-signature"],
          body: received.body,
        });
        const body = toJson(received);
        received.socket.write(
          toReply(body, { headers: { ...(await signer.sign({ id: request.id, body: Buffer.from(body) })) } }),
        );
      })();
    });
    const url = `http://127.0.0.1:${webhookServer.port}/hook`;
    const strict = await ask({ url, signature: createWebhookSignature({ signer, verifier }) });
    expect(strict.map(({ record }) => record?.kind ?? "verdict")).toEqual(
      HOOK_POINTS.map((point) => (point === "approve_tool" ? "unsigned_reply" : "verdict")),
    );
    expect(
      toOutcomes(await ask({ url, signature: createWebhookSignature({ signer, verifier, allowWeakApproval: true }) })),
    ).toEqual(outcomesOf("verdict"));
    await webhookServer.close();
  });
});
