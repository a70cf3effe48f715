import { parseHostKeys } from "../signing/bearer.ts";
import {
  checkJwksUrl,
  checkPartyName,
  checkPrivateKey,
  checkPublicKey,
  checkSecrets,
  toProblem,
} from "./check-keys.ts";
import { type Entry, itemsAt, textAt } from "./entry.ts";
import { type JsonPath, valueAt } from "./path.ts";
import type { Finding } from "./problem.ts";

const GATEWAY: JsonPath = ["gateway"];
const AUTH: JsonPath = ["gateway", "auth"];

/** What is wrong with the gateway's own keys and with its ways of knowing hosts. */
export function checkGateway(root: unknown): readonly Finding[] {
  const tokens = itemsAt(root, [...AUTH, "tokens"]);
  const issuers = itemsAt(root, [...AUTH, "jwt"]);
  const hosts = itemsAt(root, [...AUTH, "signatures"]);
  return [
    ...checkPartyName([...GATEWAY, "id"], valueAt(root, [...GATEWAY, "id"])),
    ...checkPrivateKey([...GATEWAY, "signing_key"], valueAt(root, [...GATEWAY, "signing_key"])),
    // Hex digits are the same in either case; names are not.
    ...checkUnique(tokens, "sha256", { what: "token", fold: (text) => text.toLowerCase() }),
    ...checkUnique([...tokens, ...issuers, ...hosts], "name", { what: "caller" }),
    ...checkUnique(issuers, "issuer", { what: "issuer" }),
    ...checkUnique(hosts, "issuer", { what: "host" }),
    ...issuers.flatMap(checkIssuer),
    ...hosts.flatMap(checkHost),
  ];
}

interface UniqueOptions {
  readonly what: string;
  readonly fold?: (text: string) => string;
}

function checkUnique(
  entries: readonly Entry[],
  key: string,
  { what, fold = (text) => text }: UniqueOptions,
): readonly Finding[] {
  const seen = new Set<string>();
  return entries.flatMap(([at, entry]) => {
    const text = textAt(entry, key);
    if (text === undefined) return [];
    const folded = fold(text);
    if (!seen.has(folded)) {
      seen.add(folded);
      return [];
    }
    return [{ at: [...at, key], message: `another ${what} has the same ${key}` }];
  });
}

function checkIssuer([at, entry]: Entry): readonly Finding[] {
  const keys = valueAt(entry, ["keys"]);
  const url = valueAt(entry, ["jwks_url"]);
  return [
    ...checkOneOf([at, entry], ["jwks_url", "keys"]),
    ...checkJwksUrl([...at, "jwks_url"], url),
    ...(Array.isArray(keys)
      ? keys.flatMap((key: unknown, index) => toProblem([...at, "keys", index], () => parseHostKeys([key])))
      : []),
  ];
}

function checkHost([at, entry]: Entry): readonly Finding[] {
  return [
    ...checkOneOf([at, entry], ["secret", "key", "jwks_url"]),
    ...checkPartyName([...at, "issuer"], valueAt(entry, ["issuer"])),
    ...checkPartyName([...at, "audience"], valueAt(entry, ["audience"])),
    ...checkSecrets([...at, "secret"], valueAt(entry, ["secret"])),
    ...checkPublicKey([...at, "key"], valueAt(entry, ["key"])),
    ...checkJwksUrl([...at, "jwks_url"], valueAt(entry, ["jwks_url"])),
  ];
}

/** Exactly one source of keys. */
function checkOneOf([at, entry]: Entry, names: readonly [string, ...string[]]): readonly Finding[] {
  if (typeof entry !== "object" || entry === null) return [];
  const given = names.filter((name) => valueAt(entry, [name]) !== undefined);
  if (given.length === 0) return [{ at: [...at, names[0]], message: `missing: one of ${names.join(", ")}` }];
  return given.slice(1).map((name) => ({ at: [...at, name], message: `"${given[0]}" is there too: one of them` }));
}
