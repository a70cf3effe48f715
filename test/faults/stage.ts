import { createHttpExchange } from "../../adapters/node/http-exchange.ts";
import type { GuardedAgentOptions } from "../../adapters/node/guarded-agent.ts";
import type { HookRecord } from "../../src/chain/index.ts";
import {
  createGreeting,
  createRemotePort,
  HOOK_POINTS,
  HookManager,
  type HookPoint,
} from "../../src/picoclaw/index.ts";
import { createFetchExchange } from "../../src/transport/fetch-exchange.ts";
import { createHttpTransport } from "../../src/transport/http.ts";
import type { HttpExchange } from "../../src/transport/http-exchange.ts";
import type { HttpOptions } from "../../src/transport/http-options.ts";
import type { Transport } from "../../src/transport/contract.ts";

/** The ways a request can be carried out on Node. */
export const EXCHANGES: Readonly<Record<"undici" | "fetch", (options?: GuardedAgentOptions) => HttpExchange>> = {
  undici: (options) => createHttpExchange(options),
  fetch: () => createFetchExchange(),
};

/** What one hook made of each point. */
export interface Seen {
  readonly point: HookPoint;
  /** Whether the host would go on: an interceptor continued unchanged, an approver approved. */
  readonly goesOn: boolean;
  readonly record: HookRecord | undefined;
}

/** A manager with one HTTP hook at every point. */
export interface Stage {
  readonly transport: Transport;
  /** Asks at every point, all at once. */
  askAll(): Promise<readonly Seen[]>;
  close(): Promise<void>;
}

/** Options of {@link createStage}. */
export interface StageOptions extends Omit<HttpOptions, "name"> {
  readonly timeoutMs?: number | undefined;
  readonly greets?: boolean;
  /** The host's own signal. */
  readonly hostSignal?: AbortSignal;
}

/** Mounts one HTTP hook at every point of a manager. */
export async function createStage({
  timeoutMs = 9000,
  greets = false,
  hostSignal,
  ...options
}: StageOptions): Promise<Stage> {
  const points = new Set(HOOK_POINTS);
  const greeting = createGreeting({ name: "fault", points, observes: false, transport: "http" });
  const transport = createHttpTransport({ unsigned: true, ...options, name: "fault", ...(greets ? { greeting } : {}) });
  const manager = new HookManager({ timeouts: { interceptorMs: timeoutMs, approvalMs: timeoutMs } });
  await manager.mount(createRemotePort(transport, { source: "http", points }), { name: "fault" });
  const host = { signal: hostSignal };
  const asks: Readonly<Record<HookPoint, () => Promise<Omit<Seen, "point">>>> = {
    before_llm: async () => toSeen(await manager.beforeLlm({ model: "m", messages: [] }, host)),
    after_llm: async () => toSeen(await manager.afterLlm({ model: "m", response: { content: "" } }, host)),
    before_tool: async () => toSeen(await manager.beforeTool({ tool: "shell" }, host)),
    after_tool: async () => toSeen(await manager.afterTool({ tool: "shell", result: { for_llm: "" } }, host)),
    approve_tool: async () => {
      const { approved, trace } = await manager.approveTool({ tool: "shell" }, host);
      return { goesOn: approved, record: trace.records[0] };
    },
  };
  return {
    transport,
    askAll: () => Promise.all(HOOK_POINTS.map(async (point) => ({ point, ...(await asks[point]()) }))),
    close: () => manager.close(),
  };
}

function toSeen({
  action,
  changed,
  trace,
}: {
  readonly action: string;
  readonly changed: boolean;
  readonly trace: { readonly records: readonly HookRecord[] };
}): Omit<Seen, "point"> {
  return { goesOn: action === "continue" && !changed, record: trace.records[0] };
}

/** What is expected of one point. */
export interface Outcome {
  readonly point: HookPoint;
  /** The kind of the no-verdict, or `verdict`. */
  readonly kind: string;
  readonly goesOn: boolean;
  readonly failedOpen: boolean;
}

/** How each point ended. */
export function toOutcomes(seen: readonly Seen[]): readonly Outcome[] {
  return seen.map(({ point, goesOn, record }) => ({
    point,
    kind: record?.kind ?? "verdict",
    goesOn,
    failedOpen: record?.failed_open === true,
  }));
}

/** How each point must end: without a verdict an approval denies and everything else goes on, and the record says so. */
export function outcomesOf(kind: string): readonly Outcome[] {
  return HOOK_POINTS.map((point) => {
    const isOpen = point !== "approve_tool";
    return { point, kind, goesOn: kind === "verdict" || isOpen, failedOpen: kind !== "verdict" && isOpen };
  });
}
