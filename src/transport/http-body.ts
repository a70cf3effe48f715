import type { OutgoingMessage } from "./contract.ts";

/** The beginning that the bodies of one payload share, whichever hook they go to. Its identity stands for its bytes. */
export interface BodyHead {
  readonly bytes: Uint8Array;
}

/** The body of a request, and what of it was there before. */
export interface OutgoingBody {
  readonly bytes: Uint8Array;
  /** `bytes` begins with it; absent when nothing is known to be shared. */
  readonly head?: BodyHead;
}

interface CachedHead extends BodyHead {
  readonly method: string;
  readonly params: string;
}

/** Encodes a text in UTF-8. */
export type EncodeText = (text: string) => Uint8Array;

const encoder = new TextEncoder();
const encodeText: EncodeText = (text) => encoder.encode(text);
const TAIL = '"}';
/** Shorter params are encoded anew for every hook: that costs less than putting a body together from two parts. */
const MIN_SHARED_CHARS = 4096;
const ID_LENGTH = 36;

/** By payload, so that what was encoded goes when the payload goes. */
const heads = new WeakMap<object, CachedHead>();

/**
 * Encodes one JSON-RPC 2.0 request. The id stands last and has a fixed length: all that comes before it is encoded once
 * for a payload, and can be hashed once.
 * @param id - 36 ASCII characters
 */
export function encodeRequest(
  { method, params, payload }: OutgoingMessage,
  id: string,
  encode: EncodeText = encodeText,
): OutgoingBody {
  const isShared = payload !== undefined && params.length >= MIN_SHARED_CHARS;
  const cached = isShared ? heads.get(payload) : undefined;
  if (cached?.method === method && cached.params === params) return complete(cached, id);
  const text = `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params},"id":"`;
  if (!isShared) return { bytes: encode(text + id + TAIL) };
  const head: CachedHead = { bytes: encoder.encode(text), method, params };
  heads.set(payload, head);
  return complete(head, id);
}

function complete(head: BodyHead, id: string): OutgoingBody {
  const { length } = head.bytes;
  const bytes = new Uint8Array(length + ID_LENGTH + TAIL.length);
  bytes.set(head.bytes);
  encoder.encodeInto(id + TAIL, bytes.subarray(length));
  return { bytes, head };
}

/** Encodes notifications, each as {@link encodeNotification} made it, as one JSON-RPC 2.0 batch. */
export function encodeBatch(notifications: readonly string[]): OutgoingBody {
  return { bytes: encoder.encode(`[${notifications.join(",")}]`) };
}

/** One JSON-RPC 2.0 notification as JSON text. */
export function encodeNotification({ method, params }: OutgoingMessage): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`;
}
