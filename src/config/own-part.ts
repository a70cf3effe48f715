import { nearestName } from "../nearest.ts";
import { isObject } from "../is-object.ts";
import type { Finding } from "./problem.ts";

/** The part of a config file that is hookgate's. */
export interface OwnPart {
  readonly root: unknown;
  /** What a person should know about how the file was read, one sentence each. */
  readonly notes: readonly string[];
  readonly findings: readonly Finding[];
}

const OWN_KEYS = ["$schema", "hooks", "gateway", "yaml", "records", "metrics", "approvals"] as const;
/** Top-level keys that a whole PicoClaw config file has and hookgate's own does not. */
const PICOCLAW_KEYS = ["agents", "channels", "channel_list", "model_list", "providers"];
/** What PicoClaw has in its own `gateway` object: where PicoClaw itself listens. */
const PICOCLAW_GATEWAY_KEYS: ReadonlySet<string> = new Set(["host", "port", "hot_reload", "log_level"]);

/**
 * Takes what is hookgate's out of a config file. What another program wrote is read as it meant it: null is absent, and
 * in a whole PicoClaw config file the address in `gateway` is PicoClaw's own.
 */
export function toOwnPart(file: unknown): OwnPart {
  if (!isObject(file)) return { root: file, notes: [], findings: [] };
  const own: Record<string, unknown> = {};
  for (const key of OWN_KEYS) if (Object.hasOwn(file, key)) own[key] = withoutNulls(Reflect.get(file, key));
  // The short form of all defaults, and of nothing at all.
  if (own["yaml"] === true) own["yaml"] = {};
  if (own["yaml"] === false) delete own["yaml"];
  const findings = Object.keys(file).flatMap((key) => toSlip(key, own));
  if (!PICOCLAW_KEYS.some((key) => Object.hasOwn(file, key)) || !isObject(own["gateway"])) {
    return { root: own, notes: [], findings };
  }
  const entries = Object.entries(own["gateway"]);
  const kept = entries.filter(([key]) => !PICOCLAW_GATEWAY_KEYS.has(key));
  const notes =
    kept.length < entries.length
      ? ["this is a PicoClaw config: the address in gateway is PicoClaw's own and is not used"]
      : [];
  return { root: { ...own, gateway: Object.fromEntries(kept) }, notes, findings };
}

/** Other top-level keys belong to other programs; one that was meant to be ours would silently load nothing. */
function toSlip(key: string, own: Readonly<Record<string, unknown>>): readonly Finding[] {
  if (Object.hasOwn(own, key)) return [];
  const nearest = nearestName(key, OWN_KEYS);
  return nearest === undefined || Object.hasOwn(own, nearest) ? [] : [{ at: [key], message: "unknown key", nearest }];
}

/** Go writes null for a list or a map that is empty. A built-in hook's own config is left as it is. */
function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, key === "config" ? item : withoutNulls(item)]),
  );
}
