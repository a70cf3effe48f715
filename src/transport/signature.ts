import { andThen, type MaybePromise } from "../signing/crypto.ts";
import type { ReplyVerifier } from "../signing/reply.ts";
import type { RequestSigner } from "../signing/request.ts";
import type { WebhookSigner, WebhookVerifier } from "../signing/standard-webhooks.ts";
import { SIGNATURE_HEADER } from "../signing/token.ts";
import type { OutgoingBody } from "./http-body.ts";
import type { HttpReply } from "./http-exchange.ts";

/** A request before it is sent. */
export interface MessageToSign {
  /** The JSON-RPC method, or `batch`. */
  readonly method: string;
  /** The call's id, the same on a retry. */
  readonly id: string;
  readonly body: OutgoingBody;
}

/** A signed request, held until its reply is there. */
export interface SignedMessage {
  /** The headers that carry the signature, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Verifies the reply to this very request, before its body is parsed.
   * @throws {VerificationError} with the first rule that is broken
   */
  verify(reply: HttpReply): MaybePromise<unknown>;
}

/** Signs the requests to one endpoint and verifies its replies. Each attempt of a retried call is signed anew. */
export interface MessageSignature {
  /** Whether a reply that was verified proves enough to approve a tool. */
  readonly provesApprovals: boolean;
  sign(message: MessageToSign): MaybePromise<SignedMessage>;
}

/** Computes the `bh` of a body; what is known of its beginning can be used again. */
export type BodyHasher = (body: OutgoingBody) => MaybePromise<string>;

/** What both schemes are asked for. */
interface ReplyOptions {
  /**
   * Whether a reply without a signature is refused. One that has a signature is verified either way, and without this an
   * approval is not taken. @default true
   */
  readonly requireSignedReply?: boolean | undefined;
}

/** Options of {@link createJwsSignature}. */
export interface JwsSignatureOptions extends ReplyOptions {
  readonly signer: RequestSigner;
  /** Absent: there is no key for replies, so `requireSignedReply` must be false. */
  readonly verifier?: ReplyVerifier | undefined;
  /** @default the signer hashes each body as a whole */
  readonly hashBody?: BodyHasher | undefined;
}

/**
 * The scheme `jws`: one token in `hook-signature`, each way.
 * @throws {TypeError} when replies must be signed and there is no verifier
 * @see docs/protocol.md, "Signatures"
 */
export function createJwsSignature(options: JwsSignatureOptions): MessageSignature {
  const { signer, verifier, requireSignedReply = true, hashBody } = options;
  if (requireSignedReply && verifier === undefined) {
    throw new TypeError("verifier must be given, or requireSignedReply must be false");
  }
  return {
    provesApprovals: requireSignedReply,
    sign({ method, body }) {
      const signing = andThen(hashBody?.(body), (bodyHash) =>
        signer.sign(bodyHash === undefined ? { body: body.bytes, method } : { bodyHash, method }),
      );
      return andThen(signing, (request) => ({
        headers: { [SIGNATURE_HEADER]: request.token },
        verify({ head, body: reply }) {
          const signature = head.header(SIGNATURE_HEADER);
          if (signature === undefined && !requireSignedReply) return undefined;
          return verifier?.verify({ signature, status: head.status, body: reply, request });
        },
      }));
    },
  };
}

/** Options of {@link createWebhookSignature}. */
export interface WebhookSignatureOptions extends ReplyOptions {
  readonly signer: WebhookSigner;
  readonly verifier: WebhookVerifier;
  /**
   * Whether an approval is taken. The scheme binds no URL, method or status: a reply proves only that somebody who has
   * the secret wrote it. @default false
   */
  readonly allowWeakApproval?: boolean | undefined;
}

/**
 * The scheme `standard-webhooks`: three headers, each way.
 * @see {@link https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md}
 */
export function createWebhookSignature(options: WebhookSignatureOptions): MessageSignature {
  const { signer, verifier, requireSignedReply = true, allowWeakApproval = false } = options;
  return {
    provesApprovals: requireSignedReply && allowWeakApproval,
    async sign({ id, body }) {
      const request = { id, body: body.bytes };
      return {
        headers: { ...(await signer.sign(request)) },
        async verify({ head, body: reply }) {
          const signature = head.header("webhook-signature");
          if (signature === undefined && !requireSignedReply) return;
          const received = { id: head.header("webhook-id"), timestamp: head.header("webhook-timestamp"), signature };
          await verifier.verifyReply({ ...received, body: reply, request });
        },
      };
    },
  };
}
