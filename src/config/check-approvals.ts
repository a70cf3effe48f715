import { parseMaskPath } from "../records/index.ts";
import { parseWebhookSecret } from "../signing/standard-webhooks.ts";
import { parseHookUrl } from "../transport/http-url.ts";
import { type ApprovalStoreKind, DEFAULT_APPROVALS, parseStoreAddress } from "./approvals-schema.ts";
import { toProblem } from "./check-keys.ts";
import { itemsAt, textAt, textsAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";
import { parseRedisAddress } from "./redis-address.ts";

const STORE: JsonPath = ["approvals", "store"];
const MASK: JsonPath = ["approvals", "mask"];
const HOOK: JsonPath = ["hooks", "builtins", "human_approval"];

/** What is wrong with where approvals are kept, and with what people are shown of them. */
export function checkApprovals(root: unknown, stores: readonly ApprovalStoreKind[]): readonly Finding[] {
  return [
    ...checkMasks(root),
    ...checkStore(root, stores),
    ...checkSigning(root),
    ...checkUrl(root),
    ...checkNotify(root),
  ];
}

const URL_AT: JsonPath = ["approvals", "url"];
const NOTIFY: JsonPath = ["approvals", "notify"];

function checkUrl(root: unknown): readonly Finding[] {
  const url = valueAt(root, URL_AT);
  if (typeof url !== "string") return [];
  const parsed = URL.parse(url);
  const isGood =
    (parsed?.protocol === "https:" || parsed?.protocol === "http:") && parsed.search === "" && parsed.hash === "";
  return isGood ? [] : [{ at: URL_AT, message: "expected an http or https URL without a query or a fragment" }];
}

/** What a target needs besides its own keys, and whether its URL may be posted to. */
function checkNotify(root: unknown): readonly Finding[] {
  const hasLinks = typeof valueAt(root, URL_AT) === "string" && typeof valueAt(root, LINK_SECRET) === "string";
  return itemsAt(root, NOTIFY).flatMap(([at, target]): readonly Finding[] => {
    const unlinked: readonly Finding[] =
      textAt(target, "approver") === undefined || hasLinks
        ? []
        : [{ at: [...at, "approver"], message: "needs approvals.url and approvals.link_secret beside it" }];
    const problems = ["url", "api_url"].flatMap((key) => checkPostUrl([...at, key], textAt(target, key)));
    return [...unlinked, ...problems, ...checkWebhookSecrets([...at, "secret"], valueAt(target, ["secret"]))];
  });
}

const LINK_SECRET: JsonPath = ["approvals", "link_secret"];

function checkPostUrl(at: JsonPath, url: string | undefined): readonly Finding[] {
  return url === undefined ? [] : toProblem(at, () => parseHookUrl(url));
}

function checkWebhookSecrets(at: JsonPath, given: unknown): readonly Finding[] {
  return textsAt(at, given).flatMap(([place, text]) => toProblem(place, () => parseWebhookSecret(text)));
}

function checkMasks(root: unknown): readonly Finding[] {
  const masks = valueAt(root, MASK);
  return textsAt(MASK, Array.isArray(masks) ? masks : []).flatMap(([place, text]) =>
    toProblem(place, () => parseMaskPath(text)),
  );
}

function checkSigning(root: unknown): readonly Finding[] {
  const at = [...HOOK, "config", "sign_for"];
  if (valueAt(root, at) === undefined || valueAt(root, [...HOOK, "enabled"]) !== true) return [];
  if (valueAt(root, ["gateway", "signing_key"]) !== undefined) return [];
  return [{ at, message: "decisions can only be signed by a gateway that has a signing_key" }];
}

/** Whoever asks for approvals must not find out later that there is nowhere to keep them. */
function checkStore(root: unknown, stores: readonly ApprovalStoreKind[]): readonly Finding[] {
  const isNeeded =
    valueAt(root, ["approvals"]) !== undefined ||
    (valueAt(root, [...HOOK, "enabled"]) === true && valueAt(root, ["hooks", "enabled"]) !== false);
  if (!isNeeded) return [];
  const given = valueAt(root, STORE);
  const text = given ?? DEFAULT_APPROVALS.store;
  const address = typeof text === "string" ? parseStoreAddress(text) : undefined;
  if (address === undefined) return [];
  if (stores.includes(address.kind)) {
    return address.kind === "redis" ? toProblem(STORE, () => parseRedisAddress(address.target)) : [];
  }
  const usable = stores.length === 0 ? "it has none" : `it has ${stores.join(", ")}`;
  const hint = given === undefined ? `missing: the default is "${DEFAULT_APPROVALS.store}", and ` : "";
  return [{ at: STORE, message: `${hint}this runtime has no store of the kind "${address.kind}": ${usable}` }];
}
