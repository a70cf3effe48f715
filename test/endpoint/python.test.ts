import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";

const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };

test("the Python endpoint ends every HS256 request vector as it says", () => {
  const { stdout, stderr, status } = spawnSync("python3", [join(import.meta.dirname, "python_vectors.py")], {
    encoding: "utf8",
    env,
  });
  expect(stdout, stderr).toMatch(/^([5-9]\d|\d{3,}) checked, 0 wrong\n$/);
  expect(status).toBe(0);
});

function startWith(secret: string): string {
  const { stderr } = spawnSync("python3", [join(import.meta.dirname, "../../examples/approval_endpoint.py")], {
    encoding: "utf8",
    env: { ...env, HOOK_SECRET: secret, HOOK_URL: "https://hooks.test/hook", HOOK_GATEWAY: "gateway", PORT: "0" },
  });
  return stderr;
}

test("the Python endpoint does not start without a secret, or with a short one", () => {
  expect(startWith("")).toContain("HOOK_SECRET must be set");
  expect(startWith("short")).toContain("at least 32 bytes");
});
