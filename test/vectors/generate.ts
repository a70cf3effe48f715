/**
 * Writes signing.json, the vectors of the `jws` scheme: `node test/vectors/generate.ts`.
 * ES256 signatures are randomised, so a run changes those; everything else comes out the same.
 * @module
 */
import { writeFileSync } from "node:fs";
import { acceptedReplies, acceptedRequests } from "./accepted.ts";
import { refusedReplies } from "./refused-replies.ts";
import { refusedRequests } from "./refused-requests.ts";
import { keys, NOW_MS, parties } from "./setting.ts";

const document = {
  about:
    "hookgate signing vectors. Every time is now_ms. A key with a secret is HS256; its bytes are the UTF-8 of the text.",
  now_ms: NOW_MS,
  parties,
  keys,
  accepted: [...acceptedRequests(), ...acceptedReplies()],
  refused: [...refusedRequests(), ...refusedReplies()],
};

writeFileSync(new URL("signing.json", import.meta.url), `${JSON.stringify(document, null, 1)}\n`);
console.log(`${document.accepted.length} accepted, ${document.refused.length} refused`);
