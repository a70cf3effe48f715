import { randomBytes } from "node:crypto";
import { createPrivateJwk, type PrivateJwk, toPublicJwk, type PublicJwk } from "../../src/signing/jwk.ts";

/** A key pair of each side. */
export interface HttpBenchPair {
  readonly alg: "ES256" | "EdDSA";
  readonly caller: PrivateJwk;
  readonly gateway: PublicJwk;
  readonly own: PrivateJwk;
}

/** The keys of one run, handed to the endpoints by a pipe. */
export interface HttpBenchKeys {
  readonly secret: string;
  readonly pairs: readonly HttpBenchPair[];
  /** The URL of one more endpoint with the secret, for a gateway that takes no other audience. */
  readonly gatewayUrl?: string;
}

async function createPair(alg: HttpBenchPair["alg"]): Promise<HttpBenchPair> {
  const caller = await createPrivateJwk(alg);
  return { alg, caller, gateway: toPublicJwk(caller), own: await createPrivateJwk(alg) };
}

/** Makes keys for one run. */
export async function createHttpBenchKeys(): Promise<HttpBenchKeys> {
  return { secret: randomBytes(32).toString("hex"), pairs: [await createPair("ES256"), await createPair("EdDSA")] };
}
