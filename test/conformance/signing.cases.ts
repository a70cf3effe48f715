import { vectors, codeOf } from "../vectors/verify.ts";
import { webCrypto } from "../../src/signing/crypto.ts";
import { equal } from "./case.ts";
import type { Case } from "./case.ts";
import { signingKeysCases } from "./signing-keys.cases.ts";
import { signingRemoteCases } from "./signing-remote.cases.ts";
import { signingReplayCases } from "./signing-replay.cases.ts";
import { signingRulesCases } from "./signing-rules.cases.ts";
import { signingTokensCases } from "./signing-tokens.cases.ts";
import { signingWebhooksCases } from "./signing-webhooks.cases.ts";

const vectorCases: readonly Case[] = [
  {
    id: "signing/vectors that are accepted",
    source: "http.md 2: Signatures",
    async run() {
      for (const vector of vectors.accepted) equal([vector.name, await codeOf(vector, webCrypto)], [vector.name, "ok"]);
    },
  },
  {
    id: "signing/vectors that are refused, each with its code",
    source: "http.md 2: each failure with its own code",
    async run() {
      for (const vector of vectors.refused) {
        equal([vector.name, await codeOf(vector, webCrypto)], [vector.name, vector.code]);
      }
    },
  },
];

/** What the signing modules promise. */
export const signingCases: readonly Case[] = [
  ...vectorCases,
  ...signingTokensCases,
  ...signingRulesCases,
  ...signingKeysCases,
  ...signingReplayCases,
  ...signingRemoteCases,
  ...signingWebhooksCases,
];
