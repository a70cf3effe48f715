/**
 * What the public types say, checked by the compiler: `npm run typecheck` fails where one of these does not hold.
 * @module
 */

import { expectTypeOf } from "vitest";
import {
  type AbortReply,
  type ApprovalDecision,
  type ApprovalReply,
  type BeforeToolChange,
  defineHook,
  type DenyReply,
  type Hook,
  type HookCallError,
  type HookgateError,
  type HookgateErrorCode,
  type NoVerdictKind,
  type HookContext,
  type HookEvent,
  type HookHost,
  type HookManager,
  type HookPoint,
  type HookPort,
  type HostEvent,
  type HostPayload,
  type LlmRequest,
  type LlmRequestDecision,
  type LlmResponse,
  type LlmResponseDecision,
  type Meta,
  type RespondReply,
  type ToolApproval,
  type ToolCall,
  type ToolCallDecision,
  type ToolCheckDecision,
  type ToolOutcome,
  type ToolOutcomeDecision,
  type ToolResult,
} from "../src/index.ts";

type HandlerName = Exclude<keyof Hook, "lifecycle">;
type Handler<K extends HandlerName> = NonNullable<Hook[K]>;
type Reply<K extends HandlerName> = Exclude<Awaited<ReturnType<Handler<K>>>, void | null | undefined>;

// A handler gets its point's payload and a context.
expectTypeOf<Parameters<Handler<"beforeLlm">>>().toEqualTypeOf<[request: LlmRequest, context: HookContext]>();
expectTypeOf<Parameters<Handler<"afterLlm">>>().toEqualTypeOf<[response: LlmResponse, context: HookContext]>();
expectTypeOf<Parameters<Handler<"beforeTool">>>().toEqualTypeOf<[call: ToolCall, context: HookContext]>();
expectTypeOf<Parameters<Handler<"afterTool">>>().toEqualTypeOf<[outcome: ToolOutcome, context: HookContext]>();
expectTypeOf<Parameters<Handler<"approveTool">>>().toEqualTypeOf<[request: ToolApproval, context: HookContext]>();
expectTypeOf<Parameters<Handler<"onEvent">>>().toEqualTypeOf<[event: HookEvent, context: HookContext]>();
expectTypeOf<HookContext["signal"]>().toEqualTypeOf<AbortSignal>();

// A handler may answer at once or later, and need not answer.
expectTypeOf<() => void>().toExtend<Handler<"beforeTool">>();
expectTypeOf<() => Promise<void>>().toExtend<Handler<"beforeTool">>();
expectTypeOf<() => null>().toExtend<Handler<"beforeTool">>();
expectTypeOf<() => Promise<DenyReply>>().toExtend<Handler<"beforeTool">>();

// Only what its point allows can be answered.
expectTypeOf<RespondReply | DenyReply | AbortReply | BeforeToolChange>().toExtend<Reply<"beforeTool">>();
for (const point of ["beforeLlm", "afterLlm", "afterTool"] as const) {
  expectTypeOf<AbortReply>().toExtend<Reply<typeof point>>();
  expectTypeOf<DenyReply>().not.toExtend<Reply<typeof point>>();
  expectTypeOf<RespondReply>().not.toExtend<Reply<typeof point>>();
}
expectTypeOf<{ action: "Modify" }>().not.toExtend<Reply<"beforeTool">>();
expectTypeOf<{ action: string }>().not.toExtend<Reply<"beforeTool">>();
expectTypeOf<string>().not.toExtend<Reply<"beforeTool">>();
expectTypeOf<{ action: "respond"; result: { text: string } }>().not.toExtend<Reply<"beforeTool">>();
expectTypeOf<{ call: { arguments: string } }>().not.toExtend<Reply<"beforeTool">>();
expectTypeOf<{ call: { arguments: { n: number } } }>().toExtend<Reply<"beforeTool">>();
expectTypeOf<{ request: { model: number } }>().not.toExtend<Reply<"beforeLlm">>();

// An approval says so: nothing else passes for one.
expectTypeOf<Reply<"approveTool">>().toEqualTypeOf<ApprovalReply>();
expectTypeOf<ApprovalReply["approved"]>().toEqualTypeOf<boolean>();
expectTypeOf<{ reason: string }>().not.toExtend<ApprovalReply>();
expectTypeOf<boolean>().not.toExtend<Reply<"approveTool">>();
expectTypeOf<() => { approved: string }>().not.toExtend<Handler<"approveTool">>();

// The last two are results in either form.
expectTypeOf<{ result: ToolResult }>().toExtend<Reply<"afterTool">>();
expectTypeOf<{ result: { result: ToolResult } }>().toExtend<Reply<"afterTool">>();
expectTypeOf<{ response: { content: string } }>().toExtend<Reply<"afterLlm">>();
expectTypeOf<{ response: { response: { content: string } } }>().toExtend<Reply<"afterLlm">>();

// defineHook keeps the hook's own type, and gives its handlers theirs.
const hook = defineHook({
  beforeTool(call) {
    expectTypeOf(call).toEqualTypeOf<ToolCall>();
    return call.tool === "exec" ? { action: "deny_tool", reason: "no" } : undefined;
  },
});
expectTypeOf(hook).toExtend<Hook>();
expectTypeOf(hook.beforeTool).toBeFunction();

// A payload cannot be assigned to by its type; what it holds beyond the known keys is unknown.
expectTypeOf<ToolCall["tool"]>().toEqualTypeOf<string>();
expectTypeOf<ToolCall["arguments"]>().toExtend<Readonly<Record<string, unknown>> | undefined>();
expectTypeOf<Meta["Iteration"]>().toEqualTypeOf<number>();
expectTypeOf<ToolCall["later"]>().toBeUnknown();

// A host may leave out what the manager fills in, and nothing else.
expectTypeOf<{ tool: string }>().toExtend<HostPayload<ToolCall>>();
expectTypeOf<{ tool: string; meta: { AgentID: string } }>().toExtend<HostPayload<ToolOutcome>>();
expectTypeOf<{ meta: Meta }>().not.toExtend<HostPayload<ToolCall>>();
expectTypeOf<{ tool: string; arguments: string }>().not.toExtend<HostPayload<ToolCall>>();
expectTypeOf<{ model: string }>().toExtend<HostPayload<LlmRequest>>();
expectTypeOf<{ Kind: string }>().toExtend<HostEvent>();

// A decision's action narrows to what its point can decide.
expectTypeOf<LlmRequestDecision["action"]>().toEqualTypeOf<"continue" | "abort_turn" | "hard_abort">();
expectTypeOf<LlmResponseDecision["action"]>().toEqualTypeOf<"continue" | "abort_turn" | "hard_abort">();
expectTypeOf<ToolOutcomeDecision["action"]>().toEqualTypeOf<"continue" | "abort_turn" | "hard_abort">();
expectTypeOf<ToolCallDecision["action"]>().toEqualTypeOf<
  "continue" | "respond" | "deny_tool" | "abort_turn" | "hard_abort"
>();
expectTypeOf<ToolCallDecision["result"]>().toEqualTypeOf<ToolResult | undefined>();
expectTypeOf<ToolCheckDecision>().toExtend<ToolCallDecision>();
expectTypeOf<ToolCheckDecision["approved"]>().toEqualTypeOf<boolean>();
expectTypeOf<ApprovalDecision["approved"]>().toEqualTypeOf<boolean>();
expectTypeOf<ApprovalDecision["ticket"]>().toBeUnknown();

/** Every action is handled, or this does not compile. */
export function nameOf({ action }: ToolCallDecision): string {
  switch (action) {
    case "continue":
    case "respond": {
      return "goes on";
    }
    case "deny_tool": {
      return "is denied";
    }
    case "abort_turn":
    case "hard_abort": {
      return "ends the turn";
    }
    default: {
      expectTypeOf(action).toBeNever();
      return action;
    }
  }
}

// The manager is a host like the client of a gateway, and takes hooks of both kinds.
expectTypeOf<HookManager>().toExtend<HookHost>();
expectTypeOf<Hook | HookPort>().toExtend<Parameters<HookManager["mount"]>[0]>();
expectTypeOf<HookHost["emit"]>().returns.toBeVoid();

// Codes and kinds are literals.
expectTypeOf<string>().not.toExtend<HookgateErrorCode>();
expectTypeOf<string>().not.toExtend<NoVerdictKind>();
expectTypeOf<string>().not.toExtend<HookPoint>();
expectTypeOf<HookCallError>().toExtend<HookgateError>();
expectTypeOf<HookCallError["kind"]>().toEqualTypeOf<NoVerdictKind>();
