import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parsePrivateJwks, parsePublicJwks } from "../../src/signing/jwk.ts";
import { createSecretKey } from "../../src/signing/keys.ts";
import { parseWebhookSecret } from "../../src/signing/standard-webhooks.ts";
import { makeDir, type Ran, removeDir, run } from "./run.ts";

let cwd: string;

beforeEach(async () => {
  cwd = await makeDir({});
});

afterEach(async () => {
  await removeDir(cwd);
});

function keys(flags: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return run(["keys", ...flags.split(" ")], { cwd, env });
}

/** The keys in the file, the one that signs first. */
async function stored(): Promise<readonly string[]> {
  return parsePrivateJwks(await readFile(join(cwd, "key"), "utf8")).map(({ x }) => x);
}

describe("hookgate keys", () => {
  test.each([
    ["", "P-256", "ES256"],
    [" --alg EdDSA", "Ed25519", "EdDSA"],
    [" --alg Ed25519", "Ed25519", "Ed25519"],
  ])("new%s makes a key in a file of its owner's", async (flags, crv, alg) => {
    const { code, stdout, stderr } = await keys(`new --out key${flags}`);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^key: [\w-]{43}\n$/);
    const text = await readFile(join(cwd, "key"), "utf8");
    expect(parsePrivateJwks(text)).toMatchObject([{ crv, alg }]);
    expect(stdout).not.toContain(parsePrivateJwks(text)[0]?.d);
    expect((await stat(join(cwd, "key"))).mode & 0o777).toBe(0o600);
  });

  test("new prints it only when that is asked for, and replaces nothing", { timeout: 30_000 }, async () => {
    const printed = await keys("new --stdout");
    expect([printed.code, parsePrivateJwks(printed.stdout).length]).toEqual([0, 1]);
    expect(await keys("new")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("where to? --out FILE, or --stdout") as string,
    });
    await keys("new --out key");
    const before = await stored();
    expect(await keys("new --out key")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot write key") as string,
    });
    expect(await stored()).toEqual(before);
  });

  test("new makes secrets of either form", async () => {
    const { stdout: secret } = await keys("new --alg HS256 --stdout");
    expect(secret).toMatch(/^[\w-]{43}\n$/);
    const { stdout: webhook } = await keys("new --alg HS256 --webhook --stdout");
    expect(parseWebhookSecret(webhook.trim())).toHaveLength(32);
    const { code, stdout } = await keys("new --alg HS256 --out key");
    const written = await readFile(join(cwd, "key"), "utf8");
    expect([code, stdout]).toEqual([0, `key: ${(await createSecretKey(written.trim())).kid}\n`]);
  });

  test("public shows the public half, of a file and of the environment", { timeout: 30_000 }, async () => {
    await keys("new --out key");
    const { code, stdout } = await keys("public --key key");
    expect(code).toBe(0);
    expect(stdout).not.toContain('"d"');
    expect(parsePublicJwks(stdout).map(({ x }) => x)).toEqual(await stored());
    const text = await readFile(join(cwd, "key"), "utf8");
    expect((await keys("public", { HOOKGATE_SIGNING_KEY: text })).stdout).toBe(stdout);
    expect((await keys("public --key-env MINE", { MINE: text })).stdout).toBe(stdout);
  });

  test("fingerprint tells two secrets apart and shows neither", async () => {
    const secret = "0123456789abcdef0123456789abcdef";
    const { stdout } = await keys("fingerprint --key-env MINE", { MINE: secret });
    expect(stdout).toBe(`${(await createSecretKey(secret)).kid}\n`);
    expect(stdout).not.toContain(secret.slice(0, 6));
    await keys("new --out key");
    expect((await keys("fingerprint --key key")).stdout).toMatch(/^[\w-]{43}\n$/);
  });

  test("rotate takes three steps, and keeps the file its owner's", { timeout: 60_000 }, async () => {
    await keys("new --out key --alg EdDSA");
    const [old] = await stored();
    const added = await keys("rotate --key key --step add");
    expect([added.code, added.stderr]).toEqual([0, ""]);
    expect(added.stdout).toMatch(/^key: [\w-]{43}, [\w-]{43} \(the first signs\)\nnext: /);
    const [first, next] = await stored();
    expect(first).toBe(old);
    expect(await keys("rotate --key key --step add")).toMatchObject({ code: 1 });
    const early = await keys("rotate --key key --step retire");
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringContaining("--step retire: the new key does not sign yet; switch is next") as unknown,
    ]);
    expect(await stored()).toEqual([old, next]);
    await keys("rotate --key key --step switch");
    expect(await stored()).toEqual([next, old]);
    const again = await keys("rotate --key key --step switch");
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining("--step switch: the new key signs already; retire is next") as unknown,
    ]);
    expect(await stored()).toEqual([next, old]);
    await keys("rotate --key key --step retire");
    expect(await stored()).toEqual([next]);
    expect(await keys("rotate --key key --step switch")).toMatchObject({ code: 1 });
    expect((await stat(join(cwd, "key"))).mode & 0o777).toBe(0o600);
    expect(await readdir(cwd)).toEqual(["hook.cjs", "key"]);
  });

  test.each([
    ["", "what with keys? expected one of new, public, rotate, fingerprint"],
    ["newest", "what with keys? expected one of new, public, rotate, fingerprint"],
    ["new --stdout --alg RS256", "--alg: expected one of ES256, EdDSA, Ed25519, HS256"],
    ["new --stdout --webhook", "--webhook is for --alg HS256"],
    ["new --stdout --key x", "--key has no meaning with keys new"],
    ["public", "the environment variable HOOKGATE_SIGNING_KEY is not set"],
    ["public --key nowhere", "there is no file nowhere"],
    ["public --key hook.cjs", "hook.cjs: a shared secret, or no key at all"],
    ["rotate --key hook.cjs --step add", "hook.cjs: a shared secret, or no key at all"],
    ["rotate --key hook.cjs", "--step: expected one of add, switch, retire"],
  ])("refuses keys %s", async (flags, message) => {
    const { code, stdout, stderr } = await run(["keys", ...flags.split(" ").filter((word) => word !== "")], { cwd });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
  });
});
