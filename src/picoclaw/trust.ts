import { type ChainHook, IN_PROCESS, isSameJson } from "../chain/index.ts";
import type { DecisionCache } from "./cache.ts";
import type { LlmRequest, Message, Origin } from "./payload.ts";

/**
 * What a hook may do beyond its point's plain changes. `respond`: answer in a tool's place, which no approver sees.
 * `rewrite_system`: change what the model is told as its instructions. `rewrite_tools`: change which tools it may call.
 */
export type HookGrant = "respond" | "rewrite_system" | "rewrite_tools";

/** Every {@link HookGrant}. */
export const HOOK_GRANTS: readonly HookGrant[] = ["respond", "rewrite_system", "rewrite_tools"];

/** Options that say how far a hook is trusted. */
export interface TrustOptions {
  /**
   * What the hook may do. The threat: a hook that answers over a network and is taken over could run what no approver
   * saw, and rewrite the agent's instructions. @default all for in-process and stdio hooks, none for any other
   */
  readonly grants?: readonly HookGrant[] | undefined;
  /** Whether a call that the hook answers in the tool's place still has to be approved. @default false */
  readonly respondRequiresApproval?: boolean | undefined;
}

/** How far a hook is trusted. */
export interface Trust {
  readonly grants: ReadonlySet<HookGrant>;
  readonly respondRequiresApproval: boolean;
}

/** A hook in a chain, with how far it is trusted. */
export interface TrustedHook<P extends Origin> extends ChainHook<P> {
  readonly trust: Trust;
  /** Keeps replies that may be used again. @default none are */
  readonly cache?: DecisionCache | undefined;
}

const TRUSTED_SOURCES: ReadonlySet<string> = new Set([IN_PROCESS, "stdio"]);

/**
 * Fills in the defaults for a hook of this source.
 * @throws {TypeError} when a grant is not known
 */
export function toTrust(source: string, { grants, respondRequiresApproval = false }: TrustOptions): Trust {
  const unknown = grants?.find((grant) => !HOOK_GRANTS.includes(grant));
  if (unknown !== undefined) {
    throw new TypeError(`grants: expected some of ${HOOK_GRANTS.join(", ")}, got ${JSON.stringify(unknown)}`);
  }
  const defaults = TRUSTED_SOURCES.has(source) ? HOOK_GRANTS : [];
  return { grants: new Set(grants ?? defaults), respondRequiresApproval };
}

/** A request with what was not granted put back. */
export interface Withheld<P extends Origin> {
  readonly next: P;
  /** What was put back. */
  readonly missing: readonly HookGrant[];
}

/**
 * Puts back what a hook changed in a model request without the grant for it: `rewrite_tools` is any change of `tools`;
 * `rewrite_system` is any change of the sequence of system messages, or one that no longer leads the conversation.
 */
export function withholdUngranted<P extends Origin>(next: P, current: P, grants: Trust["grants"]): Withheld<P> {
  const missing: HookGrant[] = [];
  let kept = next;
  if (!grants.has("rewrite_system") && next["messages"] !== current["messages"]) {
    const messages = restoreSystem(messagesOf(next), messagesOf(current));
    if (messages !== undefined) {
      missing.push("rewrite_system");
      kept = replace(kept, "messages", messages.length === 0 ? current["messages"] : messages);
    }
  }
  if (!grants.has("rewrite_tools") && next["tools"] !== current["tools"]) {
    missing.push("rewrite_tools");
    kept = replace(kept, "tools", current["tools"]);
  }
  if (missing.length === 0) return { next, missing };
  return { next: isSameJson(kept, current) ? current : kept, missing };
}

/** The payload with another value at a key, or without the key. */
function replace<P extends Origin>(payload: P, key: "messages" | "tools", value: unknown): P {
  const copy = { ...payload, [key]: value };
  if (value === undefined) Reflect.deleteProperty(copy, key);
  return copy;
}

function messagesOf(payload: Origin): readonly Message[] {
  const { messages }: Partial<LlmRequest> = payload;
  return messages ?? [];
}

/** Whether a model takes a message as instructions. Some providers call the role `developer`. */
function isSystem({ role }: Message): boolean {
  const name = role.trim().toLowerCase();
  return name === "system" || name === "developer";
}

/**
 * The messages with the host's own system messages in them: each after as many other messages as before, or at the end.
 * @returns undefined when there is nothing to put back
 */
function restoreSystem(next: readonly Message[], current: readonly Message[]): readonly Message[] | undefined {
  const isKept = isSameJson(next.filter(isSystem), current.filter(isSystem));
  if (isKept && countLeading(next) >= countLeading(current)) return undefined;
  const others = next.filter((message) => !isSystem(message));
  const restored: Message[] = [];
  let passed = 0;
  for (const message of current) {
    if (isSystem(message)) {
      restored.push(message);
      continue;
    }
    const other = others[passed];
    passed += 1;
    if (other !== undefined) restored.push(other);
  }
  return [...restored, ...others.slice(passed)];
}

function countLeading(messages: readonly Message[]): number {
  const end = messages.findIndex((message) => !isSystem(message));
  return end === -1 ? messages.length : end;
}
