import { type ApprovalLinks, createApprovalLinks } from "../../src/signing/approval-link.ts";
import { createMemoryReplayStore, type ReplayStore } from "../../src/signing/replay.ts";
import { isVerificationError } from "../../src/signing/verification-error.ts";
import { type Case, equal } from "./case.ts";
import { casesOf } from "./fixture.ts";

const SECRET = "a secret of at least thirty-two bytes";
const START_MS = Date.UTC(2026, 10, 1, 12);
const APPROVAL = "0190a000-0000-7000-8000-000000000001";

interface Stage {
  readonly links: ApprovalLinks;
  advance(ms: number): void;
}

async function createStage({ secret = SECRET, issuer = "gate", used }: Options = {}): Promise<Stage> {
  let nowMs = START_MS;
  const now = (): number => nowMs;
  const links = await createApprovalLinks({ secret, issuer, used: used ?? createMemoryReplayStore({ now }), now });
  return {
    links,
    advance(ms) {
      nowMs += ms;
    },
  };
}

interface Options {
  readonly secret?: string;
  readonly issuer?: string;
  readonly used?: ReplayStore;
}

const ANN = { approval: APPROVAL, approver: "ann", expiresAtMs: START_MS + 3_600_000 };

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "taken";
  } catch (error) {
    return isVerificationError(error) ? error.reason : String(error);
  }
}

/** Section "Links" of docs/approvals.md. */
export const approvalLinkCases: readonly Case[] = casesOf(
  { topic: "approval-links", source: "docs/approvals.md, Links" },
  {
    "a-link-names-one-approval-and-one-approver": async () => {
      const { links } = await createStage();
      const { approval, approver, exp } = await links.verify(await links.sign(ANN));
      equal([approval, approver, exp], [APPROVAL, "ann", (START_MS + 3_600_000) / 1000]);
    },
    "looking-at-a-link-does-not-use-it-and-using-it-does-once": async () => {
      const { links } = await createStage();
      const token = await links.sign(ANN);
      for (let look = 0; look < 3; look += 1) await links.verify(token);
      await links.use(await links.verify(token));
      equal(await reasonOf(links.use(await links.verify(token))), "replayed");
    },
    "two-links-for-one-approver-are-each-good-once": async () => {
      const { links } = await createStage();
      for (const token of [await links.sign(ANN), await links.sign(ANN)]) await links.use(await links.verify(token));
    },
    "a-link-ends-with-its-approval": async () => {
      const { links, advance } = await createStage();
      const token = await links.sign(ANN);
      advance(3_600_000 + 31_000);
      equal(await reasonOf(links.verify(token)), "expired");
    },
    "no-link-is-good-for-more-than-thirty-days": async () => {
      const { links } = await createStage();
      const { exp } = await links.verify(await links.sign({ ...ANN, expiresAtMs: START_MS + 1e11 }));
      equal(exp, START_MS / 1000 + 2_592_000);
    },
    "what-another-secret-or-gateway-has-signed-is-refused": async () => {
      const { links } = await createStage();
      const foreign = await createStage({ secret: `${SECRET}!` });
      equal(await reasonOf(links.verify(await foreign.links.sign(ANN))), "kid_unknown");
      const other = await createStage({ issuer: "other" });
      equal(await reasonOf(links.verify(await other.links.sign(ANN))), "iss_mismatch");
    },
    "a-changed-link-is-refused": async () => {
      const { links } = await createStage();
      const token = await links.sign(ANN);
      const [header = "", payload = "", signature = ""] = token.split(".");
      const claims = atob(payload.replaceAll("-", "+").replaceAll("_", "/")).replace('"ann"', '"bob"');
      const forged = btoa(claims).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
      equal(await reasonOf(links.verify(`${header}.${forged}.${signature}`)), "signature_invalid");
      equal(await reasonOf(links.verify("")), "signature_missing");
      equal(await reasonOf(links.verify(`${header}.${payload}.${"A".repeat(43)}`)), "signature_invalid");
    },
    "a-store-that-cannot-tell-uses-no-link": async () => {
      const broken: ReplayStore = { insert: () => Promise.reject(new Error("down")) };
      const { links } = await createStage({ used: broken });
      equal(await reasonOf(links.use(await links.verify(await links.sign(ANN)))), "replay_store_unavailable");
    },
  },
);
