import type { NotificationStatus } from "../../src/approvals/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { headOf, openApprovalPages, yesTo } from "./approval-page-stage.ts";
import { casesOf } from "./fixture.ts";
import { gatewayOf, tokenOf } from "./gateway-fixture.ts";
import { pageOf } from "./page-fixture.ts";

/** Section "The page" of docs/approvals.md. */
export const approvalPageCases: readonly Case[] = casesOf(
  { topic: "approval-page", source: 'docs/approvals.md, "The page"' },
  {
    "what-is-pending-is-there-whole-with-who-asks-and-why": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ risk: "high", arguments: { command: "cd /srv\nmake", n: 1 }, caller: "bot" });
      const { status, text, html } = await stage.look("/approvals", await stage.enter("ann"));
      equal(status, 200);
      for (const part of [
        "agent main",
        "session s1",
        "host bot",
        "it deploys",
        "high risk",
        "60 min",
        "Approve",
        "Deny",
      ]) {
        ok(part === "60 min" ? text.includes("1 h 0 min left") : text.includes(part), `${part} is not in: ${text}`);
      }
      ok(html.includes("{\n  &quot;command&quot;: &quot;cd /srv\\n\nmake&quot;,\n  &quot;n&quot;: 1\n}"), html);
      ok(html.includes(`action="/approvals/${approval.id}"`), "there is no form");
    },
    "an-approval-is-given-with-a-form-and-the-person-is-who-signed-in": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      const fields = yesTo(approval, { scope: "hour", comment: "go\r\non", by: "ben" });
      const { status, headers } = await stage.send(`/approvals/${approval.id}`, fields, { cookie });
      equal([status, headers.get("location")], [303, `/approvals/${approval.id}`]);
      const { status: state, scope, votes } = await stage.now(approval);
      equal([state, scope], ["approved", "hour"]);
      const [{ by, how, comment } = {}] = votes;
      equal([by, how, comment], ["ann", "page", "go\non"]);
      const { text } = await stage.look(`/approvals/${approval.id}`, cookie);
      ok(text.includes("Approved by ann , for an hour") && text.includes("ann approved for an hour on the page"), text);
    },
    "the-list-says-what-was-done-from-it": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      const fields = yesTo(approval, { decision: "deny", from: "list", comment: "not today" });
      const { headers } = await stage.send(`/approvals/${approval.id}`, fields, { cookie });
      const path = headers.get("location") ?? "";
      equal(path, `/approvals?done=${approval.id}`);
      const { text } = await stage.look(path, cookie);
      ok(text.includes("ann denied it. It does not run."), text);
      ok(text.includes("Nothing waits for a decision."), text);
      equal((await stage.look("/approvals?done=%3Cb%3E", cookie)).status, 200);
    },
    "several-people-count-and-one-person-once": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ require: 2 });
      const path = `/approvals/${approval.id}`;
      const ann = await stage.enter("ann");
      equal((await stage.send(path, yesTo(approval), { cookie: ann })).status, 303);
      const { text, tags } = await stage.look(path, ann);
      ok(text.includes("1 of 2 approved ann") && text.includes("Another person has to approve it too."), text);
      ok(!tags.has("textarea"), "the form is still there");
      const twice = await stage.send(path, yesTo(approval), { cookie: ann });
      equal(twice.status, 409);
      ok(twice.text.includes("You have decided this already") && twice.text.includes("1 more person"), twice.text);
      equal((await stage.send(path, yesTo(approval), { cookie: await stage.enter("ben") })).status, 303);
      equal((await stage.now(approval)).status, "approved");
    },
    "of-two-forms-at-once-one-decides": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = `/approvals/${approval.id}`;
      const [ann, ben] = [await stage.enter("ann"), await stage.enter("ben")];
      const sent = [yesTo(approval), yesTo(approval, { decision: "deny" })];
      const pages = await Promise.all(
        [ann, ben].map((cookie, index) => stage.send(path, sent[index] ?? {}, { cookie })),
      );
      equal(
        pages.map(({ status }) => status).toSorted((a, b) => a - b),
        [303, 409],
      );
      equal((await stage.now(approval)).votes.length, 1);
      const lost = pages.find(({ status }) => status === 409);
      ok(lost?.text.includes("It is decided already.") ?? false, lost?.text ?? "");
      ok(lost?.text.includes("Your decision was not taken.") ?? false, lost?.text ?? "");
    },
    "looking-decides-nothing": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      const query = `/approvals/${approval.id}?${new URLSearchParams(yesTo(approval))}`;
      equal((await stage.look(query, cookie)).status, 200);
      equal((await headOf(stage, query, { cookie })).status, 200);
      equal((await stage.now(approval)).status, "pending");
    },
    "who-may-look-sees-and-who-may-not-does-not": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      for (const path of ["/approvals", `/approvals/${approval.id}`]) {
        const nobody = await stage.look(path);
        equal([path, nobody.status, nobody.text.includes("make deploy")], [path, 401, false]);
        ok(nobody.text.includes("scope approve, observe or admin"), nobody.text);
        const { status, text, tags } = await stage.look(path, await stage.enter("eye"));
        equal([path, status, tags.has("textarea")], [path, 200, false]);
        ok(text.includes("make deploy") && text.includes("needs a token with scope approve"), text);
      }
      equal(await stage.enter("bot"), "");
    },
    "deciding-needs-the-scope-and-a-session-that-is-good": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = `/approvals/${approval.id}`;
      equal((await stage.send(path, yesTo(approval), { cookie: await stage.enter("eye") })).status, 403);
      equal((await stage.send(path, yesTo(approval))).status, 401);
      equal((await stage.send(path, yesTo(approval), { cookie: `hookgate_session=${"0".repeat(64)}` })).status, 401);
      equal((await stage.now(approval)).status, "pending");
    },
    "a-token-that-speaks-for-others-is-nobody-who-decides-here": async () => {
      const relay = { ...(await tokenOf("relay", "approve")).known, speaksFor: "anyone" } as const;
      const stage = await openApprovalPages({ auth: { tokens: [relay] } });
      const approval = await stage.ask();
      const cookie = await stage.enter("relay");
      const { text, tags } = await stage.look(`/approvals/${approval.id}`, cookie);
      ok(text.includes("This token speaks for other people") && !tags.has("textarea"), text);
      equal((await stage.send(`/approvals/${approval.id}`, yesTo(approval), { cookie })).status, 403);
      equal((await stage.now(approval)).status, "pending");
    },
    "a-form-of-another-site-decides-nothing": async () => {
      const stage = await openApprovalPages({ allowedOrigins: ["https://friend.example"] });
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      for (const headers of [
        { origin: "http://evil.example" },
        { origin: "https://friend.example" },
        { origin: "null" },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
      ]) {
        const { status } = await stage.send(`/approvals/${approval.id}`, yesTo(approval), { cookie, ...headers });
        equal([headers, status], [headers, 403]);
      }
      equal((await stage.now(approval)).status, "pending");
    },
    "a-form-that-is-not-right-decides-nothing-and-can-be-sent-again": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      const path = `/approvals/${approval.id}`;
      for (const changes of [
        { decision: "" },
        { decision: "APPROVE" },
        { scope: "forever" },
        { call: "" },
        { comment: "x".repeat(2001) },
      ]) {
        const { status, tags } = await stage.send(path, yesTo(approval, changes), { cookie });
        equal([changes, status, tags.has("textarea")], [changes, 400, true]);
      }
      const other = await stage.send(path, yesTo(approval, { call: "0".repeat(64) }), { cookie });
      equal(other.status, 403);
      ok(other.text.includes("about another call"), other.text);
      equal((await stage.now(approval)).status, "pending");
      const wide = yesTo(approval, { comment: "\u6f22".repeat(2000) });
      equal((await stage.send(path, wide, { cookie })).status, 303);
    },
    "what-is-over-or-not-there-is-said": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      const path = `/approvals/${approval.id}`;
      stage.clock.advance(3_600_000);
      const late = await stage.send(path, yesTo(approval), { cookie });
      equal(late.status, 410);
      ok(late.text.includes("Its time is over.") && late.text.includes("Nobody approved it in time."), late.text);
      const taken = await stage.ask({ tool: "other" });
      await stage.approvals.cancel(taken.id, { by: "cem", reason: "a mistake" });
      const gone = await stage.send(`/approvals/${taken.id}`, yesTo(taken), { cookie });
      equal(gone.status, 409);
      ok(gone.text.includes("It was taken back by cem : a mistake"), gone.text);
      for (const id of ["none", "01a2202e-535e-7d27-a186-1bbf040322fd", "%00", "..%2f..", "x".repeat(5000)]) {
        equal([id, (await stage.look(`/approvals/${id}`, cookie)).status], [id, 404]);
      }
    },
    "who-is-not-named-by-the-rule-is-told-who-is": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ approvers: ["ben", "cem"] });
      const cookie = await stage.enter("ann");
      const { text, tags } = await stage.look(`/approvals/${approval.id}`, cookie);
      ok(text.includes("Only ben , cem may decide this, and you are ann ."), text);
      ok(!tags.has("textarea"), "there is a form");
      equal((await stage.send(`/approvals/${approval.id}`, yesTo(approval), { cookie })).status, 403);
    },
    "a-store-that-is-down-is-said-and-approves-nothing": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ben");
      stage.store.isDown = true;
      for (const path of ["/approvals", `/approvals/${approval.id}`]) {
        const { status, text } = await stage.look(path, cookie);
        equal([path, status], [path, 503]);
        ok(text.includes("cannot be reached") && text.includes("Nothing is approved"), text);
      }
      equal((await stage.send(`/approvals/${approval.id}`, yesTo(approval), { cookie })).status, 503);
      equal((await stage.look("/", cookie)).status, 200);
      stage.store.isDown = false;
      equal((await stage.now(approval)).status, "pending");
    },
    "without-auth-one-is-anonymous-and-told-so": async () => {
      const stage = await openApprovalPages({ hasAuth: false });
      const approval = await stage.ask({ require: 2 });
      const path = `/approvals/${approval.id}`;
      const { text } = await stage.look(path);
      ok(text.includes("Nobody signs in here"), text);
      equal((await stage.send(path, yesTo(approval))).status, 303);
      equal((await stage.send(path, yesTo(approval))).status, 409);
      equal(
        (await stage.now(approval)).votes.map(({ by }) => by),
        ["anonymous"],
      );
      const foreign = { host: "evil.example", origin: "http://evil.example" };
      equal((await stage.send(path, yesTo(approval), foreign)).status, 403);
    },
    "the-navigation-leads-to-what-one-may-see-with-how-many-are-pending": async () => {
      const stage = await openApprovalPages();
      await stage.ask();
      await stage.ask({ tool: "other" });
      const [ann, ben] = [await stage.enter("ann"), await stage.enter("ben")];
      for (const path of ["/", "/approvals"]) {
        const { text } = await stage.look(path, ben);
        ok(text.includes("Status Approvals 2"), text);
      }
      const first = await stage.look("/", ann);
      equal([first.status, first.headers.get("location")], [303, "/approvals"]);
      const { text } = await stage.look("/approvals", ann);
      ok(text.includes("hookgate Approvals 2") && !text.includes("Status"), text);
      const without = await pageOf(await gatewayOf(), { path: "/" });
      ok(!without.text.includes("Approvals"), without.text);
      equal((await pageOf(await gatewayOf(), { path: "/readyz" })).status, 200);
    },
    "the-oldest-that-is-pending-is-first-and-what-is-decided-comes-after": async () => {
      const stage = await openApprovalPages();
      for (const tool of ["one", "two", "three"]) {
        await stage.ask({ tool });
        stage.clock.advance(1000);
      }
      const [last] = (await stage.approvals.list({ maxApprovals: 1 })).approvals;
      await stage.approvals.decide(last?.id ?? "", { by: "cem", how: "token", decision: "approve" });
      const { text } = await stage.look("/approvals", await stage.enter("ann"));
      const places = ["Pending", " one ", " two ", "Decided", " three "].map((part) => text.indexOf(part));
      equal(
        places,
        places.toSorted((a, b) => a - b),
      );
      ok(!places.includes(-1), text);
    },
    "there-can-be-more-than-a-page-of-them": async () => {
      const stage = await openApprovalPages();
      for (let count = 0; count < 52; count += 1) await stage.ask({ tool: `tool_${count}` });
      const { text } = await stage.look("/approvals", await stage.enter("ann"));
      ok(text.includes("Approvals 50+") && text.includes("There are more, older ones."), text.slice(0, 500));
    },
    "how-those-are-reached-who-are-told-is-shown": async () => {
      const slack = { name: "slack <1>", kind: "slack", delivered: 3, failed: 1, dropped: 1, waiting: 2 } as const;
      const told: readonly NotificationStatus[] = [{ ...slack, last_error: "it cannot be reached" }];
      const stage = await openApprovalPages({ notifications: () => told });
      const { text } = await stage.look("/approvals", await stage.enter("ann"));
      ok(text.includes("slack <1> 3 delivered, 2 waiting 2 not delivered it cannot be reached"), text);
    },
  },
);
