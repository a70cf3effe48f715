import { parseMaskPath } from "../records/index.ts";
import { type ApprovalStoreKind, DEFAULT_APPROVALS, parseStoreAddress } from "./approvals-schema.ts";
import { toProblem } from "./check-keys.ts";
import { textsAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";

const STORE: JsonPath = ["approvals", "store"];
const MASK: JsonPath = ["approvals", "mask"];
const HOOK: JsonPath = ["hooks", "builtins", "human_approval"];

/** What is wrong with where approvals are kept, and with what people are shown of them. */
export function checkApprovals(root: unknown, stores: readonly ApprovalStoreKind[]): readonly Finding[] {
  return [...checkMasks(root), ...checkStore(root, stores)];
}

function checkMasks(root: unknown): readonly Finding[] {
  const masks = valueAt(root, MASK);
  return textsAt(MASK, Array.isArray(masks) ? masks : []).flatMap(([place, text]) =>
    toProblem(place, () => parseMaskPath(text)),
  );
}

/** Whoever asks for approvals must not find out later that there is nowhere to keep them. */
function checkStore(root: unknown, stores: readonly ApprovalStoreKind[]): readonly Finding[] {
  const isNeeded =
    valueAt(root, ["approvals"]) !== undefined ||
    (valueAt(root, [...HOOK, "enabled"]) === true && valueAt(root, ["hooks", "enabled"]) !== false);
  if (!isNeeded) return [];
  const text = valueAt(root, STORE) ?? DEFAULT_APPROVALS.store;
  const address = typeof text === "string" ? parseStoreAddress(text) : undefined;
  if (address === undefined || stores.includes(address.kind)) return [];
  const usable = stores.length === 0 ? "it has none" : `it has ${stores.join(", ")}`;
  return [{ at: STORE, message: `this runtime has no store of the kind "${address.kind}": ${usable}` }];
}
