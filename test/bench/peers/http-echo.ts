import { text } from "node:stream/consumers";
import process from "node:process";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { nodeCrypto as crypto } from "../../../adapters/node/crypto.ts";
import { parsePrivateJwk, toPublicJwk } from "../../../src/signing/jwk.ts";
import { createKeySet } from "../../../src/signing/key-set.ts";
import { createSecretKey, createSigningKey, createVerificationKey } from "../../../src/signing/keys.ts";
import { createMemoryReplayStore } from "../../../src/signing/replay.ts";
import { createReplySigner, type ReplySigner } from "../../../src/signing/reply.ts";
import { createRequestVerifier, type RequestVerifier } from "../../../src/signing/request.ts";

/** One way of signing: what verifies requests and what signs replies. */
interface Side {
  readonly verifier: RequestVerifier;
  readonly signer: ReplySigner;
}

interface Secrets {
  readonly secret: string;
  readonly jwks: readonly unknown[];
}

// Keys come from the bench by a pipe: they are made for one run.
const { secret, jwks } = JSON.parse(await text(process.stdin)) as Secrets;
const sides = new Map<string, Side>();

function addSide(
  path: string,
  { key, keys }: { key: Parameters<typeof createReplySigner>[0]["key"]; keys: ReturnType<typeof createKeySet> },
): void {
  sides.set(path, {
    verifier: createRequestVerifier({
      keys,
      issuer: "gateway",
      audience: path,
      replay: createMemoryReplayStore(),
      crypto,
    }),
    signer: createReplySigner({ key, issuer: "endpoint", crypto }),
  });
}

const shared = await createSecretKey(secret, { crypto });
addSide("/HS256", { key: shared, keys: createKeySet([shared]) });
for (const value of jwks) {
  const jwk = parsePrivateJwk(value);
  const keys = createKeySet([await createVerificationKey(toPublicJwk(jwk), { crypto })]);
  addSide(`/${jwk.alg}`, { key: await createSigningKey(jwk, { crypto }), keys });
}

const VERDICT = { action: "continue" };
const JSON_HEADERS = { "content-type": "application/json" };

async function answer(request: Request): Promise<Response> {
  const body = new Uint8Array(await request.arrayBuffer());
  const side = sides.get(new URL(request.url).pathname);
  const verified =
    side &&
    (await side.verifier.verify({
      method: request.method,
      contentType: request.headers.get("content-type"),
      signature: request.headers.get("hook-signature"),
      body,
    }));
  const { id } = JSON.parse(decoder.decode(body)) as { id: string };
  const reply = JSON.stringify({ jsonrpc: "2.0", id, result: VERDICT });
  if (side === undefined || verified === undefined) return new Response(reply, { headers: JSON_HEADERS });
  const token = await side.signer.sign({ request: verified, status: 200, body: encoder.encode(reply) });
  return new Response(reply, { headers: { ...JSON_HEADERS, "hook-signature": token } });
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

const app = new Hono();
app.get("/cpu", (context) => {
  const { user, system } = process.cpuUsage();
  return context.text(String(user + system));
});
app.post("*", (context) => answer(context.req.raw));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => process.stdout.write(`${port}\n`));
