import { silentLog } from "../log.ts";
import { createFixedHeaders } from "../transport/http-headers.ts";
import { parseHookUrl } from "../transport/http-url.ts";
import {
  checkJwksUrl,
  checkPartyName,
  checkPublicKey,
  checkSecrets,
  checkWebhookSecrets,
  toProblem,
} from "./check-keys.ts";
import { type Entry, textAt, textsAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";

/** A hook that is called over HTTP, as far as its rules look at it. */
interface Remote {
  readonly at: JsonPath;
  readonly entry: unknown;
  readonly isService: boolean;
  readonly isWebhook: boolean;
  readonly isUnsigned: boolean;
  readonly has: (key: string) => boolean;
  /** Whether the gateway has a key of its own. */
  readonly hasGatewayKey: boolean;
}

/** What is wrong with a hook that is called over HTTP. */
export function checkRemote([at, entry]: Entry, root: unknown): readonly Finding[] {
  const remote: Remote = {
    at,
    entry,
    isService: textAt(entry, "transport") === "service",
    isWebhook: textAt(entry, "scheme") === "standard-webhooks",
    isUnsigned: valueAt(entry, ["unsigned"]) === true,
    has: (key) => valueAt(entry, [key]) !== undefined,
    hasGatewayKey: valueAt(root, ["gateway", "signing_key"]) !== undefined,
  };
  return [
    ...checkAddress(remote),
    ...checkHeaders(remote),
    ...(remote.isUnsigned ? checkUnsigned(remote) : remote.isWebhook ? checkWebhook(remote) : checkJws(remote)),
    ...checkApprovals(remote),
    ...checkApprovalToken(remote),
  ];
}

function checkAddress({ at, entry, isService }: Remote): readonly Finding[] {
  if (isService && (valueAt(entry, ["binding"]) ?? "") === "") {
    return [{ at: [...at, "binding"], message: 'missing: the name of a service binding, such as "APPROVALS"' }];
  }
  const url = valueAt(entry, ["url"]) ?? (isService ? "https://service/" : "");
  if (typeof url !== "string") return [];
  if (url === "") return [{ at: [...at, "url"], message: 'missing: such as "https://hooks.example.com/hook"' }];
  const party = checkPartyName([...at, "url"], url);
  return party.length > 0 ? party : toProblem([...at, "url"], () => readUrl(entry, url, isService));
}

function readUrl(entry: unknown, url: string, isService: boolean): { readonly isLoopback: boolean } {
  try {
    return parseHookUrl(url, {
      // Nothing is looked up or connected to behind a binding.
      allowInsecure: isService || valueAt(entry, ["allow_insecure"]) === true,
      allowPrivate: isService || valueAt(entry, ["allow_private"]) !== false,
    });
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes("must be https, or http on")) throw error;
    throw new TypeError(`${error.message}; "allow_insecure": true takes http to another machine`, { cause: error });
  }
}

function checkHeaders({ at, entry }: Remote): readonly Finding[] {
  const headers = valueAt(entry, ["headers"]);
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) return [];
  return Object.entries(headers).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value !== "string") return [];
    const check = (): unknown => createFixedHeaders({ [name]: value }, { hook: "", log: silentLog });
    return toProblem([...at, "headers", name], check);
  });
}

const KEYS = ["secret", "reply_key", "reply_jwks", "alg", "require_signed_reply"];

function checkUnsigned({ at, has }: Remote): readonly Finding[] {
  return KEYS.filter(has).map((key) => ({ at: [...at, key], message: 'has no meaning beside "unsigned": true' }));
}

function checkWebhook({ at, entry, has }: Remote): readonly Finding[] {
  const strays = ["reply_key", "reply_jwks", "alg", "endpoint"].filter(has);
  const findings: Finding[] = strays.map((key) => ({
    at: [...at, key],
    message: 'has no meaning with scheme "standard-webhooks": its secret is all there is',
  }));
  if (!has("secret")) {
    findings.push({
      at: [...at, "secret"],
      message: 'missing: scheme "standard-webhooks" needs the secret of the endpoint',
    });
  }
  return [...findings, ...checkWebhookSecrets([...at, "secret"], valueAt(entry, ["secret"]))];
}

function checkJws(remote: Remote): readonly Finding[] {
  const { at, entry, has, hasGatewayKey } = remote;
  const endpoint = checkPartyName([...at, "endpoint"], valueAt(entry, ["endpoint"]) ?? at.at(-1));
  if (has("secret")) return [...endpoint, ...checkSharedSecret(remote)];
  if (!hasGatewayKey) {
    const message =
      'nothing signs its calls: give it a "secret", or the gateway a "signing_key", or say "unsigned": true';
    return [...endpoint, { at: [...at, "secret"], message }];
  }
  const findings: Finding[] = [...endpoint];
  if (textAt(entry, "alg") === "HS256") {
    findings.push({ at: [...at, "alg"], message: "HS256 is for a shared secret, and there is none" });
  }
  if (has("reply_key") && has("reply_jwks")) {
    findings.push({ at: [...at, "reply_jwks"], message: '"reply_key" and "reply_jwks" exclude each other' });
  }
  if (!has("reply_key") && !has("reply_jwks") && valueAt(entry, ["require_signed_reply"]) !== false) {
    const message = 'missing: the endpoint\'s public key, or "reply_jwks", or "require_signed_reply": false';
    findings.push({ at: [...at, "reply_key"], message });
  }
  return [
    ...findings,
    ...checkPublicKey([...at, "reply_key"], valueAt(entry, ["reply_key"])),
    ...checkJwksUrl([...at, "reply_jwks"], valueAt(entry, ["reply_jwks"]), urlOf(remote)),
  ];
}

function checkSharedSecret({ at, entry, has }: Remote): readonly Finding[] {
  const strays = ["reply_key", "reply_jwks"].filter(has);
  const findings: Finding[] = strays.map((key) => ({
    at: [...at, key],
    message: 'the "secret" verifies replies too: leave out one of the two',
  }));
  const alg = textAt(entry, "alg");
  if (alg !== undefined && alg !== "HS256") {
    findings.push({ at: [...at, "alg"], message: "a shared secret signs with HS256 only" });
  }
  return [...findings, ...checkSecrets([...at, "secret"], valueAt(entry, ["secret"]))];
}

/** The URL keys must have the origin of; undefined where there is none to compare with. */
function urlOf({ entry, isService }: Remote): string | undefined {
  const url = textAt(entry, "url") ?? (isService ? "https://service/" : undefined);
  return url !== undefined && URL.canParse(url) ? url : undefined;
}

function checkApprovals(remote: Remote): readonly Finding[] {
  const intercept = valueAt(remote.entry, ["intercept"]);
  const index = Array.isArray(intercept) ? intercept.indexOf("approve_tool") : -1;
  const message = index === -1 ? undefined : refuseApprovals(remote);
  return message === undefined ? [] : [{ at: [...remote.at, "intercept", index], message }];
}

const TOKEN_KEYS = ["key", "jwks_url", "secret"];

function checkApprovalToken({ at, entry, has }: Remote): readonly Finding[] {
  const place = [...at, "approval_token"];
  const token = valueAt(entry, ["approval_token"]);
  if (token === undefined) return [];
  const intercept = valueAt(entry, ["intercept"]);
  const findings: Finding[] = [];
  if (!Array.isArray(intercept) || !intercept.includes("approve_tool")) {
    findings.push({ at: place, message: 'has no meaning for a hook that is not called at "approve_tool"' });
  }
  if (has("cache")) {
    findings.push({
      at: [...at, "cache"],
      message: 'does not go with "approval_token": a signed approval counts once',
    });
  }
  const given = TOKEN_KEYS.filter((key) => valueAt(token, [key]) !== undefined);
  if (given.length !== 1) {
    findings.push({
      at: place,
      message: `expected one of ${TOKEN_KEYS.join(", ")}, got ${given.join(", ") || "none"}`,
    });
  }
  return [
    ...findings,
    ...checkPartyName([...place, "issuer"], valueAt(token, ["issuer"])),
    ...checkPublicKey([...place, "key"], valueAt(token, ["key"])),
    ...checkSecrets([...place, "secret"], valueAt(token, ["secret"])),
    ...checkJwksUrl([...place, "jwks_url"], valueAt(token, ["jwks_url"]), undefined),
  ];
}

/** Why a hook may not approve tools: anyone on the way could. */
function refuseApprovals({ entry, isService, isWebhook, isUnsigned }: Remote): string | undefined {
  if (isUnsigned) {
    if (isService || isLoopback(entry)) return undefined;
    return 'approvals must be signed: "unsigned" will do only for a loopback address or a service binding';
  }
  if (valueAt(entry, ["require_signed_reply"]) === false) {
    return 'approvals must be signed: "require_signed_reply": false does not go with them';
  }
  if (isWebhook && valueAt(entry, ["allow_weak_approval"]) !== true) {
    return 'scheme "standard-webhooks" binds only the body: approvals need "allow_weak_approval": true';
  }
  return undefined;
}

function isLoopback(entry: unknown): boolean {
  try {
    return readUrl(entry, textAt(entry, "url") ?? "", false).isLoopback;
  } catch {
    return false;
  }
}

/**
 * Scheme standard-webhooks binds no URL, so what is signed for one endpoint is good at every endpoint of the same secret.
 */
export function checkSharedSecrets(processes: readonly Entry[]): readonly Finding[] {
  const seen = new Map<string, { readonly url: string; readonly isWebhook: boolean }>();
  return processes.flatMap(([at, entry]) => {
    const url = textAt(entry, "url") ?? textAt(entry, "binding");
    const isWebhook = textAt(entry, "scheme") === "standard-webhooks";
    if (url === undefined || textAt(entry, "transport") === "stdio") return [];
    return textsAt([...at, "secret"], valueAt(entry, ["secret"])).flatMap(([place, secret]) => {
      const other = seen.get(secret);
      seen.set(secret, other ?? { url, isWebhook });
      if (other === undefined || other.url === url || !(isWebhook || other.isWebhook)) return [];
      const message = 'another endpoint has the same secret: with "standard-webhooks" each needs its own';
      return [{ at: place, message }];
    });
  });
}
