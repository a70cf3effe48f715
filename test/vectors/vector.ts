/** What a vector holds. Neutral, so that every runtime can read it. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

export interface VectorKey {
  readonly kid: string;
  readonly alg: string;
  /** The private JWK, or the text of the shared secret. */
  readonly jwk?: Readonly<Record<string, string>>;
  readonly secret?: string;
}

export type KeyName =
  | "es256"
  | "ed25519"
  | "hs256"
  | "es256_endpoint"
  | "hs256_next"
  | "es256_foreign"
  | "hs256_foreign";

export interface RequestVector {
  readonly kind: "request";
  readonly name: string;
  /** The keys the endpoint trusts. */
  readonly trusted: readonly KeyName[];
  readonly method: string;
  readonly content_type: string | null;
  readonly max_body_bytes?: number;
  readonly body: string;
  readonly header: string | null;
  /** How often the message arrives; only the last arrival is judged. */
  readonly arrivals?: number;
  readonly claims?: Json;
  readonly code?: string;
}

export interface ReplyVector {
  readonly kind: "reply";
  readonly name: string;
  /** The keys the gateway trusts for this endpoint. */
  readonly trusted: readonly KeyName[];
  readonly request: { readonly jti: string; readonly header: string };
  readonly status: number;
  readonly body: string;
  readonly header: string | null;
  readonly claims?: Json;
  readonly code?: string;
}

export type Vector = RequestVector | ReplyVector;

export interface Vectors {
  readonly now_ms: number;
  readonly parties: { readonly gateway: string; readonly endpoint: string; readonly endpoint_url: string };
  readonly keys: Readonly<Record<KeyName, VectorKey>>;
  readonly accepted: readonly Vector[];
  readonly refused: readonly Vector[];
}
