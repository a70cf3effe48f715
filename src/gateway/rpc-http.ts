import { answerEmpty, answerText } from "./answer.ts";
import type { Principal } from "./auth.ts";
import type { RpcAnswer } from "./rpc.ts";

/** Whether a request is a POST to `/rpc`, with whatever query. */
export function isRpc({ method, url }: Request): boolean {
  if (method !== "POST") return false;
  const start = url.indexOf("/", "https://".length);
  return url.startsWith("/rpc", start) && (url.length === start + 4 || url.charAt(start + 4) === "?");
}

/** Answers, with a signature where the caller has signed too. */
export async function toResponse({ status, text }: RpcAnswer, { proof }: Principal): Promise<Response> {
  if (proof === undefined) return text === undefined ? answerEmpty({ status }) : answerText(text, status);
  const headers = await proof.sign({ status, body: text ?? "" });
  return text === undefined ? answerEmpty({ status, headers }) : answerText(text, status, headers);
}
