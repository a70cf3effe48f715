import {
  createEventFilter,
  createLocalPort,
  EVENT_KINDS,
  type Hook,
  type HookEvent,
} from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { at, casesOf, keepingLog, managerOf, META, remoteHook } from "./fixture.ts";

/** Each documented kind and its later name. */
const KINDS: Readonly<Record<string, string>> = {
  turn_start: "agent.turn.start",
  turn_end: "agent.turn.end",
  llm_request: "agent.llm.request",
  llm_delta: "agent.llm.delta",
  llm_response: "agent.llm.response",
  llm_retry: "agent.llm.retry",
  context_compress: "agent.context.compress",
  session_summarize: "agent.session.summarize",
  tool_exec_start: "agent.tool.exec_start",
  tool_exec_end: "agent.tool.exec_end",
  tool_exec_skipped: "agent.tool.exec_skipped",
  steering_injected: "agent.steering.injected",
  follow_up_queued: "agent.follow_up.queued",
  interrupt_received: "agent.interrupt.received",
  subturn_spawn: "agent.subturn.spawn",
  subturn_end: "agent.subturn.end",
  subturn_result_delivered: "agent.subturn.result_delivered",
  subturn_orphan: "agent.subturn.orphan",
  approval_requested: "agent.approval.requested",
  approval_decided: "agent.approval.decided",
  error: "agent.error",
};

const TIME = "2026-07-01T10:00:00.000Z";
const FLUSH_MS = 5000;

/** An observer that keeps the kinds of what it is told. */
function keeping(kinds: string[]): Hook {
  return {
    onEvent({ Kind }) {
      kinds.push(Kind);
    },
  };
}

/** Section 8: what observers are told. */
export const eventCases: readonly Case[] = casesOf(
  { topic: "events", source: "PicoClaw hook semantics, section 8" },
  {
    "the-documented-form": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"] });
      const manager = await managerOf({ hook: hook.port });
      manager.emit({ Kind: "tool_exec_end", Time: TIME, Meta: META, Payload: { Tool: "exec", Duration: 5 } });
      await manager.flush(FLUSH_MS);
      equal(hook.sent[0]?.method, "hook.event");
      equal(hook.read(0), { Kind: "tool_exec_end", Time: TIME, Meta: META, Payload: { Tool: "exec", Duration: 5 } });
    },
    "the-later-form": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"], events: "hook.runtime_event" });
      const manager = await managerOf({ hook: hook.port });
      manager.emit({ Kind: "turn_start", Time: TIME, Meta: META, Payload: { Channel: "cli", ChatID: "direct" } });
      await manager.flush(FLUSH_MS);
      const { id, ...rest } = hook.read(0) as Record<string, unknown>;
      ok(typeof id === "string" && id.length > 0, "the id is missing");
      equal(hook.sent[0]?.method, "hook.runtime_event");
      equal(rest, {
        kind: "agent.turn.start",
        time: TIME,
        source: { component: "agent", name: "main" },
        scope: { agent_id: "main", session_key: "cli:direct", turn_id: "turn-1", channel: "cli", chat_id: "direct" },
        correlation: { trace_id: "main/turn-1" },
        severity: "info",
        payload: { Channel: "cli", ChatID: "direct" },
      });
    },
    "the-later-form-of-an-error-is-severe": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"], events: "hook.runtime_event" });
      const manager = await managerOf({ hook: hook.port });
      manager.emit({ Kind: "error", Payload: { Stage: "llm", Message: "m" } });
      await manager.flush(FLUSH_MS);
      equal([at(hook.read(0))["severity"], at(hook.read(0))["kind"]], ["error", "agent.error"]);
    },
    "each-event-has-its-own-id-and-the-same-for-all": async () => {
      const [a, b] = ["a", "b"].map(() => remoteHook([], () => null, { observe: ["*"], events: "hook.runtime_event" }));
      const manager = await managerOf({ a: a!.port, b: b!.port });
      manager.emit({ Kind: "turn_start" });
      manager.emit({ Kind: "turn_end" });
      await manager.flush(FLUSH_MS);
      equal(a!.sent, b!.sent);
      ok(at(a!.read(0))["id"] !== at(a!.read(1))["id"], "two events share an id");
    },
    "what-a-host-leaves-out-is-filled-in": async () => {
      for (const left of [{}, { Meta: {} }, { Meta: null, Time: null } as never]) {
        const hook = remoteHook([], () => null, { observe: ["*"] });
        const manager = await managerOf({ hook: hook.port });
        manager.emit({ Kind: "turn_start", ...left });
        await manager.flush(FLUSH_MS);
        const { Time, ...rest } = hook.read(0) as HookEvent;
        ok(new Date(Time).toISOString() === Time, "Time is no RFC 3339 time");
        const empty = {
          AgentID: "",
          TurnID: "",
          ParentTurnID: "",
          SessionKey: "",
          Iteration: 0,
          TracePath: "",
          Source: "",
        };
        equal(rest, { Kind: "turn_start", Meta: empty });
      }
    },
    "every-kind-is-known-in-both-forms": async () => {
      equal(EVENT_KINDS.toSorted(), [...Object.keys(KINDS), ...Object.values(KINDS)].toSorted());
    },
    "a-host-may-use-either-name": async () => {
      const kinds: string[] = [];
      const manager = await managerOf({ a: keeping(kinds) });
      for (const [documented, runtime] of Object.entries(KINDS)) {
        manager.emit({ Kind: runtime });
        manager.emit({ Kind: documented });
        await manager.flush(FLUSH_MS);
      }
      equal(
        kinds,
        Object.keys(KINDS).flatMap((kind) => [kind, kind]),
      );
    },
    "the-later-form-has-the-later-names": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"], events: "hook.runtime_event" });
      const manager = await managerOf({ hook: hook.port });
      for (const kind of Object.keys(KINDS)) manager.emit({ Kind: kind });
      await manager.flush(FLUSH_MS);
      equal(
        hook.sent.map((_, n) => at(hook.read(n))["kind"]),
        Object.values(KINDS),
      );
    },
    "a-filter-names-either-form": async () => {
      for (const [documented, runtime] of Object.entries(KINDS)) {
        for (const name of [documented, runtime]) {
          const filter = createEventFilter([name]);
          equal(
            Object.keys(KINDS).filter((kind) => filter.matches(kind)),
            [documented],
          );
        }
      }
    },
    "star-and-all-are-everything": async () => {
      for (const name of ["*", "all"])
        ok(createEventFilter(["turn_end", name]).matches("anything"), `${name} is not all`);
    },
    "an-empty-list-is-nothing": async () => {
      equal(
        Object.keys(KINDS).filter((kind) => createEventFilter([]).matches(kind)),
        [],
      );
    },
    "an-observer-is-told-only-what-it-observes": async () => {
      const kinds: string[] = [];
      const hook = remoteHook([], () => null, { observe: ["agent.tool.exec_end"] });
      const manager = await managerOf({
        near: createLocalPort(keeping(kinds), { observe: ["turn_end", "error"] }),
        far: hook.port,
        none: { beforeTool: () => {} },
      });
      for (const kind of Object.keys(KINDS)) manager.emit({ Kind: kind });
      await manager.flush(FLUSH_MS);
      equal([kinds, hook.sent.map((_, n) => at(hook.read(n))["Kind"])], [["turn_end", "error"], ["tool_exec_end"]]);
    },
    "events-come-in-order-one-at-a-time": async () => {
      const log: string[] = [];
      const observer: Hook = {
        async onEvent({ Kind }) {
          log.push(`${Kind} starts`);
          await Promise.resolve();
          log.push(`${Kind} ends`);
        },
      };
      const manager = await managerOf({ observer });
      for (const Kind of ["a", "b", "c"]) manager.emit({ Kind });
      await manager.flush(FLUSH_MS);
      equal(log, ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
    },
    "a-payload-passes-through-as-given": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"] });
      const manager = await managerOf({ hook: hook.port });
      const payloads = [{ Odd: [1, null, { a: "\u2028" }] }, "text", 5, [1], null];
      for (const Payload of payloads) manager.emit({ Kind: "context_compress", Payload });
      await manager.flush(FLUSH_MS);
      equal(
        payloads.map((_, n) => at(hook.read(n))["Payload"]),
        payloads,
      );
    },
    "what-the-host-changes-later-is-not-seen": async () => {
      const hook = remoteHook([], () => null, { observe: ["*"] });
      const manager = await managerOf({ hook: hook.port });
      const [payload, meta] = [{ list: [1] }, { ...META, Extra: { n: 1 } }];
      manager.emit({ Kind: "error", Payload: payload, Meta: meta });
      payload.list.push(2);
      meta.Extra.n = 2;
      await manager.flush(FLUSH_MS);
      equal([at(hook.read(0))["Payload"], at(hook.read(0), "Meta")["Extra"]], [{ list: [1] }, { n: 1 }]);
    },
    "what-an-observer-changes-no-other-sees": async () => {
      const spoiler: Hook = {
        onEvent(event) {
          at(event, "Payload")["Tool"] = "spoilt";
          at(event)["Kind"] = "spoilt";
          at(event, "Meta")["AgentID"] = "spoilt";
        },
      };
      const hook = remoteHook([], () => null, { observe: ["*"] });
      const manager = await managerOf({ spoiler, hook: hook.port });
      manager.emit({ Kind: "tool_exec_start", Time: TIME, Meta: META, Payload: { Tool: "exec" } });
      await manager.flush(FLUSH_MS);
      equal(hook.read(0), { Kind: "tool_exec_start", Time: TIME, Meta: META, Payload: { Tool: "exec" } });
    },
    "a-payload-that-cannot-be-copied-is-dropped-and-logged": async () => {
      const kinds: string[] = [];
      const { log, warnings } = keepingLog();
      const manager = await managerOf({ a: keeping(kinds) }, { log });
      manager.emit({ Kind: "error", Payload: { f: () => {} } });
      manager.emit({ Kind: "turn_end" });
      await manager.flush(FLUSH_MS);
      equal([kinds, warnings.map(({ fields }) => fields)], [["turn_end"], [{ kind: "error" }]]);
    },
    "emit-never-throws": async () => {
      const manager = await managerOf({ a: { onEvent: () => {} } });
      for (const event of [null, undefined, 5, {}, { Kind: 5 }, { Kind: "x", Meta: "y" }] as never[])
        manager.emit(event);
      await manager.flush(FLUSH_MS);
    },
  },
);
