import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hashBody } from "../../adapters/node/body-hash.ts";
import { encodeRequest } from "../../src/transport/http-body.ts";
import { USER_AGENT } from "../../src/transport/http-headers.ts";

test("the user agent has the version of the manifest", () => {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
  expect(manifest).toMatchObject({ version: USER_AGENT.replace("hookgate/", "") });
});

test.each([0, 100, 8000, 8192, 100_000])(
  "ten hooks that are sent the same %i characters get the hash of each body",
  (length) => {
    const message = {
      method: "hook.before_tool",
      params: JSON.stringify({ text: "\u00e9".repeat(length) }),
      payload: {},
    };
    for (let hook = 0; hook < 10; hook += 1) {
      const body = encodeRequest(message, `0190000${hook}-0000-7000-8000-000000000000`);
      expect(hashBody(body)).toBe(createHash("sha256").update(body.bytes).digest("base64url"));
    }
  },
);
