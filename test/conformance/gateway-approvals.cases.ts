import type { Approval } from "../../src/approvals/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { openApprovalGateway, outcome, toApproval } from "./gateway-approvals-stage.ts";
import { callText, errorOf, gatewayOf, requestOf, resultOf, tokenOf } from "./gateway-fixture.ts";

const SOURCE = "Human approvals, 3";

const CALL = callText("hook.check_tool", { tool: "exec", arguments: { command: "ls" } });

/** Asking, looking and deciding over HTTP. */
export const approvalRouteCases: readonly Case[] = casesOf(
  { topic: "gateway-approvals", source: SOURCE },
  {
    "a call waits for people, is approved over HTTP and goes on once": async () => {
      const { at, send } = await openApprovalGateway();
      const ask = async (): Promise<unknown> => resultOf((await send("/rpc", JSON.parse(CALL))).json);
      const first = (await ask()) as { readonly approved: unknown; readonly approval: Record<string, string> };
      const { id = "", poll = "", status } = first.approval;
      equal([first.approved, status], [false, "pending"]);
      equal(outcome(await at(poll.replace("wait=55", "wait=0"))), [200, "pending"]);
      const decided = await send(`/v1/approvals/${id}/decision`, { decision: "approve", comment: "fine" });
      const { votes, call } = toApproval(decided.json);
      equal(
        [decided.status, votes.map(({ by, how, via, comment }) => [by, how, via, comment])],
        [200, [["anonymous", "token", undefined, "fine"]]],
      );
      equal(/^[\da-f]{64}$/.test(call), true);
      const second = (await ask()) as { readonly approved: unknown };
      equal([second.approved, outcome(await at(`/v1/approvals/${id}`))], [true, [200, "consumed"]]);
      const third = (await ask()) as { readonly approved: unknown; readonly approval: Record<string, string> };
      equal([third.approved, third.approval["id"] === id], [false, false]);
    },
    "approvals are listed by status and in pages, the newest first": async () => {
      const { at, pend, decide, clock } = await openApprovalGateway();
      const ids: string[] = [];
      for (const command of ["a", "b", "c"]) {
        clock.nowMs += 1;
        ids.unshift(await pend({ command }));
      }
      const [newest = "", middle = "", oldest = ""] = ids;
      await decide(middle, "deny");
      const pageAt = async (path: string): Promise<readonly [readonly string[], unknown]> => {
        const { json } = await at(path);
        const { approvals, next } = json as { readonly approvals: readonly Approval[]; readonly next: unknown };
        return [approvals.map(({ id }) => id), next];
      };
      equal(await pageAt("/v1/approvals"), [ids, null]);
      equal(await pageAt("/v1/approvals?status=pending"), [[newest, oldest], null]);
      const [first, next] = await pageAt("/v1/approvals?status=pending&limit=1");
      equal(first, [newest]);
      equal(await pageAt(`/v1/approvals?status=pending&limit=1&cursor=${String(next)}`), [[oldest], null]);
    },
    "what is masked is masked, and the rest is shown whole": async () => {
      const masks = [["arguments", "password"]] as const;
      const { at, pend } = await openApprovalGateway({}, {}, { masks });
      const { text, json } = await at(`/v1/approvals/${await pend({ password: "hunter2", command: "ls" })}`);
      equal(toApproval(json).arguments, { password: "[masked]", command: "ls" });
      ok(!text.includes("hunter2"), "the secret shows");
    },
    "what cannot be decided any more says why": async () => {
      const { send, pend, decide, approvals, clock } = await openApprovalGateway({ expires_ms: 60_000 });
      const say = async (id: string, body: object = { decision: "approve" }): Promise<readonly unknown[]> =>
        outcome(await send(`/v1/approvals/${id}/decision`, body));
      const denied = await pend({ n: 1 });
      await decide(denied, "deny");
      const used = await pend({ n: 2 });
      await approvals.use((await decide(used)).call);
      const cancelled = await pend({ n: 3 });
      await approvals.cancel(cancelled);
      const left = await pend({ n: 4 });
      const other = await pend({ n: 5 });
      equal(await say(denied), [409, "already_decided"]);
      equal(await say(used), [409, "already_consumed"]);
      equal(await say(cancelled), [409, "cancelled"]);
      equal(await say(other, { decision: "approve", call: "0".repeat(64) }), [403, "other_call"]);
      equal(await say(crypto.randomUUID()), [404, "not_found"]);
      equal(await say("..%2f..%2fx"), [404, "not_found"]);
      clock.advance(60_000);
      equal(await say(left), [410, "expired"]);
    },
    "one person counts once, and others are no approvers": async () => {
      const [ann, ben, eve] = [
        await tokenOf("ann", "approve"),
        await tokenOf("ben", "approve"),
        await tokenOf("eve", "approve"),
      ];
      const tokens = [ann.known, ben.known, eve.known];
      const { send, pend, approvals } = await openApprovalGateway(
        { require: 2, approvers: ["ann", "ben"] },
        { auth: { tokens } },
      );
      const id = await pend();
      const say = async (who: typeof ann, more: object = {}): Promise<readonly unknown[]> =>
        outcome(await send(`/v1/approvals/${id}/decision`, { decision: "approve", ...more }, who.headers));
      equal(await say(eve), [403, "not_an_approver"]);
      // A name alone makes nobody an approver.
      equal(await say(eve, { by: "ann" }), [403, "not_a_speaker"]);
      equal(await say(ann), [200, "pending"]);
      equal(await say(ann), [409, "decided_twice"]);
      equal(await say(ann, { by: "ben" }), [403, "not_a_speaker"]);
      equal(await say(ben, { by: "ben" }), [200, "approved"]);
      equal(
        (await approvals.get(id)).votes.map(({ by, via }) => [by, via]),
        [
          ["ann", undefined],
          ["ben", undefined],
        ],
      );
    },
    "a bot names the person it speaks for, and is named itself": async () => {
      const [bot, desk] = [await tokenOf("bot", "approve"), await tokenOf("desk", "approve")];
      const tokens = [
        { ...bot.known, speaksFor: ["ann", "ben"] },
        { ...desk.known, speaksFor: "anyone" as const },
      ];
      const { send, pend } = await openApprovalGateway({ require: 2, approvers: ["ann", "cem"] }, { auth: { tokens } });
      const id = await pend();
      const say = (who: typeof bot, body: object): ReturnType<typeof send> =>
        send(`/v1/approvals/${id}/decision`, { decision: "approve", ...body }, who.headers);
      const nobody = await say(bot, {});
      equal([nobody.status, errorOf(nobody.json).message.startsWith("by: expected")], [400, true]);
      equal(outcome(await say(bot, { by: "cem" })), [403, "not_a_speaker"]);
      equal(outcome(await say(bot, { by: "ben" })), [403, "not_an_approver"]);
      equal(outcome(await say(bot, { by: "bot" })), [403, "not_a_speaker"]);
      equal(outcome(await say(bot, { by: "ann" })), [200, "pending"]);
      const { json } = await say(desk, { by: "cem" });
      equal(
        toApproval(json).votes.map(({ by, via, how }) => [by, via, how]),
        [
          ["ann", "bot", "token"],
          ["cem", "desk", "token"],
        ],
      );
    },
    "what is sent is checked": async () => {
      const { at, send, pend, approvals } = await openApprovalGateway();
      const id = await pend();
      const path = `/v1/approvals/${id}/decision`;
      for (const body of [
        {},
        [],
        "approve",
        { decision: "yes" },
        { decision: "APPROVE" },
        { decision: "approve", scope: "ever" },
        { decision: "approve", force: true },
        { decision: "approve", comment: "x".repeat(2001) },
        { decision: "approve", by: "" },
        { decision: "approve", by: " ann" },
        { decision: "approve", by: "a\u202en" },
        { decision: "approve", by: "a".repeat(301) },
        { decision: "approve", call: "0" },
      ]) {
        const { status, json } = await send(path, body);
        equal([status, typeof errorOf(json).message], [400, "string"]);
      }
      equal((await at(path, { method: "POST", body: "{" })).status, 400);
      equal((await at(path, { method: "POST", body: new Uint8Array([0xff]) })).status, 400);
      equal((await at(path, { method: "POST", body: "x".repeat(16_385) })).status, 413);
      const plain = { "content-type": "text/plain" };
      equal((await send(path, { decision: "approve" }, plain)).status, 415);
      for (const query of ["status=open", "limit=0", "limit=501", "limit=x", "cursor=a'b", "state=pending"]) {
        equal((await at(`/v1/approvals?${query}`)).status, 400);
      }
      for (const route of ["/v1/approvals", "/v1/grants"]) {
        for (const cursor of ["zz", "", "0", id.toUpperCase(), `${id}0`]) {
          const { status, json } = await at(`${route}?cursor=${cursor}`);
          equal([status, errorOf(json).message], [400, "cursor: expected the next of another page"]);
        }
        equal((await at(`${route}?cursor=${id}`)).status, 200);
      }
      for (const query of ["wait=61", "wait=-1", "wait=1.5", "wait=", "for=5"]) {
        equal((await at(`/v1/approvals/${id}?${query}`)).status, 400);
      }
      equal((await approvals.get(id)).status, "pending");
    },
    "only a POST decides, of one who may, and no cookie will do": async () => {
      const names = ["call", "observe", "admin", "approve", "register"] as const;
      const parts = await Promise.all(names.map((scope) => tokenOf(scope, scope)));
      const { at, send, pend, approvals } = await openApprovalGateway(
        {},
        { auth: { tokens: parts.map(({ known }) => known) } },
      );
      const id = await pend();
      const path = `/v1/approvals/${id}/decision`;
      for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH"]) {
        const { status, headers } = await at(path, { method, headers: { ...parts[3]?.headers, purpose: "prefetch" } });
        equal([status, headers.get("allow")], [405, "POST"]);
      }
      const yes = { decision: "approve" };
      equal((await send(path, yes)).status, 401);
      equal((await send(path, yes, { cookie: `hookgate_session=${"a".repeat(64)}` })).status, 401);
      const statuses = async (
        request: (headers: Record<string, string>) => Promise<{ readonly status: number }>,
      ): Promise<readonly number[]> => {
        const found: number[] = [];
        // One after the other: the first who may settles it.
        for (const { headers } of parts) found.push((await request(headers)).status);
        return found;
      };
      equal(await statuses((headers) => at(`/v1/approvals/${id}`, { headers })), [200, 200, 200, 200, 403]);
      equal(await statuses((headers) => at("/v1/approvals", { headers })), [403, 200, 200, 200, 403]);
      equal(await statuses((headers) => at("/v1/grants", { headers })), [403, 200, 200, 200, 403]);
      equal((await approvals.get(id)).status, "pending");
      equal(await statuses((headers) => send(path, yes, headers)), [403, 403, 403, 200, 403]);
      equal(await statuses((headers) => send(`/v1/approvals/${id}/cancel`, {}, headers)), [403, 403, 200, 409, 403]);
      const foreign = { ...parts[3]?.headers, origin: "https://evil.example" };
      equal((await send(path, yes, foreign)).status, 403);
    },
    "a request that is signed decides nothing: its path is not": async () => {
      const proof = { checkMessage: () => {}, sign: async () => ({}) };
      const principal = { name: "host", scopes: new Set(["approve"] as const), proof };
      const { send, pend, approvals } = await openApprovalGateway({}, { auth: { authenticators: [() => principal] } });
      const id = await pend();
      equal((await send(`/v1/approvals/${id}/decision`, { decision: "approve" })).status, 403);
      equal((await send(`/v1/approvals/${id}/cancel`, {})).status, 403);
      equal((await approvals.get(id)).status, "pending");
    },
    "a store that is down is said, and nothing is approved": async () => {
      const stage = await openApprovalGateway();
      const { at, send, pend, approvals } = stage;
      const id = await pend();
      stage.store.isDown = true;
      for (const answer of [
        await send(`/v1/approvals/${id}/decision`, { decision: "approve" }),
        await send(`/v1/approvals/${id}/cancel`, {}),
        await at("/v1/approvals"),
        await at(`/v1/approvals/${id}?wait=1`),
        await at("/v1/approvals/events"),
        await at("/v1/grants"),
      ]) {
        equal([answer.status, errorOf(answer.json).code, answer.headers.get("retry-after")], [503, -32002, "1"]);
      }
      stage.store.isDown = false;
      equal((await approvals.get(id)).status, "pending");
    },
    "what holds longer is a grant, which is listed and taken back": async () => {
      const { at, send, pend, approvals } = await openApprovalGateway();
      const approve = (id: string, scope: string): ReturnType<typeof send> =>
        send(`/v1/approvals/${id}/decision`, { decision: "approve", scope });
      const [once, hour, session] = [await pend({ n: 1 }), await pend({ n: 2 }), await pend({ n: 3 })];
      for (const [id, scope] of [
        [once, "once"],
        [hour, "hour"],
        [session, "session"],
      ] as const)
        await approve(id, scope);
      const listed = async (): Promise<readonly unknown[]> =>
        ((await at("/v1/grants")).json as { readonly grants: readonly Approval[] }).grants
          .map(({ id }) => id)
          .toSorted();
      equal(await listed(), [hour, session].toSorted());
      const remove = async (id: string): Promise<readonly unknown[]> =>
        outcome(await at(`/v1/grants/${id}`, { method: "DELETE" }));
      equal(await remove(hour), [200, "cancelled"]);
      equal(await remove(hour), [409, "cancelled"]);
      equal(await remove(once), [404, undefined]);
      equal(await remove(await pend({ n: 4 })), [404, undefined]);
      equal(await listed(), [session]);
      equal(
        [(await approvals.get(hour)).ending, await approvals.use((await approvals.get(hour)).call)],
        [{ by: "anonymous", reason: "revoked" }, undefined],
      );
    },
    "a question is taken back": async () => {
      const { send, pend, approvals } = await openApprovalGateway();
      const id = await pend();
      equal(outcome(await send(`/v1/approvals/${id}/cancel`, { reason: "not needed" })), [200, "cancelled"]);
      equal((await approvals.get(id)).ending, { by: "anonymous", reason: "not needed" });
      equal(outcome(await send(`/v1/approvals/${id}/cancel`, {})), [409, "cancelled"]);
    },
    "without approvals the paths say so": async () => {
      const gateway = await gatewayOf();
      for (const path of ["/v1/approvals", "/v1/approvals/x", "/v1/grants"]) {
        const response = await gateway.fetch(requestOf({ method: "GET", path }));
        equal(response.status, 404);
        ok((await response.text()).includes("human_approval"), "it does not say why");
      }
    },
  },
);
