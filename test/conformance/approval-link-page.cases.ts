import { createApprovalLinks } from "../../src/signing/approval-link.ts";
import { type Case, equal, ok } from "./case.ts";
import { headOf, openApprovalPages, yesTo } from "./approval-page-stage.ts";
import { casesOf } from "./fixture.ts";
import { requestOf } from "./gateway-fixture.ts";
import { formOf, pageOf } from "./page-fixture.ts";

/** As a browser sends the form of a page that tells nobody where it is. */
const LINK_FORM = { origin: "null", "sec-fetch-site": "same-origin" };

/** Section "Links" of docs/approvals.md. */
export const approvalLinkPageCases: readonly Case[] = casesOf(
  { topic: "approval-link-page", source: "docs/approvals.md, Links" },
  {
    "looking-at-a-link-decides-nothing-and-uses-nothing-up": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      const looks: readonly Readonly<Record<string, string>>[] = [
        {},
        { purpose: "prefetch" },
        { "sec-purpose": "prefetch;prerender" },
        { "x-moz": "prefetch" },
        { "user-agent": "Slackbot-LinkExpanding 1.0" },
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      ];
      for (const headers of looks) {
        for (const query of ["", `?${new URLSearchParams(yesTo(approval))}`]) {
          const { status, text } = await pageOf(stage.gateway, { path: `${path}${query}`, headers });
          equal([headers, status, text.includes("May bash run?")], [headers, 200, true]);
          const head = await headOf(stage, `${path}${query}`, headers);
          equal([headers, head.status, await head.text()], [headers, 200, ""]);
        }
      }
      for (const method of ["PUT", "DELETE", "OPTIONS", "PATCH"]) {
        await stage.gateway.fetch(requestOf({ method, path, headers: LINK_FORM }));
      }
      const { status, votes } = await stage.now(approval);
      equal([status, votes], ["pending", []]);
      equal((await stage.send(path, yesTo(approval), LINK_FORM)).status, 200);
      equal((await stage.now(approval)).status, "approved");
    },
    "the-form-decides-once-as-the-person-the-link-names": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ require: 2 });
      const path = await stage.linkOf(approval);
      const { text, headers, html } = await stage.look(path);
      ok(text.includes("This link decides once, as ann ."), text);
      ok(!html.includes("<nav") && !text.includes("Sign out"), "it leads to the gateway's own pages");
      equal([headers.get("referrer-policy"), headers.get("cache-control")], ["no-referrer", "no-store"]);
      const fields = yesTo(approval, { scope: "session", comment: "fine", by: "ben" });
      const done = await stage.send(path, fields, LINK_FORM);
      equal([done.status, done.headers.get("set-cookie")], [200, null]);
      ok(done.text.includes("Approved") && done.text.includes("1 more person has to approve"), done.text);
      const again = await stage.send(path, fields, LINK_FORM);
      equal(again.status, 409);
      ok(again.text.includes("You have decided this already"), again.text);
      equal((await stage.look(path)).status, 409);
      const { votes } = await stage.now(approval);
      equal(
        votes.map(({ by, how, scope, comment }) => [by, how, scope, comment]),
        [["ann", "link", "session", "fine"]],
      );
    },
    "of-many-forms-at-once-one-decides": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ require: 3 });
      const [path, second] = [await stage.linkOf(approval), await stage.linkOf(approval)];
      const sent = await Promise.all(
        [path, second, path, path, second].map((to) => stage.send(to, yesTo(approval), LINK_FORM)),
      );
      equal(
        sent.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409, 409, 409, 409],
      );
      equal((await stage.now(approval)).votes.length, 1);
    },
    "two-links-of-one-person-are-one-vote": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ require: 2, approvers: ["ann", "ben"] });
      const links = [await stage.linkOf(approval), await stage.linkOf(approval), await stage.linkOf(approval)];
      const [first = "", second = "", third = ""] = links;
      equal(new Set(links).size, 3);
      equal((await stage.look(second)).status, 200);
      equal((await stage.send(first, yesTo(approval), LINK_FORM)).status, 200);
      for (const path of [second, third, first]) {
        for (const decision of ["approve", "deny"]) {
          const sent = await stage.send(path, yesTo(approval, { decision }), LINK_FORM);
          equal([sent.status, sent.text.includes("You have decided this already")], [409, true]);
        }
        equal((await stage.look(path)).status, 409);
      }
      const { status, votes } = await stage.now(approval);
      equal([status, votes.map(({ by }) => by)], ["pending", ["ann"]]);
      // The page and a token are the same person too.
      const cookie = await stage.enter("ann");
      equal((await stage.send(`/approvals/${approval.id}`, yesTo(approval), { cookie })).status, 409);
      equal((await stage.send(await stage.linkOf(approval, "ben"), yesTo(approval), LINK_FORM)).status, 200);
      equal((await stage.now(approval)).status, "approved");
      equal((await stage.send(second, yesTo(approval, { decision: "deny" }), LINK_FORM)).status, 409);
    },
    "another-link-to-what-is-decided-or-over-decides-nothing": async () => {
      const stage = await openApprovalPages();
      const decided = await stage.ask({ arguments: { n: 1 } });
      const [used, spare] = [await stage.linkOf(decided), await stage.linkOf(decided)];
      equal((await stage.send(used, yesTo(decided, { decision: "deny" }), LINK_FORM)).status, 200);
      equal((await stage.send(spare, yesTo(decided), LINK_FORM)).status, 409);
      equal((await stage.now(decided)).status, "denied");
      const over = await stage.ask({ arguments: { n: 2 }, expiresMs: 10_000 });
      const late = await stage.linkOf(over);
      stage.clock.advance(10_000);
      equal((await stage.send(late, yesTo(over), LINK_FORM)).status, 410);
      equal((await stage.now(over)).status, "expired");
    },
    "a-link-denies-too": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const fields = yesTo(approval, { decision: "deny" });
      const { status, text } = await stage.send(await stage.linkOf(approval), fields, LINK_FORM);
      equal([status, text.includes("Denied") && text.includes("ann denied it.")], [200, true]);
    },
    "a-link-that-is-not-good-says-so-and-shows-nothing": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const good = await stage.linkOf(approval);
      const [head = "", payload = "", signature = ""] = good.split(".");
      const other = await createApprovalLinks({ secret: "t".repeat(32), issuer: "gate", used: stage.store });
      const link = { approval: approval.id, approver: "ann", expiresAtMs: Date.parse(approval.expires) };
      for (const path of [
        `/approvals/link/${await other.sign(link)}`,
        `${head}.${payload}.${"A".repeat(43)}`,
        `${head}.${payload.slice(0, -4)}.${signature}`,
        good.slice(0, -1),
        "/approvals/link/x",
        "/approvals/link/%00",
        `/approvals/link/${"x".repeat(10_000)}`,
      ]) {
        const looked = await stage.look(path);
        const sent = await stage.send(path, yesTo(approval), LINK_FORM);
        equal([path, looked.status, sent.status], [path, 403, 403]);
        ok(!`${looked.text}${sent.text}`.includes("make deploy"), "it shows the call");
        ok(looked.text.includes("This link is not good here"), looked.text);
      }
      equal((await stage.now(approval)).status, "pending");
    },
    "a-link-is-good-for-its-own-approval-and-call": async () => {
      const stage = await openApprovalPages();
      const [mine, other] = [await stage.ask(), await stage.ask({ tool: "other" })];
      const path = await stage.linkOf(mine);
      const sent = await stage.send(path, yesTo(other), LINK_FORM);
      equal(sent.status, 403);
      ok(sent.text.includes("about another call"), sent.text);
      equal([(await stage.now(mine)).status, (await stage.now(other)).status], ["pending", "pending"]);
      equal((await stage.send(path, yesTo(mine), LINK_FORM)).status, 200);
      equal((await stage.now(other)).status, "pending");
    },
    "a-link-for-somebody-the-rule-does-not-name-is-refused": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({ approvers: ["ben"] });
      const path = await stage.linkOf(approval, "ann");
      const { status, text } = await stage.look(path);
      equal([status, text.includes("This is not yours to decide")], [403, true]);
      equal((await stage.send(path, yesTo(approval), LINK_FORM)).status, 403);
      equal((await stage.send(await stage.linkOf(approval, "ben"), yesTo(approval), LINK_FORM)).status, 200);
    },
    "what-is-over-is-said-with-what-came-of-it": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      await stage.approvals.decide(approval.id, { by: "ben", how: "page", decision: "deny" });
      for (const page of [await stage.look(path), await stage.send(path, yesTo(approval), LINK_FORM)]) {
        equal(page.status, 409);
        ok(page.text.includes("It is decided already.") && page.text.includes("ben denied it."), page.text);
      }
      const second = await stage.ask({ tool: "other" });
      const late = await stage.linkOf(second);
      stage.clock.advance(3_600_000);
      for (const page of [await stage.look(late), await stage.send(late, yesTo(second), LINK_FORM)]) {
        equal(page.status, 410);
        ok(page.text.includes("Its time is over."), page.text);
      }
      stage.clock.advance(31_000);
      const { status, text } = await stage.look(late);
      equal([status, text.includes("This link is too old")], [410, true]);
    },
    "a-form-that-is-not-right-does-not-use-the-link-up": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      for (const changes of [
        { decision: "maybe" },
        { scope: "forever" },
        { comment: "x".repeat(2001) },
        { call: "x" },
      ]) {
        const { status, tags, text } = await stage.send(path, yesTo(approval, changes), LINK_FORM);
        equal([changes, status, tags.has("textarea")], [changes, 400, true]);
        ok(text.includes("This link decides once"), text);
      }
      const json = { ...LINK_FORM, "content-type": "application/json" };
      equal((await stage.send(path, yesTo(approval), json)).status, 400);
      equal((await stage.send(path, yesTo(approval, { comment: "x".repeat(40_000) }), LINK_FORM)).status, 400);
      equal((await stage.now(approval)).status, "pending");
      equal((await stage.send(path, yesTo(approval), LINK_FORM)).status, 200);
    },
    "a-form-of-another-site-is-refused-and-does-not-use-the-link-up": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      for (const headers of [
        { origin: "https://evil.example" },
        { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
        { origin: "null", "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
      ]) {
        equal([headers, (await stage.send(path, yesTo(approval), headers)).status], [headers, 403]);
      }
      const { origin: _, ...silent } = formOf(path, {}).headers as Record<string, string>;
      const body = String(new URLSearchParams(yesTo(approval)));
      equal((await pageOf(stage.gateway, { method: "POST", path, headers: silent, body })).status, 403);
      equal((await stage.now(approval)).status, "pending");
      equal((await stage.send(path, yesTo(approval), { origin: "null" })).status, 200);
    },
    "a-store-that-is-down-uses-no-link-up": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      stage.store.isDown = true;
      for (const page of [await stage.look(path), await stage.send(path, yesTo(approval), LINK_FORM)]) {
        equal([page.status, page.text.includes("cannot be reached")], [503, true]);
      }
      stage.store.isDown = false;
      equal((await stage.send(path, yesTo(approval), LINK_FORM)).status, 200);
    },
    "without-auth-only-this-machine-follows-links": async () => {
      const stage = await openApprovalPages({ hasAuth: false });
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      const foreign = { host: "gate.example" };
      equal((await pageOf(stage.gateway, { path, headers: foreign })).status, 403);
      equal((await stage.send(path, yesTo(approval), LINK_FORM)).status, 200);
    },
    "where-no-links-are-made-none-is-good": async () => {
      const stage = await openApprovalPages({ links: undefined });
      const approval = await stage.ask();
      const path = await stage.linkOf(approval);
      equal((await stage.look(path)).status, 404);
      equal((await stage.send(path, yesTo(approval), LINK_FORM)).status, 404);
    },
    "who-has-signed-in-decides-with-a-link-as-the-one-it-names": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ben");
      const { text } = await stage.look(await stage.linkOf(approval), cookie);
      ok(!text.includes("Signed in"), text);
      await stage.send(await stage.linkOf(approval), yesTo(approval), { ...LINK_FORM, cookie });
      equal(
        (await stage.now(approval)).votes.map(({ by }) => by),
        ["ann"],
      );
    },
  },
);
