import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createGateway,
  createMetrics,
  createOtelTracer,
  createThreadRecorder,
  type Gateway,
  type GatewayListener,
  HookManager,
  serveGateway,
  type ThreadRecording,
} from "../../../adapters/node/index.ts";
import { sha256 } from "../../records/fixtures.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

let dir: string;
let recording: ThreadRecording;
let manager: HookManager;
let gateway: Gateway;
let listener: GatewayListener;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "hookgate-observe-"));
  recording = createThreadRecorder({ sqlite: { path: join(dir, "records.db") } });
  const hooks = (): ReturnType<HookManager["hooks"]> => manager.hooks();
  const metrics = createMetrics({ hooks, recorderStatus: () => recording.status() });
  const record = recording.toObserver(7);
  manager = new HookManager({
    onDecision(decision) {
      metrics.onDecision(decision);
      record(decision);
    },
  });
  await manager.mount(
    {
      beforeTool({ tool, arguments: given }) {
        if (tool === "rm") return { action: "deny_tool", reason: "no <script>" };
        if (tool === "boom") throw new Error("broken");
        return tool === "sed" ? { call: { arguments: { ...given, safe: true } } } : undefined;
      },
    },
    { name: 'gate "one"\n' },
  );
  const tokens = [
    { name: "bot", sha256: sha256("call"), scopes: ["call"] as const },
    { name: "eye", sha256: sha256("observe"), scopes: ["observe"] as const },
  ];
  gateway = createGateway({ host: manager, hooks, auth: { tokens }, recording, records: recording.store, metrics });
  listener = await serveGateway(gateway, { port: 0 });
});

afterEach(async () => {
  await listener.close();
  await recording.close();
  await manager.close();
  rmSync(dir, { recursive: true, force: true });
});

async function call(tool: string, headers: Readonly<Record<string, string>> = {}): Promise<{ trace: { id: string } }> {
  const response = await fetch(`${listener.url}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer call", ...headers },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "hook.before_tool",
      params: { tool, arguments: { password: "hunter2" }, meta: { SessionKey: "s1" } },
    }),
  });
  return ((await response.json()) as { result: { trace: { id: string } } }).result;
}

async function get(path: string, token = "observe"): Promise<Response> {
  return fetch(`${listener.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
}

describe("records over HTTP", () => {
  test("are found by the id of the answer, with who asked and in which trace", async () => {
    const { trace: answered } = await call("rm", { traceparent: TRACEPARENT });
    await recording.flush();
    const response = await get(`/v1/records/${answered.id}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({
      id: answered.id,
      trace_id: TRACE,
      generation: 7,
      caller: "bot",
      session: "s1",
      tool: "rm",
      action: "deny_tool",
      reason: "no <script>",
      hooks: [{ outcome: "deny_tool" }],
    });
  });

  test("are listed newest first, filtered and in pages, without content", async () => {
    for (const tool of ["ls", "rm", "sed", "boom", "ls"]) await call(tool);
    await recording.flush();
    type Page = { records: { tool: string; action: string }[]; next: string | null };
    const text = await (await get("/v1/records?limit=2")).text();
    expect(text).not.toContain("hunter2");
    const first = JSON.parse(text) as Page;
    expect(first.records.map(({ tool }) => tool)).toEqual(["ls", "boom"]);
    const second = (await (await get(`/v1/records?limit=3&cursor=${first.next}`)).json()) as Page;
    expect(second.records.map(({ tool, action }) => [tool, action])).toEqual([
      ["sed", "modify"],
      ["rm", "deny_tool"],
      ["ls", "continue"],
    ]);
    expect(second.next).toBeNull();
    const denied = (await (await get("/v1/records?outcome=deny_tool&session=s1&tool=rm")).json()) as Page;
    expect(denied.records).toHaveLength(1);
  });

  test.each(["limit=0", "limit=501", "limit=99999", "cursor=x", "since=yesterday"])("refuses ?%s", async (query) => {
    const response = await get(`/v1/records?${query}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/limit: expected 1 to 500"|cursor: expected the |since: expected a time/);
  });

  test.each(["/v1/records", "/v1/records/x", "/v1/events", "/metrics"])(
    "%s is for those who may read",
    async (path) => {
      expect((await get(path, "call")).status).toBe(403);
      expect((await fetch(`${listener.url}${path}`)).status).toBe(401);
    },
  );

  test("an id that is not there is 404", async () => {
    expect((await get("/v1/records/nothing")).status).toBe(404);
  });

  test("a sink that fails shows in /readyz as degraded", async () => {
    const failing = createThreadRecorder({ sqlite: { path: join(import.meta.filename, "x.db") } });
    const degraded = createGateway({ host: manager, hooks: () => [], recording: failing });
    failing.toObserver()({
      id: "x",
      point: "before_tool",
      atMs: 0,
      ms: 0,
      traceId: TRACE,
      caller: undefined,
      input: {},
      action: "continue",
      reason: "",
      records: [],
      changes: [],
    });
    await failing.flush();
    const response = await degraded.fetch(new Request("http://127.0.0.1/readyz"));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "degraded", records: { sinks: [{ state: "failing" }] } });
    await failing.close();
  });
});

test("events reach a socket, filtered, and end when the gateway does", async () => {
  const { host, port } = new URL(listener.url);
  const socket = connect(Number(port), "127.0.0.1");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  socket.write(`GET /v1/events?tool=rm HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer observe\r\n\r\n`);
  while (!text.includes("retry:")) await once(socket, "data");
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toMatch(/content-type: text\/event-stream\r\n/i);
  await call("ls");
  const { trace: answered } = await call("rm");
  while (!text.includes("event: decision")) await once(socket, "data");
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? "";
  expect(JSON.parse(data)).toMatchObject({ id: answered.id, tool: "rm", action: "deny_tool" });
  expect(text).not.toContain('"tool":"ls"');
  const closed = once(socket, "close");
  await listener.close();
  await closed;
  expect(recording.hub.size).toBe(0);
});

test("a client that leaves is forgotten", async () => {
  const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
  socket.write("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer observe\r\n\r\n");
  await once(socket, "data");
  expect(recording.hub.size).toBe(1);
  socket.destroy();
  await expect.poll(() => recording.hub.size).toBe(0);
});

/** Reads the Prometheus text format as its grammar says; throws at anything else. */
function parseMetrics(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  const typed = new Set<string>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("# HELP ")) continue;
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line)?.[1];
    if (type !== undefined) {
      if (typed.has(type)) throw new Error(`typed twice: ${type}`);
      typed.add(type);
      continue;
    }
    const sample =
      /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? ([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf|NaN))$/i.exec(
        line,
      );
    if (sample === null) throw new Error(`not a sample: ${line}`);
    const [, name = "", labels = "", value] = sample;
    if (![name, name.replace(/_(?:bucket|sum|count)$/, "")].some((known) => typed.has(known))) {
      throw new Error(`not typed: ${name}`);
    }
    samples.set(`${name}{${labels}}`, Number(value));
  }
  return samples;
}

test("metrics are what Prometheus reads", async () => {
  for (const tool of ["ls", "rm", "boom"]) await call(tool);
  await recording.flush();
  const response = await get("/metrics");
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const samples = parseMetrics(await response.text());
  const hook = String.raw`hook="gate \"one\"\n"`;
  expect(Object.fromEntries(samples)).toMatchObject({
    'hookgate_decisions_total{point="before_tool",action="deny_tool"}': 1,
    'hookgate_decisions_total{point="before_tool",action="continue"}': 2,
    [`hookgate_fail_open_total{${hook},point="before_tool",kind="hook_error"}`]: 1,
    [`hookgate_no_verdicts_total{${hook},point="before_tool",kind="hook_error"}`]: 1,
    [`hookgate_verdicts_total{${hook},point="before_tool",outcome="deny_tool"}`]: 1,
    'hookgate_point_duration_seconds_count{point="before_tool"}': 3,
    'hookgate_point_duration_seconds_bucket{point="before_tool",le="60"}': 3,
    'hookgate_point_duration_seconds_bucket{point="before_tool",le="+Inf"}': 3,
    [`hookgate_hook_state{${hook},state="ready"}`]: 1,
    'hookgate_record_sink_records{sink="sqlite",result="written"}': 3,
    'hookgate_record_sink_failing{sink="sqlite"}': 0,
    "hookgate_records_dropped{}": 0,
  });
});

describe("spans", () => {
  const exporter = new InMemorySpanExporter();

  afterEach(() => {
    trace.disable();
    exporter.reset();
  });

  test("are made for a point and for each hook call, in the host's trace", async () => {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    const traced = new HookManager({ tracer: createOtelTracer() });
    const seen: (string | undefined)[] = [];
    await traced.mount(
      {
        source: "http",
        points: new Set(["before_tool"] as const),
        call(_point, _current, scope) {
          seen.push(scope.traceparent);
          return { action: "deny_tool", reason: "no" };
        },
        notify() {},
        status: () => ({ state: "ready" }),
        ready: () => Promise.resolve(),
        close: () => Promise.resolve(),
      },
      { name: "remote" },
    );
    await traced.mount({ beforeTool: () => Promise.reject(new Error("broken")) }, { name: "local" });
    const asked = { tool: "bash", meta: { SessionKey: "s1", AgentID: "main" } };
    await traced.beforeTool(asked, { traceparent: TRACEPARENT });
    const [local, remote, point] = exporter.getFinishedSpans();
    expect(point).toMatchObject({
      name: "hook before_tool",
      attributes: {
        "rpc.method": "hook.before_tool",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.agent.id": "main",
        "gen_ai.conversation.id": "s1",
        "hookgate.action": "deny_tool",
      },
      parentSpanContext: { traceId: TRACE, spanId: "00f067aa0ba902b7" },
      status: { code: 0 },
    });
    const { spanId } = point!.spanContext();
    expect(local).toMatchObject({
      name: "hook before_tool local",
      parentSpanContext: { traceId: TRACE, spanId },
      attributes: { "error.type": "hook_error", "hookgate.failed_open": true },
      status: { code: 2 },
    });
    expect(remote).toMatchObject({ parentSpanContext: { spanId }, attributes: { "hookgate.outcome": "deny_tool" } });
    expect(seen).toEqual([`00-${TRACE}-${remote!.spanContext().spanId}-01`]);
  });

  test("without an SDK there are none, and the host's trace still reaches the hook", async () => {
    const seen: (string | undefined)[] = [];
    const untraced = new HookManager({ tracer: createOtelTracer() });
    await untraced.mount(
      {
        source: "http",
        points: new Set(["before_tool"] as const),
        call: (_point, _current, scope) => void seen.push(scope.traceparent),
        notify() {},
        status: () => ({ state: "ready" }),
        ready: () => Promise.resolve(),
        close: () => Promise.resolve(),
      },
      { name: "remote" },
    );
    await untraced.beforeTool({ tool: "bash" }, { traceparent: TRACEPARENT });
    await untraced.beforeTool({ tool: "bash" }, { traceparent: "not one" });
    expect(seen).toEqual([TRACEPARENT, undefined]);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});
