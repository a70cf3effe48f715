import * as z from "zod";
import {
  APPROVAL_BUDGET_MS,
  findContradictions,
  HOOK_GRANTS,
  HOOK_POINTS,
  type HookPoint,
  INTERCEPTOR_BUDGET_MS,
  uncarriedField,
} from "../picoclaw/index.ts";
import type { Entry } from "./entry.ts";
import { toOperation } from "./operation.ts";
import { type FailureConfig, type OperationConfig, operationSchema } from "./operation-schema.ts";
import { formatPath, type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

const KEYS: Readonly<Record<string, string>> = { readOnly: "read_only" };
const EFFECT_KEYS = ["on_error", "on_timeout", "on_invalid", "on_unreachable"] as const;
const grantsSchema = z.array(z.enum(HOOK_GRANTS));

/** What contradicts itself in how a hook is to be called. What has the wrong type is left to the schema. */
export function checkOperation([at, entry]: Entry, root: unknown): readonly Finding[] {
  const points = readPoints(entry);
  const { data } = operationSchema.safeParse(entry);
  if (points === undefined || data === undefined) return [];
  const grants = grantsSchema.safeParse(valueAt(entry, ["grants"])).data;
  const problems = findContradictions(points, { ...toOperation(data), grants });
  const findings = problems.map(({ option: [name, ...inside], message }) => {
    const keys = name === "policy" ? EFFECT_KEYS.filter((key) => data[key] !== undefined) : [name ?? ""];
    return { at: [...at, KEYS[keys[0] ?? ""] ?? keys[0] ?? "", ...inside], message };
  });
  const isDead = problems.some(({ option }) => option[0] === "match");
  return [
    ...findings,
    ...(isDead ? [] : checkPoints(at, points, data)),
    ...checkTime(at, { points, timeoutMs: data.timeout_ms, root }),
  ];
}

function readPoints(entry: unknown): ReadonlySet<HookPoint> | undefined {
  const { data } = z.array(z.enum(HOOK_POINTS)).safeParse(valueAt(entry, ["intercept"]) ?? []);
  const observed = valueAt(entry, ["observe"]);
  // A hook that is never called at all is a problem of its own.
  if (data === undefined || (data.length === 0 && observed === undefined)) return undefined;
  return new Set(data);
}

/** A point that is listed and can never fire was meant otherwise. */
function checkPoints(
  at: JsonPath,
  points: ReadonlySet<HookPoint>,
  { match = {} }: OperationConfig,
): readonly Finding[] {
  return [...points].flatMap((point, index) => {
    const field = uncarriedField(match, point);
    if (field === undefined) return [];
    const message = `the hook is never called here: it matches by ${field}, which ${point} does not have`;
    return [{ at: [...at, "intercept", index], message, value: JSON.stringify(point) }];
  });
}

interface TimeSite {
  readonly points: ReadonlySet<HookPoint>;
  readonly timeoutMs: number | undefined;
  readonly root: unknown;
}

/** A deadline that no budget leaves time for would never be reached: the call is cut before. */
function checkTime(at: JsonPath, { points, timeoutMs, root }: TimeSite): readonly Finding[] {
  if (timeoutMs === undefined || points.size === 0) return [];
  const budgets = [...points].map((point) => budgetOf(root, point === "approve_tool" ? "approval" : "interceptor"));
  const [widest] = budgets.toSorted((a, b) => b.ms - a.ms);
  if (widest === undefined || timeoutMs <= widest.ms) return [];
  const message = `the call is cut before that, by the budget of its point: hooks.defaults.${widest.key} is ${widest.ms}`;
  return [{ at: [...at, "timeout_ms"], message, value: String(timeoutMs) }];
}

function budgetOf(root: unknown, kind: "approval" | "interceptor"): { readonly key: string; readonly ms: number } {
  const key = `${kind}_budget_ms`;
  const given = positiveAt(root, key);
  const own = positiveAt(root, `${kind}_timeout_ms`) ?? 0;
  const fallback = Math.max(kind === "approval" ? APPROVAL_BUDGET_MS : INTERCEPTOR_BUDGET_MS, own);
  return { key, ms: given ?? fallback };
}

function positiveAt(root: unknown, key: string): number | undefined {
  const value = valueAt(root, ["hooks", "defaults", key]);
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** What a person should know about approvers that may fail without a denial. */
export function toOperationNotes({ hooks }: ConfigFile): readonly string[] {
  const ofHooks = Object.entries(hooks.processes).flatMap(([name, entry]) =>
    hooks.enabled && entry.enabled && entry.intercept.includes("approve_tool")
      ? toNotes(entry, ["hooks", "processes", name])
      : [],
  );
  return [...toNotes(hooks.defaults.approvals ?? {}, ["hooks", "defaults", "approvals"]), ...ofHooks];
}

function toNotes(config: FailureConfig, at: JsonPath): readonly string[] {
  const keys = EFFECT_KEYS.filter((key) => config[key] === "continue");
  if (keys.length === 0) return [];
  return [
    `${formatPath(at)}: with ${keys.join(", ")} "continue" a tool runs unapproved whenever its approver fails so`,
  ];
}
