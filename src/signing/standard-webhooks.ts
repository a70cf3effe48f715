/**
 * Standard Webhooks, version 1 signatures (HMAC-SHA256): the scheme for endpoints that already speak it.
 * It binds no URL, method or status, so each endpoint needs a secret of its own; the `jws` scheme is the stronger one.
 * @see {@link https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md}
 * @module
 */
import { HookgateError } from "../errors.ts";
import { isEqualBytes, webCrypto } from "./crypto.ts";
import type { CryptoPort, Mac } from "./crypto.ts";
import { checkHttp, createBodyLimit } from "./http-message.ts";
import type { ReplayStore } from "./replay.ts";
import { VerificationError } from "./verification-error.ts";

/** Seconds a timestamp may be off, each way. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;
/** The most secrets in use at once; a rotation needs two. */
export const MAX_WEBHOOK_SECRETS = 4;

/** The three headers of a signed message, as they are sent. */
export interface WebhookHeaders {
  readonly "webhook-id": string;
  /** Seconds since the epoch, ten digits. */
  readonly "webhook-timestamp": string;
  /** One `v1,` signature for each secret in use, separated by spaces. */
  readonly "webhook-signature": string;
}

/** The three headers as a host gives them. */
export interface ReceivedWebhookHeaders {
  readonly id: string | null | undefined;
  readonly timestamp: string | null | undefined;
  readonly signature: string | null | undefined;
}

/** What {@link WebhookSigner.sign} signs. */
export interface WebhookToSign {
  /** The call's id, the same on a retry: 8 to 64 letters, digits, `-` or `_`. For a reply, the request's id. */
  readonly id: string;
  readonly body: Uint8Array;
}

/** Signs the requests to an endpoint, or its replies. */
export interface WebhookSigner {
  /**
   * Signs a message with every secret in use.
   * @throws {TypeError} when the id is malformed; a full stop in it would make the signed text ambiguous
   */
  sign(message: WebhookToSign): Promise<WebhookHeaders>;
}

/** Options of {@link createWebhookSigner}. */
export interface WebhookSignerOptions {
  /** 1 to 4 secrets from {@link parseWebhookSecret}; while rotating the old one and the new one. */
  readonly secrets: readonly Uint8Array[];
  /** `@default` {@link webCrypto} */
  readonly crypto?: CryptoPort | undefined;
  /** Milliseconds since the epoch. `@default` `Date.now` */
  readonly now?: (() => number) | undefined;
}

/** A request as it came in. */
export interface WebhookToVerify extends ReceivedWebhookHeaders {
  readonly method: string;
  /** The value of `content-type`. */
  readonly contentType: string | null | undefined;
  /** The raw bytes, not yet parsed. */
  readonly body: Uint8Array;
}

/** A reply as it came in, and the request it must answer. */
export interface WebhookReplyToVerify extends ReceivedWebhookHeaders {
  /** The raw bytes, not yet parsed. */
  readonly body: Uint8Array;
  readonly request: WebhookToSign;
}

/** A message that was verified. */
export interface VerifiedWebhook {
  readonly id: string;
  /** Seconds since the epoch at which it was signed. */
  readonly timestampSeconds: number;
}

/** Verifies the requests to an endpoint, or its replies. */
export interface WebhookVerifier {
  /**
   * Verifies a request.
   * @throws {VerificationError} `not_post`, `not_json`, `body_too_large`, `signature_missing`, `webhook_id_malformed`,
   * `webhook_timestamp_malformed`, `signature_too_long`, `expired`, `not_yet_valid`, `signature_malformed` when there is
   * no `v1` signature, `signature_invalid`, `replayed`, `replay_store_unavailable`
   */
  verify(request: WebhookToVerify): Promise<VerifiedWebhook>;
  /**
   * Verifies a reply against the request that is held.
   * @throws {VerificationError} as for a request from `signature_missing` to `signature_invalid`, then
   * `webhook_id_mismatch`, `webhook_reflected` when the body is the request's own
   */
  verifyReply(reply: WebhookReplyToVerify): Promise<VerifiedWebhook>;
}

/** Options of {@link createWebhookVerifier}. */
export interface WebhookVerifierOptions extends WebhookSignerOptions {
  /** Refuses a request that was seen before. Absent: a request can be replayed for as long as the tolerance. */
  readonly replay?: ReplayStore | undefined;
  /** The most bytes a request's body may have. `@default` 1048576 */
  readonly maxBodyBytes?: number | undefined;
}

const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const ID = /^[A-Za-z0-9_-]{8,64}$/;
const TIMESTAMP = /^[1-9]\d{9}$/;
const MAX_HEADER_LENGTH = 4096;
const encoder = new TextEncoder();

/**
 * Reads a secret: `whsec_` and 24 to 64 bytes in base64.
 * @throws {HookgateError} `ERR_CONFIG` when it is anything else
 */
export function parseWebhookSecret(value: string): Uint8Array {
  const text = typeof value === "string" && value.startsWith(PREFIX) ? value.slice(PREFIX.length) : "";
  const secret = BASE64.test(text) ? Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0)) : new Uint8Array();
  if (secret.length < 24 || secret.length > 64) {
    throw new HookgateError("ERR_CONFIG", `a webhook secret must be "whsec_" and 24 to 64 bytes in base64`);
  }
  return secret;
}

function createMacs(secrets: readonly Uint8Array[], port: CryptoPort): readonly Mac[] {
  if (secrets.length < 1 || secrets.length > MAX_WEBHOOK_SECRETS) {
    throw new RangeError(`secrets must list 1 to ${MAX_WEBHOOK_SECRETS} secrets, got ${secrets.length}`);
  }
  return secrets.map((secret) => {
    if (secret.length < 24) throw new RangeError(`a webhook secret must have at least 24 bytes, got ${secret.length}`);
    return port.hmac(secret);
  });
}

function toSignedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array {
  const head = encoder.encode(`${id}.${timestamp}.`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

async function createSignature(mac: Mac, bytes: Uint8Array): Promise<string> {
  return `v1,${btoa(String.fromCharCode(...(await mac(bytes))))}`;
}

/**
 * Makes a signer, for requests and for replies alike.
 * @throws {RangeError} when there are no secrets, more than 4, or one is shorter than 24 bytes
 */
export function createWebhookSigner(options: WebhookSignerOptions): WebhookSigner {
  const { crypto: port = webCrypto, now = Date.now } = options;
  const macs = createMacs(options.secrets, port);
  return Object.freeze({
    async sign({ id, body }: WebhookToSign): Promise<WebhookHeaders> {
      if (!ID.test(id)) throw new TypeError("id must be 8 to 64 letters, digits, - or _");
      const timestamp = String(Math.floor(now() / 1000));
      const bytes = toSignedBytes(id, timestamp, body);
      const signatures = await Promise.all(macs.map((mac) => createSignature(mac, bytes)));
      return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
    },
  });
}

interface Checked extends VerifiedWebhook {
  readonly timestamp: string;
  readonly signatures: readonly string[];
}

function checkHeaders({ id, timestamp, signature }: ReceivedWebhookHeaders, nowMs: number): Checked {
  if (!id || !timestamp || !signature) throw new VerificationError("signature_missing");
  if (!ID.test(id)) throw new VerificationError("webhook_id_malformed");
  if (!TIMESTAMP.test(timestamp)) throw new VerificationError("webhook_timestamp_malformed");
  if (signature.length > MAX_HEADER_LENGTH) throw new VerificationError("signature_too_long");
  const timestampSeconds = Number(timestamp);
  const ageSeconds = Math.floor(nowMs / 1000) - timestampSeconds;
  if (ageSeconds > WEBHOOK_TOLERANCE_SECONDS) throw new VerificationError("expired");
  if (ageSeconds < -WEBHOOK_TOLERANCE_SECONDS) throw new VerificationError("not_yet_valid");
  const signatures = signature.split(" ").filter((entry) => entry.startsWith("v1,"));
  if (signatures.length === 0) throw new VerificationError("signature_malformed");
  return { id, timestamp, timestampSeconds, signatures };
}

async function checkSignature(checked: Checked, body: Uint8Array, macs: readonly Mac[]): Promise<void> {
  const bytes = toSignedBytes(checked.id, checked.timestamp, body);
  const received = checked.signatures.map((entry) => encoder.encode(entry));
  for (const mac of macs) {
    const expected = encoder.encode(await createSignature(mac, bytes));
    if (received.some((entry) => isEqualBytes(entry, expected))) return;
  }
  throw new VerificationError("signature_invalid");
}

async function insertOnce(store: ReplayStore, { id, timestamp, timestampSeconds }: Checked): Promise<void> {
  let isNew: boolean;
  try {
    // With the timestamp: a retry keeps the id, and its signature is of another second.
    isNew = await store.insert(`${id}.${timestamp}`, (timestampSeconds + WEBHOOK_TOLERANCE_SECONDS + 1) * 1000);
  } catch (cause) {
    throw new VerificationError("replay_store_unavailable", { cause });
  }
  if (!isNew) throw new VerificationError("replayed");
}

/**
 * Makes a verifier, for requests and for replies.
 * @throws {RangeError} when there are no secrets, more than 4, or one is shorter than 24 bytes, or when `maxBodyBytes` is
 * not a positive integer
 */
export function createWebhookVerifier(options: WebhookVerifierOptions): WebhookVerifier {
  const { crypto: port = webCrypto, now = Date.now, replay } = options;
  const macs = createMacs(options.secrets, port);
  const maxBodyBytes = createBodyLimit(options.maxBodyBytes);
  return Object.freeze({
    async verify(request: WebhookToVerify): Promise<VerifiedWebhook> {
      checkHttp(request, maxBodyBytes);
      const checked = checkHeaders(request, now());
      await checkSignature(checked, request.body, macs);
      if (replay !== undefined) await insertOnce(replay, checked);
      return { id: checked.id, timestampSeconds: checked.timestampSeconds };
    },
    async verifyReply(reply: WebhookReplyToVerify): Promise<VerifiedWebhook> {
      const checked = checkHeaders(reply, now());
      await checkSignature(checked, reply.body, macs);
      if (checked.id !== reply.request.id) throw new VerificationError("webhook_id_mismatch");
      // One secret signs both ways, so our own request would verify as its reply.
      if (isEqualBytes(reply.body, reply.request.body)) throw new VerificationError("webhook_reflected");
      return { id: checked.id, timestampSeconds: checked.timestampSeconds };
    },
  });
}
