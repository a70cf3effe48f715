import { createMemoryReplayStore } from "../signing/replay.ts";
import { createWebhookSigner, createWebhookVerifier, parseWebhookSecret } from "../signing/standard-webhooks.ts";
import type { HookEndpointOptions } from "./options.ts";
import { listSecrets } from "./secrets.ts";
import type { Trust } from "./trust.ts";

const encoder = new TextEncoder();

/**
 * Trust by Standard Webhooks signatures.
 * @throws {TypeError} when there are key pairs in the place of a secret
 * @throws {RangeError} when there are more than 4 secrets or one is too short
 * @throws {HookgateError} `ERR_CONFIG` when a secret is not `whsec_` and 24 to 64 bytes in base64
 */
export function createWebhookTrust(options: HookEndpointOptions): Trust {
  const { secret, crypto, now, maxBodyBytes } = options;
  if (secret === undefined) throw new TypeError("secret must be given for scheme standard-webhooks");
  const secrets = listSecrets(secret).map((one) => (typeof one === "string" ? parseWebhookSecret(one) : one));
  const replay = options.replay ?? createMemoryReplayStore({ now });
  const verifier = createWebhookVerifier({ secrets, crypto, now, replay, maxBodyBytes });
  const signer = createWebhookSigner({ secrets, crypto, now });
  return {
    ready: () => Promise.resolve(),
    async verify({ method, headers, body }) {
      const { id } = await verifier.verify({
        method,
        contentType: headers.get("content-type"),
        id: headers.get("webhook-id"),
        timestamp: headers.get("webhook-timestamp"),
        signature: headers.get("webhook-signature"),
        body,
      });
      return {
        checkMethod() {},
        sign: async (reply) => ({ ...(await signer.sign({ id, body: encoder.encode(reply.body) })) }),
      };
    },
  };
}
