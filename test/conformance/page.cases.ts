import type { GatewayLifecycle, GatewayOptions } from "../../src/gateway/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { CALL, callText, gatewayOf, post, requestOf, toAnswer } from "./gateway-fixture.ts";
import { hookOf, pageOf, recordingOf, recordOf, storeOf } from "./page-fixture.ts";

const SOURCE = 'docs/operations.md, "Status page"';

async function statusOf(options: Partial<GatewayOptions>, query = ""): ReturnType<typeof pageOf> {
  return pageOf(await gatewayOf({}, options), { path: `/${query}` });
}

/** What the pages show. */
export const statusPageCases: readonly Case[] = casesOf(
  { topic: "page", source: SOURCE },
  {
    "hooks-are-shown-with-what-their-calls-came-to": async () => {
      const hook = await hookOf({
        calls: 1234,
        verdicts: 1200,
        no_verdicts: { timeout: 30, bad_json: 4 },
        failed_open: 30,
        last_fired: "2026-01-02T03:04:05.678Z",
        latency_ms: { p50: 0.012, p95: 3.4567, p99: 1234.5 },
        last_no_verdict: { time: "2026-01-02T03:04:05.678Z", point: "before_tool", kind: "timeout", error: "no reply" },
        mode: "audit",
      });
      const broken = {
        ...hook,
        name: "desk",
        state: "backing_off" as const,
        lastError: "command not found",
        required: true,
      };
      const { status, text } = await statusOf({ hooks: () => [hook, Object.assign(broken, { circuitOpen: true })] });
      equal(status, 200);
      for (const said of [
        "Status not ready",
        "The required hook desk is not ready.",
        "gate audit: not applied in-process ready before_tool 2026-01-02 03:04:05 1,234 1,200 34 30 timeout 4 bad_json 30 12 µs 3.46 ms 1235 ms",
        "Last no-verdict: timeout at before_tool, 2026-01-02 03:04:05 : no reply",
        "desk required",
        "backing off circuit open",
        "Not ready: command not found",
      ]) {
        ok(text.includes(said), `"${said}" is not in: ${text}`);
      }
    },
    "hooks-of-a-yaml-file-are-shown-too": async () => {
      const hook = {
        event: "pre_send_message",
        level: "user",
        type: "bash",
        label: "./check.sh <b>",
        timeout_ms: 10_000,
        retry: 0,
        on_error: "skip",
        metrics: { executions: 12, successes: 9, failures: 3, skipped: 4, total_ms: 60 },
        last_fired: "2026-01-02T03:04:05.678Z",
        latency_ms: { p50: 4, p95: 20, p99: 20 },
        last_error: "exit code 3 <script>",
        ignored_fields: [],
        index: 0,
      } as const;
      const lifecycle = { hooks: () => [hook], sessions: {} } as unknown as GatewayLifecycle;
      const { text } = await statusOf({ lifecycle });
      const row = "./check.sh <b> bash pre_send_message user 2026-01-02 03:04:05 12 9 3 4 4.00 ms 20.0 ms 20.0 ms";
      ok(text.includes(row) && text.includes("Last error: exit code 3 <script>"), text);
    },
    "latencies-are-in-the-list-of-hooks-too": async () => {
      const gateway = await gatewayOf({ a: { beforeTool: () => {} }, b: { afterTool: () => {} } });
      await post(gateway, CALL);
      const { json } = await toAnswer(await gateway.fetch(requestOf({ method: "GET", path: "/v1/hooks" })));
      const [a, b] = (json as { hooks: { latency_ms?: { p50: number; p95: number; p99: number } }[] }).hooks;
      const { p50 = -1, p95 = -1, p99 = -1 } = a?.latency_ms ?? {};
      ok(p50 >= 0 && p95 >= p50 && p99 >= p95, `${p50} ${p95} ${p99}`);
      equal(b?.latency_ms, undefined);
    },
    "the-last-call-without-a-verdict-is-in-the-list-of-hooks": async () => {
      const gateway = await gatewayOf({
        a: {
          beforeTool() {
            throw new Error("broken pipe");
          },
        },
      });
      await post(gateway, callText("hook.before_tool", { tool: "ls" }));
      const { json } = await toAnswer(await gateway.fetch(requestOf({ method: "GET", path: "/v1/hooks" })));
      const last = (json as { hooks: { last_no_verdict?: Record<string, string> }[] }).hooks[0]?.last_no_verdict;
      equal([last?.["point"], last?.["kind"]], ["before_tool", "hook_error"]);
      ok(last?.["error"]?.includes("broken pipe"), JSON.stringify(last));
    },
    "decisions-are-shown-newest-first-and-lead-to-one": async () => {
      const records = storeOf([
        recordOf({ action: "deny_tool", reason: "no shell here" }),
        recordOf({ id: "a/b", tool: "ls" }),
      ]);
      const { text, attributes } = await statusOf({ records, recording: recordingOf() });
      ok(text.includes("2026-01-02 03:04:05.678 before_tool bash deny_tool no shell here s1 bot 1 1.50 ms"), text);
      const links = attributes.filter(([name, value]) => name === "href" && value.startsWith("/decisions/"));
      equal(
        links.map(([, href]) => href),
        ["/decisions/01a2202e-535e-7d27-a186-1bbf040322fd", "/decisions/a%2Fb"],
      );
    },
    "decisions-are-filtered-by-what-the-form-sends": async () => {
      const records = storeOf(Array.from({ length: 120 }, () => recordOf({ tool: "a&b" })));
      const gateway = await gatewayOf({}, { records, recording: recordingOf() });
      await pageOf(gateway, { path: "/?session=&tool=&outcome=" });
      await pageOf(gateway, { path: "/?session=s1&tool=ls&outcome=denied&cursor=nonsense&other=1" });
      const { attributes, text } = await pageOf(gateway, { path: "/?tool=a%26b&cursor=50" });
      equal(records.asked, [
        { maxRecords: 50 },
        { maxRecords: 50, session: "s1", tool: "ls", outcome: "denied" },
        { maxRecords: 50, tool: "a&b", cursor: "50" },
      ]);
      const links = attributes
        .filter(([name, value]) => name === "href" && value.startsWith("/?"))
        .map(([, href]) => href);
      equal(links, ["/?tool=a%26b", "/?tool=a%26b&cursor=100"]);
      ok(
        attributes.some(([name, value]) => name === "value" && value === "a&b"),
        "the form has lost what was asked",
      );
      ok(text.includes("Earlier decisions"), text);
    },
    "one-decision-is-a-timeline": async () => {
      const record = recordOf({
        action: "abort_turn",
        reason: "enough",
        input: { tool: "bash", arguments: { command: "ls" } },
        hooks: [
          {
            hook: "first",
            source: "http",
            outcome: "no_verdict",
            kind: "timeout",
            error: "no reply in time",
            ms: 5000,
            attempt: 2,
            failed_open: true,
          },
          {
            hook: "second",
            source: "stdio",
            outcome: "modify",
            ms: 0.2,
            attempt: 1,
            changes: [
              { op: "replace", path: "/arguments/command", value: "ls -l" },
              { op: "remove", path: "/arguments/x" },
              { op: "add", path: "/arguments/y" },
            ],
            changes_truncated: true,
          },
          { hook: "third", source: "in-process", outcome: "audit", ms: 0.1, attempt: 1, would: "deny_tool: no" },
          { hook: "fourth", source: "in-process", outcome: "continue", ms: 0.1, attempt: 1, cached: true },
          { hook: "fifth", source: "in-process", outcome: "out_of_budget", ms: 0, attempt: 0 },
        ],
      });
      const gateway = await gatewayOf({}, { records: storeOf([record]) });
      const { status, text } = await pageOf(gateway, { path: `/decisions/${record.id}` });
      equal(status, 200);
      for (const said of [
        "bash abort_turn 2026-01-02 03:04:05.678 UTC",
        "enough",
        "first no verdict timeout failed open http 5000 ms, attempt 2 no reply in time",
        'replace /arguments/command "ls -l" remove /arguments/x add /arguments/y not recorded',
        "It changed more than a record holds.",
        "Only audited. It would have done: deny_tool: no",
        "fourth continue from cache in-process 100 µs",
        "fifth out of budget in-process not called",
        '"command": "ls"',
      ]) {
        ok(text.includes(said), `"${said}" is not in: ${text}`);
      }
    },
    "a-decision-that-is-not-there-or-cannot-be-read-is-said": async () => {
      const records = { ...storeOf([]), get: (id: string) => Promise.resolve(id === "bad" ? '{"id":1}' : undefined) };
      const gateway = await gatewayOf({}, { records });
      const broken = { ...storeOf([]), get: () => Promise.reject(new Error("disk I/O error")) };
      const failing = await gatewayOf({}, { records: broken });
      const seen = [
        await pageOf(gateway, { path: "/decisions/none" }),
        await pageOf(gateway, { path: "/decisions/bad" }),
        await pageOf(failing, { path: "/decisions/none" }),
        await pageOf(await gatewayOf(), { path: "/decisions/none" }),
      ];
      equal(
        seen.map(({ status }) => status),
        [404, 500, 500, 404],
      );
      ok(!seen.some(({ text }) => text.includes("disk I/O")), "the page says more than it should");
    },
    "without-records-the-page-says-how-to-have-them": async () => {
      const { text: off } = await statusOf({});
      ok(off.includes('Decisions are not recorded. To see them here, put "records": { "sqlite"'), off);
      const { text: elsewhere } = await statusOf({ recording: recordingOf() });
      ok(elsewhere.includes("Decisions are recorded where they cannot be looked up from here."), elsewhere);
      const { text: said } = await statusOf({ absent: { "/v1/records": "they go to a queue <here>" } });
      ok(said.includes("they go to a queue <here>") && !said.includes("To see them here"), said);
    },
    "records-that-are-lost-or-cannot-be-written-are-said": async () => {
      const sink = {
        name: "sqlite",
        state: "failing",
        error: "database or disk is full",
        written: 5,
        lost: 7,
        waiting: 9,
      };
      const recording = recordingOf({ degraded: true, dropped: 3, sinks: [sink as never] });
      const { text } = await statusOf({ recording, hooks: () => [] });
      for (const said of [
        "Status degraded",
        "Records cannot be written to sqlite , 9 are waiting: database or disk is full",
        "7 records never reached sqlite .",
        "No record was made of 3 decisions",
        "Records lost 10",
      ]) {
        ok(text.includes(said), `"${said}" is not in: ${text}`);
      }
    },
    "records-that-cannot-be-read-take-nothing-else-away": async () => {
      const records = { ...storeOf([]), list: () => Promise.reject(new Error("disk I/O error")) };
      const { status, text } = await statusOf({ records, hooks: () => [] });
      equal(status, 200);
      ok(text.includes("No hook is mounted") && text.includes("The records cannot be read just now"), text);
      const odd = { ...storeOf([]), list: () => Promise.resolve({ records: ["{", "[]", '{"id":"x"}'] }) };
      const { text: shown } = await statusOf({ records: odd });
      equal(shown.split("A record that cannot be read.").length, 4);
    },
    "every-page-says-what-a-browser-must-not-do": async () => {
      const open = await gatewayOf({}, { records: storeOf([recordOf()]) });
      const closed = await gatewayOf({}, { auth: {} });
      for (const [gateway, path] of [
        [open, "/"],
        [open, `/decisions/${recordOf().id}`],
        [open, "/decisions/none"],
        [closed, "/"],
      ] as const) {
        const { headers, tags, attributes, html } = await pageOf(gateway, { path });
        const policy = (headers.get("content-security-policy") ?? "").split("; ");
        equal(policy, [
          "default-src 'none'",
          "style-src 'self'",
          "script-src 'self'",
          "connect-src 'self'",
          "img-src data:",
          "form-action 'self'",
          "base-uri 'none'",
          "frame-ancestors 'none'",
        ]);
        equal(
          ["x-content-type-options", "referrer-policy", "cache-control", "x-frame-options", "content-type"].map(
            (name) => headers.get(name),
          ),
          ["nosniff", "same-origin", "no-store", "DENY", "text/html; charset=utf-8"],
        );
        ok(!tags.has("style") && !attributes.some(([name]) => name === "style"), "a style is inline");
        ok(!/<script(?![^>]* src=)/.test(html), "a script is inline");
      }
    },
    "style-and-script-come-from-here-and-may-be-kept": async () => {
      const gateway = await gatewayOf({}, { auth: {} });
      const { attributes } = await pageOf(gateway, { path: "/" });
      const files = attributes.filter(([name, value]) => /^(?:href|src)$/.test(name) && value.startsWith("/page/"));
      equal(files.length, 2);
      for (const [, path] of files) {
        const { status, headers } = await gateway.fetch(requestOf({ method: "GET", path }));
        equal([status, headers.get("cache-control")], [200, "public, max-age=31536000, immutable"]);
        equal(headers.get("x-content-type-options"), "nosniff");
      }
    },
    "the-page-knows-its-methods": async () => {
      const gateway = await gatewayOf();
      const head = await gateway.fetch(requestOf({ method: "HEAD", path: "/" }));
      equal([head.status, await head.text()], [200, ""]);
      for (const [method, path, allow] of [
        ["POST", "/", "GET, HEAD"],
        ["GET", "/page/sign-in", "POST"],
        ["DELETE", "/page/sign-out", "POST"],
      ] as const) {
        const { status, headers } = await gateway.fetch(requestOf({ method, path }));
        equal([status, headers.get("allow")], [405, allow]);
      }
    },
    "a-page-elsewhere-cannot-look-in-by-a-name-of-its-own": async () => {
      const { status } = await pageOf(await gatewayOf(), { path: "/", headers: { host: "evil.example" } });
      equal(status, 403);
    },
  },
);
