import {
  type Context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import type { HookRecord } from "../../src/chain/index.ts";
import type { HookSpan, HookTracer, ObservedVerdict, PointSpan, PointStart } from "../../src/picoclaw/index.ts";

const NAME = "hookgate";

/**
 * Traces hook points and hook calls with whatever OpenTelemetry SDK the process has registered. Without one it costs a look
 * at the registration.
 * @see {@link https://opentelemetry.io/docs/specs/semconv/gen-ai/}
 */
export function createOtelTracer(): HookTracer {
  return {
    start(point, call) {
      const tracer = findTracer();
      return tracer && new OtelPointSpan(tracer, point, call);
    },
  };
}

/** The tracer of the registered SDK; undefined when there is none. */
function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(NAME) : provider.getTracer(NAME);
}

class OtelPointSpan implements PointSpan {
  readonly traceparent: string;
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  readonly #point: string;

  constructor(tracer: Tracer, point: string, { payload, traceparent }: PointStart) {
    const parent = toContext(traceparent);
    const { tool, model, meta } = payload;
    this.#tracer = tracer;
    this.#point = point;
    this.#span = tracer.startSpan(
      `hook ${point}`,
      {
        kind: SpanKind.SERVER,
        attributes: {
          "rpc.system": "jsonrpc",
          "rpc.method": `hook.${point}`,
          "gen_ai.operation.name": point.endsWith("_tool") ? "execute_tool" : "chat",
          ...(typeof tool === "string" && { "gen_ai.tool.name": tool }),
          ...(typeof model === "string" && { "gen_ai.request.model": model }),
          ...(meta.AgentID !== "" && { "gen_ai.agent.id": meta.AgentID }),
          ...(meta.SessionKey !== "" && { "gen_ai.conversation.id": meta.SessionKey }),
          "hookgate.point": point,
        },
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
    this.traceparent = toTraceparent(this.#span);
  }

  startHook({ name, source }: { readonly name: string; readonly source: string }): HookSpan {
    const span = this.#tracer.startSpan(
      `hook ${this.#point} ${name}`,
      {
        kind: source === "in-process" ? SpanKind.INTERNAL : SpanKind.CLIENT,
        attributes: {
          ...(source !== "in-process" && { "rpc.system": "jsonrpc", "rpc.method": `hook.${this.#point}` }),
          "hookgate.hook": name,
          "hookgate.source": source,
          "hookgate.point": this.#point,
        },
      },
      this.#context,
    );
    return { traceparent: toTraceparent(span), end: (record) => endHook(span, record) };
  }

  end({ action, reason }: ObservedVerdict): void {
    this.#span.setAttribute("hookgate.action", action);
    if (reason !== "") this.#span.setAttribute("hookgate.reason", reason.slice(0, 300));
    if (action === "aborted") this.#span.setStatus({ code: SpanStatusCode.ERROR, message: "the host gave up" });
    this.#span.end();
  }
}

/** A denial is a verdict, and no error; no verdict is one. */
function endHook(span: Span, { outcome, kind, error, attempt, failed_open, cached, would }: HookRecord): void {
  span.setAttribute("hookgate.outcome", outcome);
  if (attempt > 1) span.setAttribute("hookgate.attempt", attempt);
  if (failed_open === true) span.setAttribute("hookgate.failed_open", true);
  if (cached === true) span.setAttribute("hookgate.cached", true);
  if (would !== undefined) span.setAttribute("hookgate.would", would);
  if (kind !== undefined) {
    span.setAttribute("error.type", kind);
    if (outcome === "no_verdict") span.setStatus({ code: SpanStatusCode.ERROR, ...(error && { message: error }) });
  }
  span.end();
}

function toContext(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparent?.split("-") ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags ?? "0", 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function toTraceparent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}
