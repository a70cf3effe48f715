import { type Case, equal, ok } from "./case.ts";
import { openApprovalPages } from "./approval-page-stage.ts";
import { casesOf } from "./fixture.ts";
import { PAYLOADS } from "./page-fixture.ts";

function paths(id: string): readonly string[] {
  return ["/approvals", `/approvals/${id}`, `/approvals?done=${id}`];
}

/** Whatever an agent asks is shown whole, as what it is, and stays text. */
export const approvalPageTextCases: readonly Case[] = casesOf(
  { topic: "approval-page-text", source: 'docs/approvals.md, "The page"' },
  {
    "what-is-too-long-for-the-list-is-decided-where-it-is-whole": async () => {
      const stage = await openApprovalPages();
      const long = await stage.ask({ arguments: { text: `${"x".repeat(200_000)}END` } });
      const cookie = await stage.enter("ann");
      const list = await stage.look("/approvals", cookie);
      ok(/198,\d{3} more characters are not shown here/.test(list.text), list.text.slice(-600));
      ok(!list.tags.has("textarea") && !list.html.includes("END"), "it can be decided without being seen");
      const { html, tags } = await stage.look(`/approvals/${long.id}`, cookie);
      ok(html.includes(`${"x".repeat(200_000)}END`) && tags.has("textarea"), "it is not whole");
      await stage.ask({ tool: "lines", arguments: { text: "\n".repeat(60) } });
      const { text } = await stage.look("/approvals", cookie);
      equal(text.match(/more characters are not shown/g)?.length, 2);
    },
    "what-hides-or-passes-for-something-else-is-shown-and-counted": async () => {
      const stage = await openApprovalPages();
      const approval = await stage.ask({
        tool: "ba\u0455h",
        arguments: {
          a: "photo\u202egpj.exe",
          b: "rm\u200b -rf",
          c: "p\u0430ypal.com",
          d: "\u0430\u0440\u0440",
          e: "\u001b[31m",
        },
      });
      const cookie = await stage.enter("ann");
      for (const path of ["/approvals", `/approvals/${approval.id}`]) {
        const { html, text } = await stage.look(path, cookie);
        for (const code of ["U+202E", "U+200B", "\u0430 U+0430", "\u0455 U+0455"])
          ok(html.includes(code), `${code}: ${text}`);
        ok(!["\u202e", "\u200b", "\u001b"].some((char) => html.includes(char)), "it is there as it came");
        ok(text.includes("2 characters that cannot be seen") && text.includes("2 characters that can pass for"), text);
        ok(text.includes("Letters of another script, which can look like Latin ones: Cyrillic."), text);
      }
    },
    "whatever-is-asked-stays-text": async () => {
      const stage = await openApprovalPages();
      const cookie = await stage.enter("ann");
      const honest = await stage.ask({ require: 2, risk: "low", channel: "c", chatId: "d", turn: "t", caller: "h" });
      await stage.approvals.decide(honest.id, { by: "x", how: "y", decision: "approve", comment: "z" });
      await stage.approvals.cancel((await stage.ask({ tool: "b\u0430sh" })).id);
      const odd = await stage.ask({ tool: "b\u0430sh", require: 2 });
      const known = new Set<string>();
      for (const { id } of [honest, odd]) {
        for (const path of paths(id)) for (const tag of (await stage.look(path, cookie)).tags) known.add(tag);
      }
      for (const payload of PAYLOADS) {
        const asked = await stage.ask({
          agent: payload,
          session: payload,
          channel: payload,
          chatId: payload,
          turn: payload,
          caller: payload,
          tool: payload,
          hook: payload,
          reason: payload,
          require: 2,
          arguments: { [payload]: [payload] },
        });
        await stage.approvals.decide(asked.id, {
          by: payload,
          how: payload.slice(0, 40),
          decision: "approve",
          comment: payload,
        });
        for (const path of paths(asked.id)) {
          const { status, tags, attributes } = await stage.look(path, cookie);
          equal([payload, path, status], [payload, path, 200]);
          equal([payload, [...tags].filter((tag) => !known.has(tag))], [payload, []]);
          equal([payload, attributes.filter(([name]) => name.startsWith("on") || name === "style")], [payload, []]);
          for (const [name, value] of attributes) {
            if (name === "href" || name === "action") ok(/^[/#]|^data:image/.test(value), `${name}: ${value}`);
          }
        }
        await stage.approvals.cancel(asked.id, { by: payload, reason: payload });
        equal((await stage.look(`/approvals/${asked.id}`, cookie)).status, 200);
      }
    },
  },
);
