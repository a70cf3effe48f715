import { type Case, equal } from "./case.ts";
import { openApprovalPages, yesTo } from "./approval-page-stage.ts";
import { casesOf } from "./fixture.ts";
import { openApprovalGateway } from "./gateway-approvals-stage.ts";
import { errorOf } from "./gateway-fixture.ts";
import { formOf, pageOf } from "./page-fixture.ts";

/** What says one thing twice says nothing. */
export const approvalBodyCases: readonly Case[] = casesOf(
  { topic: "approval-body", source: "docs/approvals.md, HTTP API" },
  {
    "a decision that names a member twice is refused and named": async () => {
      const { at, pend, approvals } = await openApprovalGateway();
      const id = await pend();
      const twice: readonly (readonly [body: string, member: string])[] = [
        ['{"decision":"deny","decision":"approve"}', "decision"],
        ['{"decision":"approve","comment":"a","comment":"a"}', "comment"],
        ['{"decision":"deny","decis\\u0069on":"approve"}', "decision"],
        ['{"by":"ann","decision":"approve","by":"ben"}', "by"],
        ['{"decision":"approve","scope":"once","scope":"session"}', "scope"],
        [`{"decision":"approve","call":"${"0".repeat(64)}","call":"${"1".repeat(64)}"}`, "call"],
      ];
      for (const [body, member] of twice) {
        const { status, json } = await at(`/v1/approvals/${id}/decision`, { method: "POST", body });
        equal([body, status, errorOf(json).message], [body, 400, `${member}: expected once, got twice or more`]);
      }
      const cancel = '{"reason":"a","reason":"b"}';
      const { status, json } = await at(`/v1/approvals/${id}/cancel`, { method: "POST", body: cancel });
      equal([status, errorOf(json).message], [400, "reason: expected once, got twice or more"]);
      equal((await approvals.get(id)).status, "pending");
    },
    "a body that is no JSON is refused as before": async () => {
      const { at, pend, approvals } = await openApprovalGateway();
      const id = await pend();
      for (const body of ["", "{", '{"decision":"approve"} x', '{decision:"approve"}', "[".repeat(8000), '"\\x"']) {
        const { status, json } = await at(`/v1/approvals/${id}/decision`, { method: "POST", body });
        equal([body, status, errorOf(json).message], [body, 400, "the body is not JSON in UTF-8"]);
      }
      equal((await approvals.get(id)).status, "pending");
    },
    "a form that has a field twice is refused, on a page and by a link": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask();
      const cookie = await stage.enter("ann");
      const link = await stage.linkOf(approval);
      for (const [path, headers] of [
        [`/approvals/${approval.id}`, { cookie }],
        [link, { origin: "null", "sec-fetch-site": "same-origin" }],
      ] as const) {
        for (const [field, value] of Object.entries(yesTo(approval))) {
          const body = `${String(new URLSearchParams(yesTo(approval)))}&${field}=${value}`;
          const { status, text } = await pageOf(stage.gateway, { ...formOf(path, {}, headers), body });
          equal([path, field, status, text.includes(`It has ${field} twice.`)], [path, field, 400, true]);
        }
      }
      equal((await stage.now(approval)).votes, []);
      equal((await stage.send(link, yesTo(approval), { origin: "null", "sec-fetch-site": "same-origin" })).status, 200);
    },
  },
);
