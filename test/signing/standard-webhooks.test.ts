import { Webhook } from "standardwebhooks";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nodeCrypto } from "../../adapters/node/crypto.ts";
import { webCrypto } from "../../src/signing/crypto.ts";
import { createWebhookSigner, createWebhookVerifier, parseWebhookSecret } from "../../src/signing/standard-webhooks.ts";
import { isVerificationError } from "../../src/signing/verification-error.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const NEXT = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
const ID = "019ab697-e800-7000-8000-000000000001";
const library = new Webhook(SECRET);
const bodies = fc.string({ unit: "grapheme", maxLength: 200 }).map((text) => JSON.stringify({ text }));

test.each([
  ["node", nodeCrypto],
  ["web", webCrypto],
])("the standardwebhooks library verifies what we sign, on the %s port", async (_name, crypto) => {
  const signer = createWebhookSigner({ secrets: [NEXT, SECRET].map(parseWebhookSecret), crypto });
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const headers = await signer.sign({ id: ID, body: Buffer.from(body) });
      expect(library.verify(body, { ...headers })).toEqual(JSON.parse(body));
      expect(headers["webhook-signature"].split(" ")[1]).toBe(
        library.sign(ID, new Date(Number(headers["webhook-timestamp"]) * 1000), body),
      );
      expect(() => library.verify(`${body} `, { ...headers })).toThrow("No matching signature");
    }),
  );
});

test("we verify what the standardwebhooks library signs", async () => {
  const verifier = createWebhookVerifier({ secrets: [parseWebhookSecret(SECRET)], crypto: nodeCrypto });
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const at = new Date();
      const request = {
        id: ID,
        timestamp: String(Math.floor(at.getTime() / 1000)),
        signature: `v1a,AAAA ${library.sign(ID, at, body)}`,
        method: "POST",
        contentType: "application/json",
        body: Buffer.from(body),
      };
      expect((await verifier.verify(request)).id).toBe(ID);
      const changed = { ...request, body: Buffer.from(`${body} `) };
      await expect(verifier.verify(changed)).rejects.toMatchObject({ reason: "signature_invalid" });
    }),
  );
});

test.each([
  [-299, "accepted", "accepted"],
  [299, "accepted", "accepted"],
  [-302, "expired", "Message timestamp too old"],
  [302, "not_yet_valid", "Message timestamp too new"],
])("both agree on a timestamp %i seconds off", async (offsetSeconds, ours, theirs) => {
  const nowMs = Date.now();
  const secrets = [parseWebhookSecret(SECRET)];
  const signer = createWebhookSigner({ secrets, now: () => nowMs + offsetSeconds * 1000 });
  const headers = await signer.sign({ id: ID, body: Buffer.from("{}") });
  const verified = createWebhookVerifier({ secrets, now: () => nowMs }).verify({
    id: headers["webhook-id"],
    timestamp: headers["webhook-timestamp"],
    signature: headers["webhook-signature"],
    method: "POST",
    contentType: "application/json",
    body: Buffer.from("{}"),
  });
  expect(await outcomeOf(() => verified)).toBe(ours);
  expect(await outcomeOf(() => library.verify("{}", { ...headers }))).toBe(theirs);
});

async function outcomeOf(verify: () => unknown): Promise<string> {
  try {
    await verify();
    return "accepted";
  } catch (error) {
    return isVerificationError(error) ? error.reason : error instanceof Error ? error.message : "not an error";
  }
}
