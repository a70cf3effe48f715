import { createHooks } from "hookable";
import { AsyncSeriesWaterfallHook } from "tapable";
import { HookManager, type LlmRequest } from "../../src/picoclaw/index.ts";
import { type BenchReport, measureRates, toRatio } from "./report.ts";

type Handler = (request: LlmRequest) => Promise<undefined>;

interface Contestant {
  readonly name: string;
  run(): Promise<unknown>;
}

const TIMEOUT_MS = 5000;
const HOST_SIGNAL = new AbortController().signal;

/** A hook as most are: it looks, and changes nothing. */
const look: Handler = async (request) => {
  if (request.model === "") throw new Error("no model");
  return undefined;
};

function createRequest(payloadBytes: number): LlmRequest {
  const message = { role: "user", content: "x".repeat(120) };
  const count = Math.max(1, Math.round(payloadBytes / JSON.stringify(message).length));
  const meta = { AgentID: "", TurnID: "", ParentTurnID: "", SessionKey: "", Iteration: 0, TracePath: "", Source: "" };
  return { meta, model: "m", messages: Array.from({ length: count }, () => ({ ...message })) };
}

async function createHookgate(hookCount: number, request: LlmRequest): Promise<Contestant> {
  const manager = new HookManager();
  for (let index = 0; index < hookCount; index += 1)
    await manager.mount({ beforeLlm: look }, { name: `hook-${index}` });
  return { name: "hookgate", run: () => manager.beforeLlm(request, { signal: HOST_SIGNAL }) };
}

/** The same guarantees the obvious way: a deep copy, a deadline and the host's signal for every hook, and a record. */
function createPlainLoop(hookCount: number, request: LlmRequest): Contestant {
  const hooks = Array.from({ length: hookCount }, () => look);
  return {
    name: "plain loop, same guarantees",
    async run() {
      const records: { readonly outcome: string; readonly ms: number }[] = [];
      for (const hook of hooks) {
        const startedAtMs = performance.now();
        const signal = AbortSignal.any([HOST_SIGNAL, AbortSignal.timeout(TIMEOUT_MS)]);
        const cut = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("cut"))));
        await Promise.race([hook(structuredClone(request)), cut]);
        records.push({ outcome: "continue", ms: performance.now() - startedAtMs });
      }
      return { request, records };
    },
  };
}

function createTapable(hookCount: number, request: LlmRequest): Contestant {
  const waterfall = new AsyncSeriesWaterfallHook<[LlmRequest]>(["request"]);
  for (let index = 0; index < hookCount; index += 1) {
    waterfall.tapPromise(`hook-${index}`, async (shown) => (await look(shown)) ?? shown);
  }
  return { name: "tapable, no guarantees", run: () => waterfall.promise(request) };
}

function createHookable(hookCount: number, request: LlmRequest): Contestant {
  const hooks = createHooks<{ step: Handler }>();
  for (let index = 0; index < hookCount; index += 1) hooks.hook("step", look);
  return {
    name: "hookable, no guarantees",
    run: async () => {
      await hooks.callHook("step", request);
    },
  };
}

/** In-process chains that change nothing, against the same guarantees made the obvious way, and against none. */
export async function benchChain(): Promise<readonly BenchReport[]> {
  const reports: BenchReport[] = [];
  for (const payloadBytes of [300, 1_000_000]) {
    const request = createRequest(payloadBytes);
    for (const hookCount of [1, 10, 100]) {
      const contestants = [
        await createHookgate(hookCount, request),
        createPlainLoop(hookCount, request),
        createTapable(hookCount, request),
        createHookable(hookCount, request),
      ];
      const rates = await measureRates(contestants);
      reports.push({
        title: `chain of ${hookCount}, ${payloadBytes} bytes, calls/s`,
        rows: rates,
        ratios: [toRatio(rates, { of: "hookgate", to: "plain loop, same guarantees", atLeast: 5 })],
      });
    }
  }
  return reports;
}
