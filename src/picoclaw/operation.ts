import { FAILURE_EFFECTS, FAILURE_RULES, type FailureRules } from "../chain/index.ts";
import { MAX_DELAY_MS } from "../wait.ts";
import type { CacheOptions } from "./cache.ts";
import { createMatcher, type HookMatch, impossibleField, uncarriedField } from "./match.ts";
import type { HookPoint } from "./point.ts";
import type { HookGrant } from "./trust.ts";

/** Options that say how a hook is called, and what follows when it gives no verdict. */
export interface OperationOptions {
  /** Deadline of one call, in milliseconds, 1 to 2^31 - 1. @default that of its class */
  readonly timeoutMs?: number | undefined;
  /**
   * What a no-verdict of the hook means, by cause. The threat: an approver that may `continue` is as if it were absent
   * whenever it fails, so whoever makes it fail runs tools it never saw. `deny` aborts the turn where a point has no
   * denial. @default that of its class
   */
  readonly policy?: FailureRules | undefined;
  /** For which calls of its points it is made. Events are not matched. @default all of them */
  readonly match?: HookMatch | undefined;
  /** Whether neighbours that say so are called at the same time. It takes a hook that changes nothing. @default false */
  readonly parallel?: boolean | undefined;
  /**
   * Whether the hook may only continue, deny or abort; a reply that changes something is no verdict. Approvers
   * never change anything. @default false
   */
  readonly readOnly?: boolean | undefined;
  /** `audit`: the hook is called, and what it would have done is recorded and not applied. @default "enforce" */
  readonly mode?: HookExecutionMode | undefined;
  /** Whether a hook in audit mode is called after the verdict, outside of the turn. @default false */
  readonly detached?: boolean | undefined;
  /** How far its replies may be used again. @default they are not */
  readonly cache?: CacheOptions | undefined;
  /**
   * How many calls of it may run at once, 1 to 65536; as many more wait within their deadlines, approvals first.
   * @default no bound of the manager's own
   */
  readonly maxConcurrency?: number | undefined;
  readonly grants?: readonly HookGrant[] | undefined;
}

/** Whether a hook's verdicts count. */
export type HookExecutionMode = "enforce" | "audit";

/** Every {@link HookExecutionMode}. */
export const EXECUTION_MODES: readonly HookExecutionMode[] = ["enforce", "audit"];

/** One thing that is wrong with how a hook is to be called. */
export interface OperationProblem {
  /** The option, and the place inside of it. */
  readonly option: readonly (string | number)[];
  readonly message: string;
}

const NEED_POINTS = ["policy", "match", "parallel", "readOnly", "mode", "detached", "cache"] as const;

/** What contradicts itself in how a hook is to be called; nothing where it can be called so. */
export function findContradictions(
  points: ReadonlySet<HookPoint>,
  options: OperationOptions,
): readonly OperationProblem[] {
  if (points.size === 0) {
    const strays = NEED_POINTS.filter((name) => options[name] !== undefined && options[name] !== false);
    return strays.map((name) => ({ option: [name], message: "has no meaning for a hook that is only told of events" }));
  }
  return [...findChanging(points, options), ...findImpossible(points, options.match)];
}

function findChanging(points: ReadonlySet<HookPoint>, options: OperationOptions): readonly OperationProblem[] {
  const { parallel, readOnly, mode, detached, cache, grants } = options;
  const problems: OperationProblem[] = [];
  if (readOnly === true && grants !== undefined && grants.length > 0) {
    problems.push({
      option: ["grants"],
      message: "a read-only hook may not respond or rewrite, so it can have no grant",
    });
  }
  const mayRewrite = readOnly !== true && [...points].some((point) => point !== "approve_tool");
  if (parallel === true && mayRewrite) {
    const message = "a hook that may change what passes through has its place in the order: say it is read-only";
    problems.push({ option: ["parallel"], message });
  }
  if (detached === true && mode !== "audit") {
    problems.push({ option: ["detached"], message: 'only a hook in mode "audit" can come after the verdict' });
  }
  if (detached === true && parallel === true) {
    problems.push({ option: ["parallel"], message: "a detached hook is not called beside others" });
  }
  if (detached === true && cache !== undefined) {
    problems.push({ option: ["cache"], message: "nobody waits for a detached hook, so there is nothing to save" });
  }
  return problems;
}

function findImpossible(points: ReadonlySet<HookPoint>, match: HookMatch | undefined): readonly OperationProblem[] {
  if (match === undefined) return [];
  const field = impossibleField(match);
  if (field !== undefined) {
    return [{ option: ["match", field], message: "the hook is never called: what fits is excluded again" }];
  }
  const uncarried = [...points].map((point) => uncarriedField(match, point));
  const [first] = uncarried;
  if (first === undefined || uncarried.includes(undefined)) return [];
  return [{ option: ["match", first], message: `the hook is never called: none of its points has a ${first}` }];
}

/**
 * Checks how a hook is to be called.
 * @throws {TypeError} when something contradicts itself or is not known
 * @throws {RangeError} when a number is out of its bounds
 */
export function assertOperable(points: ReadonlySet<HookPoint>, options: OperationOptions): void {
  const { timeoutMs, mode = "enforce", policy = {}, match } = options;
  if (timeoutMs !== undefined && !(timeoutMs >= 1 && timeoutMs <= MAX_DELAY_MS)) {
    throw new RangeError(`timeoutMs: expected milliseconds from 1 to ${MAX_DELAY_MS}, got ${timeoutMs}`);
  }
  if (!EXECUTION_MODES.includes(mode)) {
    throw new TypeError(`mode: expected one of ${EXECUTION_MODES.join(", ")}, got ${JSON.stringify(mode)}`);
  }
  for (const name of Object.values(FAILURE_RULES)) {
    const effect = policy[name];
    if (effect === undefined || FAILURE_EFFECTS.includes(effect)) continue;
    throw new TypeError(`policy.${name}: expected one of ${FAILURE_EFFECTS.join(", ")}, got ${JSON.stringify(effect)}`);
  }
  if (match !== undefined) createMatcher(match);
  const [problem] = findContradictions(points, options);
  if (problem !== undefined) throw new TypeError(`${problem.option.join(".")}: ${problem.message}`);
}
