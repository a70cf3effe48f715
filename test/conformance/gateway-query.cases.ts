import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { openApprovalGateway } from "./gateway-approvals-stage.ts";
import { errorOf, tokenOf } from "./gateway-fixture.ts";
import { recordingOf, storeOf } from "./page-fixture.ts";

/** What a query says of every route that reads one. */
export const queryCases: readonly Case[] = casesOf(
  { topic: "gateway-query", source: "docs/protocol.md, The gateway's interface for hosts" },
  {
    "a key twice is refused and named, on every route that reads a query": async () => {
      const records = storeOf([]);
      const { at, pend } = await openApprovalGateway({}, { records, recording: recordingOf() });
      const id = await pend();
      const [cursor, status, wait] = [`cursor=${id}&cursor=${id}`, "status=pending&status=denied", "wait=1&wait=0"];
      const twice: readonly (readonly [path: string, key: string])[] = [
        [`/v1/approvals?${cursor}`, "cursor"],
        [`/v1/approvals?limit=5&${status}`, "status"],
        ["/v1/approvals?limit=1&limit=1", "limit"],
        ["/v1/approvals?limit=1&%6cimit=2", "limit"],
        [`/v1/approvals/${id}?${wait}`, "wait"],
        [`/v1/grants?${cursor}`, "cursor"],
        ["/v1/records?cursor=1&cursor=2", "cursor"],
        ["/v1/records?session=a&tool=b&session=", "session"],
        ["/v1/records?other=a&other=b", "other"],
        ["/v1/records?__proto__=a&__proto__=b", "__proto__"],
        ["/v1/events?tool=a&tool=b", "tool"],
      ];
      for (const [path, key] of twice) {
        const answer = await at(path);
        const { message } = errorOf(answer.json);
        equal([path, answer.status, message], [path, 400, `${key}: expected once, got twice or more`]);
      }
      equal(records.asked, []);
    },
    "the name of a key that is twice is said in part": async () => {
      const { at } = await openApprovalGateway();
      const key = "k".repeat(5000);
      const { status, json } = await at(`/v1/approvals?${key}=1&${key}=2`);
      const { message } = errorOf(json);
      ok(status === 400 && message.startsWith(`${"k".repeat(80)}: expected once`), message);
    },
    "who may not read is told so, and nothing of the query": async () => {
      const { known } = await tokenOf("ann", "approve");
      const { at } = await openApprovalGateway({}, { auth: { tokens: [known] } });
      equal((await at("/v1/approvals?limit=1&limit=2")).status, 401);
    },
  },
);
