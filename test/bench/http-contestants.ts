import { Agent } from "undici";
import { hashBody } from "../../adapters/node/body-hash.ts";
import { nodeCrypto as crypto } from "../../adapters/node/crypto.ts";
import { createHttpExchange } from "../../adapters/node/http-exchange.ts";
import { CallScope } from "../../src/chain/index.ts";
import { toPublicJwk } from "../../src/signing/jwk.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import {
  createSecretKey,
  createSigningKey,
  createVerificationKey,
  type SigningKey,
  type VerificationKey,
} from "../../src/signing/keys.ts";
import { createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner } from "../../src/signing/request.ts";
import { createHttpTransport } from "../../src/transport/http.ts";
import { createJwsSignature, type MessageSignature } from "../../src/transport/signature.ts";
import type { HttpBenchKeys } from "./http-keys.ts";

/** A way to call an endpoint. */
export interface HttpContestant {
  readonly name: string;
  call(): Promise<unknown>;
  close(): Promise<void>;
}

/** What every contestant sends. */
export const PARAMS = { meta: { AgentID: "a", TurnID: "t" }, tool: "shell", arguments: { command: "x".repeat(700) } };
/** The method every contestant calls. */
export const METHOD = "hook.before_tool";
const JSON_HEADERS = { "content-type": "application/json" };

/** The JSON-RPC request of one call. */
export function createMessage(): string {
  return JSON.stringify({ jsonrpc: "2.0", method: METHOD, params: PARAMS, id: globalThis.crypto.randomUUID() });
}

/** The least anyone can do: the same JSON in a POST, and the reply's JSON. */
export function createUndici(origin: string): HttpContestant {
  const agent = new Agent({ connections: 64, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
  return {
    name: "undici request, unsigned",
    async call() {
      const response = await agent.request({
        origin,
        path: "/",
        method: "POST",
        headers: JSON_HEADERS,
        body: createMessage(),
      });
      return response.body.json();
    },
    close: () => agent.close(),
  };
}

const now = (): number => performance.now();

function createTransport(name: string, url: string, signature?: MessageSignature): HttpContestant {
  const signing = signature === undefined ? { unsigned: true } : { signature };
  const transport = createHttpTransport({ name: "bench", url, exchange: createHttpExchange(), ...signing });
  return {
    name,
    call: () => {
      const scope = new CallScope(performance.now() + 5000, now);
      return transport.call({ method: METHOD, params: JSON.stringify(PARAMS), payload: {} }, scope);
    },
    close: () => transport.close(),
  };
}

function createSignature(audience: string, key: SigningKey, verification: VerificationKey): MessageSignature {
  return createJwsSignature({
    signer: createRequestSigner({ key, issuer: "gateway", audience, crypto }),
    verifier: createReplyVerifier({
      keys: createKeySet([verification]),
      issuer: "endpoint",
      audience: "gateway",
      crypto,
    }),
    hashBody,
  });
}

/** The transport without a signature, with a shared secret and with key pairs. */
export async function createTransports(
  urls: Readonly<Record<string, string>>,
  { secret, pairs }: HttpBenchKeys,
): Promise<readonly HttpContestant[]> {
  const shared = await createSecretKey(secret, { crypto });
  const contestants = [
    createTransport("hookgate, unsigned", urls["unsigned"] ?? ""),
    createTransport("hookgate, HS256", urls["HS256"] ?? "", createSignature("http://bench/", shared, shared)),
  ];
  for (const { alg, caller, own } of pairs) {
    const key = await createSigningKey(caller, { crypto });
    const verification = await createVerificationKey(toPublicJwk(own), { crypto });
    contestants.push(
      createTransport(`hookgate, ${alg}`, urls[alg] ?? "", createSignature("http://bench/", key, verification)),
    );
  }
  return contestants;
}
