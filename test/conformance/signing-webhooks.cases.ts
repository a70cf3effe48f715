import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import type { ReplayStore } from "../../src/signing/replay.ts";
import { createWebhookSigner, createWebhookVerifier, parseWebhookSecret } from "../../src/signing/standard-webhooks.ts";
import type { VerifiedWebhook, WebhookHeaders, WebhookVerifier } from "../../src/signing/standard-webhooks.ts";
import { equal, rejects } from "./case.ts";
import type { Case } from "./case.ts";
import { BODY, NOW_MS, reasonOf, REPLY, thrownBy } from "./signing-setting.ts";

const SOURCE = "http.md 2: Scheme standard-webhooks";
const ID = "019ab697-e800-7000-8000-000000000001";
const OLD = parseWebhookSecret(`whsec_${btoa("o".repeat(32))}`);
const NEW = parseWebhookSecret(`whsec_${btoa("n".repeat(32))}`);

function sign(secrets: readonly Uint8Array[], id = ID, body = BODY): Promise<WebhookHeaders> {
  return createWebhookSigner({ secrets, now: () => NOW_MS }).sign({ id, body });
}

function createVerifier(secrets: readonly Uint8Array[], offsetMs = 0, replay?: ReplayStore): WebhookVerifier {
  return createWebhookVerifier({ secrets, replay, now: () => NOW_MS + offsetMs });
}

type Change = Partial<Record<"id" | "timestamp" | "signature", string | null>>;

function toReceived(
  headers: WebhookHeaders,
  change: Change = {},
): { id: string | null; timestamp: string | null; signature: string | null } {
  return {
    id: headers["webhook-id"],
    timestamp: headers["webhook-timestamp"],
    signature: headers["webhook-signature"],
    ...change,
  };
}

function verify(verifier: WebhookVerifier, headers: WebhookHeaders, change: Change = {}): Promise<VerifiedWebhook> {
  const request = { method: "POST", contentType: "application/json", body: BODY };
  return verifier.verify({ ...request, ...toReceived(headers, change) });
}

const requests: readonly Case[] = [
  {
    id: "signing/webhooks: the example of the specification's own library",
    source: "https://github.com/standard-webhooks/standard-webhooks",
    async run() {
      const secret = parseWebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
      const signer = createWebhookSigner({ secrets: [secret], now: () => 1_614_265_330_000 });
      const body = new TextEncoder().encode('{"test": 2432232314}');
      const headers = await signer.sign({ id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body });
      equal(headers, {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      });
    },
  },
  {
    id: "signing/webhooks: while rotating either secret verifies",
    source: "http.md 2: several signatures while rotating",
    async run() {
      const both = await sign([OLD, NEW]);
      equal(both["webhook-signature"].split(" ").length, 2);
      for (const secrets of [[OLD], [NEW], [OLD, NEW], [NEW, OLD]]) {
        equal(await verify(createVerifier(secrets), both), { id: ID, timestampSeconds: NOW_MS / 1000 });
        equal(await reasonOf(verify(createVerifier([OLD, NEW]), await sign([secrets[0] ?? OLD]))), "accepted");
      }
      equal(await reasonOf(verify(createVerifier([NEW]), await sign([OLD]))), "signature_invalid");
    },
  },
  {
    id: "signing/webhooks: five minutes either way",
    source: "http.md 2: 5 min tolerance",
    async run() {
      const headers = await sign([OLD]);
      const at = (offsetMs: number): Promise<string> => reasonOf(verify(createVerifier([OLD], offsetMs), headers));
      equal([await at(300_999), await at(301_000)], ["accepted", "expired"]);
      equal([await at(-300_000), await at(-300_001)], ["accepted", "not_yet_valid"]);
    },
  },
  {
    id: "signing/webhooks: each rule has its reason",
    source: SOURCE,
    async run() {
      const headers = await sign([OLD]);
      const signature = headers["webhook-signature"];
      const rows: readonly (readonly [string, Change])[] = [
        ["accepted", {}],
        ["accepted", { signature: `v1a,AAAA v2,x v1,AAAA ${signature}` }],
        ["signature_missing", { id: null }],
        ["signature_missing", { timestamp: null }],
        ["signature_missing", { signature: "" }],
        ["webhook_id_malformed", { id: `${ID}.1` }],
        ["webhook_id_malformed", { id: "short" }],
        ["webhook_id_malformed", { id: `${ID}, ${ID}` }],
        ["webhook_timestamp_malformed", { timestamp: "1764000000000" }],
        ["webhook_timestamp_malformed", { timestamp: "1764000000abc" }],
        ["webhook_timestamp_malformed", { timestamp: " 1764000000" }],
        ["signature_too_long", { signature: `${signature} ${"v1,x ".repeat(900)}` }],
        ["signature_malformed", { signature: signature.slice(3) }],
        ["signature_malformed", { signature: signature.replace("v1", "v1a") }],
        ["signature_invalid", { signature: signature.toLowerCase() }],
        ["signature_invalid", { signature: signature.slice(0, -1) }],
        ["signature_invalid", { signature: "v1," }],
        ["signature_invalid", { id: ID.replace("1", "2") }],
        ["signature_invalid", { timestamp: "1764000001" }],
      ];
      for (const [reason, change] of rows) {
        equal([change, await reasonOf(verify(createVerifier([OLD]), headers, change))], [change, reason]);
      }
      const request = { method: "POST", contentType: "application/json", body: BODY, ...toReceived(headers) };
      const verifier = createVerifier([OLD]);
      equal(await reasonOf(verifier.verify({ ...request, method: "PUT" })), "not_post");
      equal(await reasonOf(verifier.verify({ ...request, contentType: "text/plain" })), "not_json");
      equal(await reasonOf(verifier.verify({ ...request, body: new Uint8Array(1_048_577) })), "body_too_large");
      equal(await reasonOf(verifier.verify({ ...request, body: REPLY })), "signature_invalid");
    },
  },
  {
    id: "signing/webhooks: with a store a request counts once, and its retry counts",
    source: "http.md 2: replay store",
    async run() {
      const verifier = createVerifier([OLD], 0, createMemoryReplayStore({ now: () => NOW_MS }));
      const headers = await sign([OLD]);
      equal(await reasonOf(verify(verifier, headers)), "accepted");
      equal(await reasonOf(verify(verifier, headers)), "replayed");
      const later = createWebhookSigner({ secrets: [OLD], now: () => NOW_MS + 1000 });
      equal(await reasonOf(verify(verifier, await later.sign({ id: ID, body: BODY }))), "accepted");
      const broken = createVerifier([OLD], 0, { insert: () => Promise.reject(new Error("down")) });
      equal(await reasonOf(verify(broken, headers)), "replay_store_unavailable");
    },
  },
];

const replies: readonly Case[] = [
  {
    id: "signing/webhooks: a reply carries the request's id",
    source: "http.md 2: replies signed the same way with the request's id",
    async run() {
      const request = { id: ID, body: BODY };
      const verifier = createVerifier([OLD, NEW]);
      const reply = { ...toReceived(await sign([NEW], ID, REPLY)), body: REPLY };
      equal(await reasonOf(verifier.verifyReply({ ...reply, request })), "accepted");
      const other = { ...request, id: ID.replace("019", "018") };
      equal(await reasonOf(verifier.verifyReply({ ...reply, request: other })), "webhook_id_mismatch");
      equal(await reasonOf(verifier.verifyReply({ ...reply, body: BODY, request })), "signature_invalid");
      equal(await reasonOf(verifier.verifyReply({ ...reply, signature: null, request })), "signature_missing");
    },
  },
  {
    id: "signing/webhooks: the request sent back is no reply",
    source: "transport-facts.md 1.4: reflection",
    async run() {
      const reply = { ...toReceived(await sign([OLD])), body: BODY.slice() };
      const reflected = createVerifier([OLD]).verifyReply({ ...reply, request: { id: ID, body: BODY } });
      equal(await reasonOf(reflected), "webhook_reflected");
    },
  },
  {
    id: "signing/webhooks: secrets and ids are checked",
    source: "Standard Webhooks: at least 24 bytes, 64 at most",
    async run() {
      equal(parseWebhookSecret(`whsec_${btoa("x".repeat(24))}`).length, 24);
      equal(parseWebhookSecret(`whsec_${btoa("x".repeat(64))}`).length, 64);
      const wrong = [
        btoa("x".repeat(32)),
        `whsec_${btoa("x".repeat(23))}`,
        `whsec_${btoa("x".repeat(65))}`,
        "whsec_",
        `whsec_${"!".repeat(44)}`,
        `whsk_${btoa("x".repeat(32))}`,
      ];
      for (const secret of wrong)
        equal(
          thrownBy(() => parseWebhookSecret(secret)),
          "ERR_CONFIG",
        );
      for (const secrets of [[], [OLD, OLD, OLD, OLD, OLD], [new Uint8Array(23)]]) {
        equal(
          thrownBy(() => createWebhookSigner({ secrets })),
          "RangeError",
        );
        equal(
          thrownBy(() => createWebhookVerifier({ secrets })),
          "RangeError",
        );
      }
      await rejects(sign([OLD], "with.a.dot"), "TypeError");
    },
  },
];

/** The Standard Webhooks scheme. */
export const signingWebhooksCases: readonly Case[] = [...requests, ...replies];
