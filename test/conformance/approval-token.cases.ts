import {
  createHumanApprovalHook,
  requireSignedApproval,
  toArgumentsHash,
  toCallHash,
} from "../../src/approvals/index.ts";
import { type ApprovalDecision, HookManager, type HostPayload, type ToolCall } from "../../src/picoclaw/index.ts";
import {
  type ApprovalSigner,
  type ApprovalToSign,
  type ApprovalVerifier,
  createApprovalSigner,
  createApprovalVerifier,
  type HeldAct,
} from "../../src/signing/approval-token.ts";
import { toBase64Url } from "../../src/signing/base64url.ts";
import { createMemoryReplayStore } from "../../src/signing/replay.ts";
import { createReplySigner } from "../../src/signing/reply.ts";
import { storeUnavailable } from "../../src/approvals/index.ts";
import { type Case, equal } from "./case.ts";
import { META, casesOf, outcomesOf, remoteHook, toolCall } from "./fixture.ts";
import { openHumanStage } from "./human-approval-stage.ts";
import { createSide, GATEWAY, NOW_MS, reasonOf, type Side } from "./signing-setting.ts";

const DESK = "approval-desk";
const ARGS = { command: "ls", list: [1, { deep: "\u00FC" }] };
const ID = "0199a0f0-0000-7000-8000-000000000001";

async function heldOf(changes: Partial<HeldAct> = {}): Promise<HeldAct> {
  const bound = { agent: "main", session: "s", tool: "bash", arguments: ARGS };
  const call = await toCallHash(bound);
  return { tool: "bash", ah: await toArgumentsHash(ARGS), call, dec: "allow", ...changes };
}

async function toSign(changes: Partial<ApprovalToSign> = {}): Promise<ApprovalToSign> {
  const { tool, ah, call } = await heldOf();
  return { jti: ID, sub: "ann", act: { tool, ah, call }, dec: "allow", scope: "once", ...changes };
}

interface Stage {
  readonly side: Side;
  readonly signer: ApprovalSigner;
  readonly verifier: ApprovalVerifier;
}

async function openStage({
  alg = "ES256",
  now = () => NOW_MS,
}: { readonly alg?: "ES256" | "EdDSA" | "HS256"; readonly now?: () => number } = {}): Promise<Stage> {
  const side = await createSide(alg);
  const replay = createMemoryReplayStore({ now });
  return {
    side,
    signer: createApprovalSigner({ key: side.key, issuer: DESK, audience: GATEWAY, now: () => NOW_MS }),
    verifier: createApprovalVerifier({ keys: side.keys, issuer: DESK, audience: GATEWAY, replay, now }),
  };
}

/** A token with other claims under its old signature. */
function withPayload(token: string, changes: object): string {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claims: unknown = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
  const text = JSON.stringify({ ...(claims as object), ...changes });
  return [header, toBase64Url(new TextEncoder().encode(text)), signature].join(".");
}

/** A token of these claims, whatever they are. */
function signAs(side: Side, claims: object): Promise<string> {
  const sign = side.key.prepare({ typ: "hook-approval+jwt" });
  return Promise.resolve(sign(JSON.stringify(claims)));
}

const IAT = NOW_MS / 1000;

async function claimsOf(changes: object = {}): Promise<object> {
  return { iss: DESK, aud: GATEWAY, iat: IAT, exp: IAT + 300, ...(await toSign()), ...changes };
}

/** What the claims of a token must not be, and the reason it is refused for. */
const WRONG_CLAIMS: Readonly<Record<string, readonly [reason: string, changes: object]>> = {
  "another gateway": ["aud_mismatch", { aud: "https://other.example.com" }],
  "several gateways": ["aud_mismatch", { aud: [GATEWAY] }],
  "another service": ["iss_mismatch", { iss: "desk" }],
  "no end": ["time_malformed", { exp: undefined }],
  "a life that is too long": ["lifetime_too_long", { exp: IAT + 3601 }],
  "a time that is over": ["expired", { iat: IAT - 400, exp: IAT - 31 }],
  "a time that has not begun": ["not_yet_valid", { iat: IAT + 31, exp: IAT + 60 }],
  "no act": ["approval_act_mismatch", { act: undefined }],
  "an act that is a text": ["approval_act_mismatch", { act: "bash" }],
  "an id that is too short": ["jti_malformed", { jti: "1" }],
  "no id": ["jti_malformed", { jti: undefined }],
  "no person": ["approval_sub_malformed", { sub: "" }],
  "a denial": ["approval_dec_mismatch", { dec: "deny" }],
  "no decision": ["approval_dec_mismatch", { dec: undefined }],
};

/** Acts that are not the call that is held. */
const WRONG_ACTS: Readonly<Record<string, Partial<HeldAct>>> = {
  "another tool": { tool: "Bash" },
  "other arguments": { ah: "YWJj" },
  "another session": { call: "0".repeat(64) },
};

const verifying: Readonly<Record<string, () => Promise<void>>> = {
  "a decision that was signed counts for the call it was taken for, once": async () => {
    for (const alg of ["ES256", "EdDSA", "HS256"] as const) {
      const { signer, verifier } = await openStage({ alg });
      const token = await signer.sign(await toSign({ scope: "hour" }));
      const { sub, jti, scope, exp } = await verifier.verify(token, await heldOf());
      equal([sub, jti, scope, exp], ["ann", ID, "hour", IAT + 300]);
      equal(await reasonOf(verifier.verify(token, await heldOf())), "replayed");
      const again = await signer.sign(await toSign({ scope: "session" }));
      equal(await reasonOf(verifier.verify(again, await heldOf())), "replayed");
    }
  },
  "a decision counts once until it has expired": async () => {
    let nowMs = NOW_MS;
    const { signer, verifier } = await openStage({ now: () => nowMs });
    const token = await signer.sign(await toSign());
    await verifier.verify(token, await heldOf());
    for (const [ms, reason] of [
      [329_999, "replayed"],
      [1, "expired"],
    ] as const) {
      nowMs += ms;
      equal(await reasonOf(verifier.verify(token, await heldOf())), reason);
    }
  },
  "one that is refused is not used up by it": async () => {
    const { signer, verifier } = await openStage();
    const token = await signer.sign(await toSign());
    equal(await reasonOf(verifier.verify(token, await heldOf({ tool: "rm" }))), "approval_act_mismatch");
    equal(await reasonOf(verifier.verify(token, await heldOf())), "accepted");
  },
  "a decision of another key does not count": async () => {
    const { verifier, side } = await openStage();
    const other = await createSide("ES256");
    const forger = createApprovalSigner({ key: other.key, issuer: DESK, audience: GATEWAY, now: () => NOW_MS });
    const forged = await forger.sign(await toSign());
    equal(await reasonOf(verifier.verify(forged, await heldOf())), "kid_unknown");
    const [, payload, signature] = forged.split(".");
    const [header] = (await signAs(side, await claimsOf())).split(".");
    equal(await reasonOf(verifier.verify([header, payload, signature].join("."), await heldOf())), "signature_invalid");
  },
  "a decision cannot be widened on its way": async () => {
    const { signer, verifier } = await openStage();
    const token = await signer.sign(await toSign({ dec: "deny" }));
    const other = await heldOf({ tool: "rm", dec: "allow" });
    for (const changes of [
      { dec: "allow" },
      { scope: "session" },
      { act: other },
      { exp: IAT + 3600 },
      { jti: `${ID}x` },
    ]) {
      equal(await reasonOf(verifier.verify(withPayload(token, changes), other)), "signature_invalid");
    }
  },
  "a token of another kind is no decision": async () => {
    const { verifier, side } = await openStage();
    const replies = createReplySigner({ key: side.key, issuer: DESK, now: () => NOW_MS });
    const request = { token: "a.b.c", claims: { iss: GATEWAY, jti: ID } } as never;
    const token = await replies.sign({ request, status: 200, body: new Uint8Array() });
    equal(await reasonOf(verifier.verify(token, await heldOf())), "typ_mismatch");
  },
  "a decision without its session fits any, where the service knows none": async () => {
    const { signer, verifier } = await openStage();
    const { tool, ah } = await heldOf();
    const token = await signer.sign(await toSign({ act: { tool, ah } }));
    equal(await reasonOf(verifier.verify(token, await heldOf())), "accepted");
  },
  "a store that cannot tell lets nothing through": async () => {
    const { signer, side } = await openStage();
    const replay = { insert: () => Promise.reject(storeUnavailable("it is down")) };
    const options = { keys: side.keys, issuer: DESK, audience: GATEWAY, replay, now: () => NOW_MS };
    const token = await signer.sign(await toSign());
    const verifier = createApprovalVerifier(options);
    equal(await reasonOf(verifier.verify(token, await heldOf())), "replay_store_unavailable");
  },
  ...Object.fromEntries(
    Object.entries(WRONG_CLAIMS).map(([what, [reason, changes]]) => [
      `a decision does not count with ${what}`,
      async (): Promise<void> => {
        const { side, verifier } = await openStage();
        const token = await signAs(side, await claimsOf(changes));
        equal(await reasonOf(verifier.verify(token, await heldOf())), reason);
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(WRONG_ACTS).map(([what, changes]) => [
      `a decision does not count for ${what}`,
      async (): Promise<void> => {
        const { signer, verifier } = await openStage();
        const token = await signer.sign(await toSign());
        equal(await reasonOf(verifier.verify(token, await heldOf(changes))), "approval_act_mismatch");
      },
    ]),
  ),
};

interface Chain {
  /** Asks the outer gateway. */
  ask(call?: HostPayload<ToolCall>): Promise<ApprovalDecision>;
  /** Approves what is pending at the inner one. */
  approve(scope?: "once" | "hour"): Promise<void>;
  /** What the inner one has answered. */
  readonly replies: Record<string, unknown>[];
  /** Changes what the inner one answers, on its way. */
  tamper: (reply: Record<string, unknown>) => unknown;
}

/** A gateway that asks another one, which asks people. */
async function openChain(): Promise<Chain> {
  const side = await createSide("ES256");
  const inner = await openHumanStage();
  const { clock } = inner;
  const parts = {
    approvals: inner.approvals,
    signerFor: (audience: string) => createApprovalSigner({ key: side.key, issuer: DESK, audience, now: clock.now }),
  };
  const times = { expires_ms: 60_000, use_within_ms: 60_000, wait_ms: 0, denial_holds_ms: 0 };
  const rule = { require: 1, approvers: [], ...times, reason: "r" };
  const people = createHumanApprovalHook({ rules: [rule], sign_for: GATEWAY }, parts);
  const innerHost = new HookManager();
  await innerHost.mount(people, { name: "human_approval" });
  const chain: Chain = {
    replies: [],
    tamper: (reply) => reply,
    ask: (call = toolCall()) => outer.approveTool(call),
    async approve(scope = "once") {
      const { approvals } = await inner.store.list({ status: "pending", maxApprovals: 1 });
      await inner.decide(approvals[0]?.id ?? "", "approve", { scope });
    },
  };
  const { port } = remoteHook(["approve_tool"], () => ({}));
  const relay = {
    ...port,
    async call(_point: string, { value }: { readonly value: object }): Promise<unknown> {
      const { trace: _, ...reply } = await innerHost.approveTool(value as HostPayload<ToolCall>);
      chain.replies.push(reply);
      return chain.tamper(structuredClone(reply));
    },
  };
  const replay = createMemoryReplayStore({ now: clock.now });
  const verifier = createApprovalVerifier({ keys: side.keys, issuer: DESK, audience: GATEWAY, replay, now: clock.now });
  const outer = new HookManager();
  await outer.mount(requireSignedApproval(relay, { verifier }), { name: "desk" });
  return chain;
}

function tokenIn(reply: Readonly<Record<string, unknown>>): unknown {
  return (reply["approval"] as { readonly token?: unknown }).token;
}

const chained: Readonly<Record<string, () => Promise<void>>> = {
  "what people approved at another gateway counts here, once, and its token goes no further": async () => {
    const { ask, approve } = await openChain();
    const pending = await ask();
    equal([pending.approved, pending.approval?.status], [false, "pending"]);
    await approve();
    const { approved, approval } = await ask();
    equal([approved, approval], [true, { id: pending.approval?.id, status: "approved", by: "ann", scope: "once" }]);
    equal((await ask()).approval?.status, "pending");
  },
  "what was approved for an hour is signed for each use": async () => {
    const { ask, approve, replies } = await openChain();
    await ask();
    await approve("hour");
    equal([(await ask()).approved, (await ask()).approved], [true, true]);
    equal(new Set(replies.map(tokenIn)).size, 3);
  },
  "a denial says by whom, and counts without a signature": async () => {
    const chain = await openChain();
    chain.tamper = () => ({ approved: false, reason: "no" });
    const { approved, reason } = await chain.ask();
    equal([approved, reason], [false, "no"]);
  },
  "whoever is in between can neither approve, nor replay, nor put an approval to another use": async () => {
    const chain = await openChain();
    const outcome = async (call?: HostPayload<ToolCall>): Promise<readonly string[]> => {
      const answer = await chain.ask(call);
      equal(answer.approved, false);
      return outcomesOf(answer);
    };
    chain.tamper = (reply) => ({ ...reply, approved: true });
    equal(await outcome(), ["desk: unsigned_reply"]);
    await chain.approve();
    let held: unknown;
    chain.tamper = (reply) => {
      held = structuredClone(reply);
      return { ...reply, approval: { ...(reply["approval"] as object), token: "a.b.c" } };
    };
    equal(await outcome(), ["desk: bad_signature"]);
    chain.tamper = () => held;
    equal(await outcome(toolCall({ command: "rm" })), ["desk: bad_signature"]);
    equal(await outcome({ ...toolCall(), tool: "rm" }), ["desk: bad_signature"]);
    equal(await outcome({ ...toolCall(), meta: { ...META, SessionKey: "other" } }), ["desk: bad_signature"]);
    equal((await chain.ask()).approved, true);
    equal(await outcome(), ["desk: replayed_reply"]);
  },
};

/** Approvals that are signed from end to end. */
export const approvalTokenCases: readonly Case[] = casesOf(
  { topic: "approval-token", source: "Human approvals, 6" },
  { ...verifying, ...chained },
);
