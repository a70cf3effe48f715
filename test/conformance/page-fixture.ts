import type { Gateway, GatewayHook } from "../../src/gateway/index.ts";
import { HookManager } from "../../src/picoclaw/index.ts";
import {
  type DecisionRecord,
  matchesFilter,
  RecordHub,
  type Recording,
  type RecordStore,
} from "../../src/records/index.ts";
import { ok } from "./case.ts";
import { requestOf, type RequestParts } from "./gateway-fixture.ts";

/** What must stay text: scripts, handlers, addresses, ends of attributes and elements, templates, entities. */
export const PAYLOADS: readonly string[] = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  '" autofocus onfocus="alert(1)',
  "' onmouseover='alert(1)",
  "` onclick=alert(1) `",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)//",
  "data:text/html,<script>alert(1)</script>",
  "</pre></td></tr></table><script>alert(1)</script>",
  "</title><script>alert(1)</script>",
  "</textarea><script>alert(1)</script>",
  "--><script>alert(1)</script><!--",
  "<![CDATA[<script>alert(1)</script>]]>",
  "${alert(1)}",
  "{{constructor.constructor('alert(1)')()}}",
  "<%= alert(1) %>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "&#60;script&#62;",
  "&amp;quot;",
  "<iframe srcdoc='<script>alert(1)</script>'>",
  "<base href=//evil.example/>",
  "<meta http-equiv=refresh content='0;url=//evil.example'>",
  "<link rel=stylesheet href=//evil.example/x.css>",
  "<form action=//evil.example><button>",
  "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  "\u2028<script>\u2029alert(1)</script>",
  "\u0000<scr\u0000ipt>alert(1)</scr\u0000ipt>",
  "<scr\u200bipt>alert(1)</script>",
  "\ud800<b>",
];

/** A page as it was answered. */
export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** What a reader sees, with one space where there are several. */
  readonly text: string;
  readonly tags: ReadonlySet<string>;
  /** Each attribute with its value. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

const TAG = /<(\/?[a-z][a-z\d]*)((?:\s+[a-z][a-z\d-]*(?:="[^"<>]*")?)*)\s*\/?>/g;
const ATTRIBUTE = /([a-z][a-z\d-]*)(?:="([^"]*)")?/g;

/** Asks a gateway for a page. What is not a tag as pages write them has no `<` in it. */
export async function pageOf(gateway: Gateway, parts: RequestParts): Promise<Page> {
  const { status, headers, body } = await gateway.fetch(requestOf({ method: "GET", ...parts }));
  const html = body === null ? "" : await new Response(body).text();
  const tags = new Set<string>();
  const attributes: [string, string][] = [];
  const bare = html.replace(/^<!doctype html>/, "").replaceAll(TAG, (_all, tag: string, rest: string) => {
    tags.add(tag.replace("/", ""));
    for (const [, name = "", value = ""] of rest.matchAll(ATTRIBUTE)) attributes.push([name, unescape(value)]);
    return " ";
  });
  ok(!/[<>]/.test(bare), `something in the page is neither text nor a tag: ${/.{0,60}[<>].{0,60}/.exec(bare)?.[0]}`);
  return { status, headers, html, text: unescape(bare.replaceAll(/\s+/g, " ")), tags, attributes };
}

function unescape(text: string): string {
  const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_all, name: string) => entities[name] ?? "");
}

/** A record of a decision. */
export function recordOf(changes: Partial<DecisionRecord> = {}): DecisionRecord {
  return {
    id: "01a2202e-535e-7d27-a186-1bbf040322fd",
    time: "2026-01-02T03:04:05.678Z",
    trace_id: "01a2202e535e7d27a1861bbf040322fd",
    generation: 1,
    caller: "bot",
    session: "s1",
    point: "before_tool",
    tool: "bash",
    input_sha256: "0".repeat(64),
    action: "continue",
    reason: "",
    ms: 1.5,
    hooks: [{ hook: "gate", source: "in-process", outcome: "continue", ms: 0.5, attempt: 1 }],
    ...changes,
  };
}

/** Records that are looked up in a list, newest first. */
export function storeOf(records: readonly DecisionRecord[]): RecordStore & { readonly asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    list(options) {
      asked.push(options);
      const from = Number(options.cursor ?? 0);
      const found = records.filter((record) => matchesFilter(record, options)).slice(from);
      const page = found.slice(0, options.maxRecords).map((record) => JSON.stringify(record));
      const next = from + options.maxRecords;
      return Promise.resolve(
        found.length > options.maxRecords ? { records: page, next: String(next) } : { records: page },
      );
    },
    get: (id) => Promise.resolve(JSON.stringify(records.find((record) => record.id === id))),
  };
}

/** A recording of which only the status is looked at. */
export function recordingOf(status: Partial<ReturnType<Recording["status"]>> = {}): Recording {
  return {
    toObserver: () => () => {},
    status: () => ({ degraded: false, dropped: 0, waiting: 0, sinks: [], ...status }),
    hub: new RecordHub(),
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** The status of a mounted hook, with what a test says. */
export async function hookOf(changes: Partial<GatewayHook> = {}): Promise<GatewayHook> {
  const host = new HookManager();
  await host.mount({ beforeTool: () => {} }, { name: "gate" });
  const [hook] = host.hooks();
  ok(hook !== undefined, "the hook is not mounted");
  return { ...hook, ...changes };
}

/** A form as a page of the gateway sends it. */
export function formOf(path: string, fields: Readonly<Record<string, string>>, headers = {}): RequestParts {
  return {
    method: "POST",
    path,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      origin: "http://127.0.0.1:8787",
      host: "127.0.0.1:8787",
      ...headers,
    },
    body: String(new URLSearchParams(fields)),
  };
}

/** Signs in; the `cookie` header of later requests comes back. */
export async function signIn(gateway: Gateway, token: string): Promise<string> {
  const { headers } = await gateway.fetch(requestOf(formOf("/page/sign-in", { token, next: "/" })));
  return headers.get("set-cookie")?.split(";")[0] ?? "";
}
