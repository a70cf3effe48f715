import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { gatewayOf } from "./gateway-fixture.ts";
import { hookOf, pageOf, PAYLOADS, recordingOf, recordOf, storeOf } from "./page-fixture.ts";

/** Attributes that pages may have: none runs anything, and those that lead somewhere are looked at. */
const ATTRIBUTES = new Set(
  `action aria-current aria-describedby aria-hidden aria-label aria-labelledby autocomplete autofocus charset class colspan
  content data-live data-name data-part datetime defer for height hidden href id lang maxlength method name rel role rx scope
  selected spellcheck src tabindex title type value width required`.split(/\s+/),
);

/** Tags that only some pages have. */
const PAGE_TAGS = new Set(
  "br ol li svg rect pre strong small p input h3 dl dt dd footer div button form label".split(" "),
);

/** Whatever somebody had recorded is text in a page. */
export const pageTextCases: readonly Case[] = casesOf(
  { topic: "page-text", source: 'docs/operations.md, "Status page"' },
  {
    "whatever-is-recorded-stays-text": async () => {
      const allowed = (await pageOf(await gatewayOf({}, { records: storeOf([recordOf()]) }), { path: "/" })).tags;
      for (const payload of PAYLOADS) {
        const record = recordOf({
          id: payload,
          caller: payload,
          session: payload,
          tool: payload,
          tool_call_id: payload,
          action: payload,
          reason: payload,
          meta: { [payload]: payload },
          input: { [payload]: [payload] },
          hooks: [
            {
              hook: payload,
              source: payload,
              outcome: payload,
              kind: payload,
              error: payload,
              would: payload,
              ms: 1,
              attempt: 1,
              changes: [{ op: "add", path: payload, value: { [payload]: payload } }],
            },
          ],
        });
        const last = { time: payload, point: payload, kind: payload as "timeout", error: payload };
        const hook = await hookOf({ name: payload, source: payload, lastError: payload, last_no_verdict: last });
        const records = { ...storeOf([record]), get: () => Promise.resolve(JSON.stringify(record)) };
        const gateway = await gatewayOf({}, { records, recording: recordingOf(), hooks: () => [hook] });
        const asked = encodeURIComponent(payload.replaceAll(/\p{Cs}/gu, "?"));
        const pages = [
          await pageOf(gateway, { path: "/" }),
          await pageOf(gateway, { path: `/?session=${asked}&tool=${asked}&outcome=${asked}` }),
          await pageOf(gateway, { path: "/decisions/x" }),
          await pageOf(await gatewayOf({}, { auth: {} }), { path: `/?tool=${asked}` }),
        ];
        for (const { tags, attributes } of pages) {
          const strange = [...tags].filter((tag) => !allowed.has(tag) && !PAGE_TAGS.has(tag));
          equal([payload, strange], [payload, []]);
          for (const [name, value] of attributes) {
            ok(ATTRIBUTES.has(name), `${payload}: an attribute ${name}`);
            if (["href", "src", "action", "data-live"].includes(name)) {
              ok(
                /^(?:\/(?!\/)|#main$|data:image\/svg\+xml,%3Csvg )/.test(value),
                `${payload}: ${name} leads to ${value}`,
              );
            }
          }
        }
      }
    },
    "what-hides-in-a-record-is-shown": async () => {
      const hidden = "a\u202eb\u200bc\u2066d\u001b[2Je";
      const record = recordOf({ tool: hidden, reason: hidden, session: hidden, input: { [hidden]: hidden } });
      const gateway = await gatewayOf({}, { records: storeOf([record]) });
      for (const path of ["/", `/decisions/${record.id}`]) {
        const { html, text } = await pageOf(gateway, { path });
        ok(!["\u202e", "\u200b", "\u2066", "\u001b"].some((char) => html.includes(char)), `${path}: something hides`);
        ok(text.includes("a U+202E b U+200B c U+2066 d U+001B [2Je"), text);
      }
    },
  },
);
