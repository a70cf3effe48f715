import {
  type Approval,
  ApprovalManager,
  type ApprovalManagerOptions,
  type ApprovalNews,
  type ApprovalStore,
  createHumanApprovalHook,
  createMemoryApprovalStore,
  humanApprovalSchema,
  storeUnavailable,
} from "../../src/approvals/index.ts";
import { type ApprovalDecision, HookManager, type HostPayload, type ToolCall } from "../../src/picoclaw/index.ts";
import { START_MS } from "./approval-fixture.ts";
import { createGate, toolCall } from "./fixture.ts";

/** A clock whose timers run when it is moved. */
export class FakeClock {
  nowMs: number = START_MS;
  /** The delays that timers were started with. */
  readonly delays: number[] = [];
  readonly #timers = new Set<{ readonly atMs: number; readonly run: () => void }>();
  #onStart: (() => void) | undefined;

  readonly now = (): number => this.nowMs;

  readonly startTimer = (run: () => void, delayMs: number): (() => void) => {
    const timer = { atMs: this.nowMs + delayMs, run };
    this.#timers.add(timer);
    this.delays.push(delayMs);
    this.#onStart?.();
    return () => void this.#timers.delete(timer);
  };

  /** How many timers are running. */
  get running(): number {
    return this.#timers.size;
  }

  /** Resolves with the next timer that is started. */
  async nextTimer(): Promise<void> {
    const gate = createGate();
    this.#onStart = () => gate.open();
    await gate.promise;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    for (const timer of this.#timers) {
      if (timer.atMs > this.nowMs) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }
}

/** A store that can be taken down. */
export function createFlakyStore(store: ApprovalStore): ApprovalStore & { isDown: boolean } {
  const own = { isDown: false };
  return new Proxy(store, {
    get(target, key) {
      if (key === "isDown") return own.isDown;
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (own.isDown) throw storeUnavailable("it is down");
        return (Reflect.apply(value, target, args) as Promise<unknown>) ?? undefined;
      };
    },
    set: (_target, key, value) => Reflect.set(own, key, value),
  }) as ApprovalStore & { isDown: boolean };
}

/** A manager of hooks with `human_approval`, and the people it asks. */
export interface HumanStage {
  readonly clock: FakeClock;
  readonly store: ApprovalStore & { isDown: boolean };
  readonly approvals: ApprovalManager;
  readonly host: HookManager;
  readonly news: (readonly [ApprovalNews, Approval])[];
  ask(call?: HostPayload<ToolCall>): Promise<ApprovalDecision>;
  /** Asks, and resolves when the call waits for people. */
  begin(call?: HostPayload<ToolCall>): Promise<{ readonly asked: Promise<ApprovalDecision>; readonly id: string }>;
  decide(approval: string, decision?: "approve" | "deny", more?: Partial<Decision>): Promise<Approval>;
}

type Decision = Parameters<ApprovalManager["decide"]>[1];

/** Builds a {@link HumanStage} with one rule, or with these. */
export async function openHumanStage(
  rules: object | readonly object[] = {},
  options: Partial<ApprovalManagerOptions> = {},
): Promise<HumanStage> {
  const clock = new FakeClock();
  const store = createFlakyStore(createMemoryApprovalStore({ now: clock.now }));
  const news: (readonly [ApprovalNews, Approval])[] = [];
  const { now, startTimer } = clock;
  const approvals = new ApprovalManager({
    store,
    now,
    startTimer,
    onNews: (kind, approval) => void news.push([kind, approval]),
    ...options,
  });
  const config = humanApprovalSchema.parse({ rules: Array.isArray(rules) ? rules : [rules] });
  const host = new HookManager({ now });
  await host.mount(createHumanApprovalHook(config, { approvals }), { name: "human_approval" });
  const ask = (call = toolCall()): Promise<ApprovalDecision> => host.approveTool(call);
  return {
    clock,
    store,
    approvals,
    host,
    news,
    ask,
    async begin(call) {
      const timer = clock.nextTimer();
      const asked = ask(call);
      await timer;
      const { approvals: open } = await store.list({ status: "pending", maxApprovals: 1 });
      return { asked, id: open[0]?.id ?? "" };
    },
    decide: (id, decision = "approve", more = {}) =>
      approvals.decide(id, { by: "ann", how: "token", decision, ...more }),
  };
}
