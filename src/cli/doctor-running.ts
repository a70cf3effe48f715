import type { Config } from "../config/index.ts";
import type { Finding } from "./finding.ts";
import { type GatewayApi, refusalOf } from "./gateway-api.ts";
import { isObject } from "../is-object.ts";
import { endedBy, type ReadRecord, readRecord } from "./decision-record.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a running gateway knows: its hooks' counters, its reloads, and which hooks decided before which. */
export async function examineRunning(api: GatewayApi, { hooks }: Config): Promise<readonly Finding[]> {
  const answer = await api.get("/v1/hooks");
  const { body, status } = answer;
  if (status !== 200 || !isObject(body) || !Array.isArray(body["hooks"])) {
    const fix = "name a token of scope observe or admin with --token-env";
    return [{ check: "gateway", level: "bad", found: `${api.url}: ${refusalOf(answer)}`, fix }];
  }
  const running = new Map(body["hooks"].filter(isObject).map((hook) => [String(hook["name"]), hook] as const));
  const records = await readRecords(api);
  const names = [...Object.entries(hooks.builtins), ...Object.entries(hooks.processes)]
    .filter(([, { enabled }]) => hooks.enabled && enabled)
    .map(([name]) => name);
  return [...(await examineReload(api)), ...names.flatMap((name) => examineOne(name, running.get(name), records))];
}

async function examineReload(api: GatewayApi): Promise<readonly Finding[]> {
  const { body } = await api.get("/readyz");
  const failed = isObject(body) ? body["reload_failed"] : undefined;
  if (!isObject(failed)) return [];
  const problems = Array.isArray(failed["problems"]) ? failed["problems"].map(String).join("; ") : "";
  const found = `the gateway runs an older config: the reload at ${String(failed["at"])} failed: ${problems}`;
  return [{ check: "reload", level: "bad", found, fix: "mend the config, then hookgate reload" }];
}

/** The newest records; none where the gateway keeps none. */
async function readRecords(api: GatewayApi): Promise<readonly ReadRecord[]> {
  const { body } = await api.get("/v1/records?limit=500");
  const list: unknown = isObject(body) ? body["records"] : undefined;
  return Array.isArray(list) ? list.flatMap((value) => readRecord(value) ?? []) : [];
}

function examineOne(name: string, hook: Fields | undefined, records: readonly ReadRecord[]): readonly Finding[] {
  if (hook === undefined) {
    const found = "the running gateway does not have it";
    return [
      { hook: name, check: "loaded", level: "bad", found, fix: "hookgate reload, if the config has changed since" },
    ];
  }
  const { state, lastError, last_fired: lastFired, calls, failed_open: failedOpen } = hook;
  const findings: Finding[] = [];
  if (state !== "ready") {
    const found = `${String(state)}${typeof lastError === "string" ? `: ${lastError}` : ""}`;
    findings.push({
      hook: name,
      check: "state",
      level: "bad",
      found,
      fix: "its log lines on the gateway's stderr say more",
    });
  }
  if (typeof lastFired === "string") {
    const kinds = isObject(hook["no_verdicts"]) ? Object.entries(hook["no_verdicts"]) : [];
    const none = kinds.map(([kind, count]) => `${kind} ${String(count)}`).join(", ");
    const found = `${String(calls)} calls, the last at ${lastFired}${none === "" ? "" : `; no verdict: ${none}`}`;
    findings.push({ hook: name, check: "last fired", level: none === "" ? "ok" : "warn", found });
  } else {
    findings.push({
      hook: name,
      check: "last fired",
      level: "warn",
      ...whyNever(hook),
    });
  }
  if (Number(failedOpen) > 0) {
    const found = `${String(failedOpen)} calls went on without its verdict`;
    findings.push({ hook: name, check: "failed open", level: "warn", found, fix: "see the kinds of no-verdict above" });
  }
  return [...findings, ...examineEarlier(name, hook, records)];
}

function whyNever(hook: Fields): Pick<Finding, "found" | "fix"> {
  const found = "never since it was started";
  const points = Array.isArray(hook["points"]) ? hook["points"].map(String) : [];
  if (points.length === 0) return { found };
  if (Number(hook["skipped"]) > 0) {
    const fix = 'is its "match" as it is meant? hookgate tail shows what calls name';
    return { found: `${found}: ${String(hook["skipped"])} calls did not fit its match`, fix };
  }
  return { found, fix: `does the agent ask this gateway at ${points.join(", ")}? hookgate tail shows what it asks` };
}

/** Decisions that ended before the hook was reached. */
function examineEarlier(name: string, hook: Fields, records: readonly ReadRecord[]): readonly Finding[] {
  const points = Array.isArray(hook["points"]) ? hook["points"].map(String) : [];
  const asked = records.filter(({ point }) => points.includes(point));
  const counts = new Map<string, number>();
  for (const record of asked) {
    const by = endedBy(record);
    const isReached = record.hooks.some((entry) => entry.hook === name);
    if (by !== undefined && !isReached) counts.set(by, (counts.get(by) ?? 0) + 1);
  }
  return [...counts].map(([by, count]) => ({
    hook: name,
    check: "earlier hooks",
    level: "warn",
    found: `${count} of the last ${asked.length} decisions at its points were ended by "${by}" before it was reached`,
    fix: `a lower "priority" than that of "${by}" puts it first, within its group (in-process hooks always come first)`,
  }));
}
