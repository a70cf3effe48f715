import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nodeCrypto } from "../../adapters/node/crypto.ts";
import { webCrypto } from "../../src/signing/crypto.ts";
import type { CryptoPort } from "../../src/signing/crypto.ts";
import { verificationReasons } from "../../src/signing/verification-error.ts";
import { refusedRequests } from "../vectors/refused-requests.ts";
import { codeOf, vectors } from "../vectors/verify.ts";
import type { Vector } from "../vectors/vector.ts";

const ports: Readonly<Record<string, CryptoPort>> = { node: nodeCrypto, web: webCrypto };
const fromRequests = vectors.refused.filter(({ kind }) => kind === "request");
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const OUTSIDE = new Set(["keys_unavailable", "replay_store_unavailable"]);

function isES256(header: string | null): boolean {
  return header !== null && /"alg":"ES/i.test(Buffer.from(header, "base64url").toString("latin1"));
}

describe.each(Object.keys(ports))("vectors on the %s port", (name) => {
  const port = ports[name] ?? webCrypto;

  test.each(vectors.accepted.map((vector) => [vector.name, vector] as const))("accepts %s", async (_name, vector) => {
    expect(await codeOf(vector, port)).toBe("ok");
  });

  test.each(vectors.refused.map((vector) => [`${vector.kind}: ${vector.name}`, vector] as const))(
    "refuses a %s",
    async (_name, vector) => {
      expect(await codeOf(vector, port)).toBe(vector.code);
    },
  );
});

describe("the vectors themselves", () => {
  test("name at least fifty requests to refuse, each once", () => {
    expect(fromRequests.length).toBeGreaterThanOrEqual(50);
    const names = [...vectors.accepted, ...vectors.refused].map(({ kind, name }) => `${kind} ${name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test("have a message for every rule of the jws scheme", () => {
    const seen = new Set(vectors.refused.map(({ code }) => code));
    const rules = verificationReasons.filter(
      (reason) => !/^(?:webhook|approval)_/.test(reason) && !OUTSIDE.has(reason),
    );
    expect(rules.filter((reason) => !seen.has(reason))).toEqual([]);
  });

  test("come out the same when they are made again, but for what is random in ES256", () => {
    const made: readonly Vector[] = JSON.parse(JSON.stringify(refusedRequests())) as Vector[];
    expect(fromRequests.map(({ header, ...rest }) => [rest, isES256(header) ? "" : header])).toEqual(
      made.map(({ header, ...rest }) => [rest, isES256(header) ? "" : header]),
    );
  });

  test.skipIf(!hasPython)("read the same in Python, with nothing but its standard library", () => {
    const script = join(import.meta.dirname, "../vectors/verify_hs256.py");
    const output = execFileSync("python3", [script], { encoding: "utf8" });
    expect(output).toMatch(/^\d{2,} checked, 0 wrong\n$/);
  });
});
