/** What the tests of hooks over HTTP and of the gateway's ways are made of. */
import { expect } from "vitest";
import { type Config, ConfigError, parseConfig } from "../../src/config/index.ts";
import { createBuiltinRegistry } from "../../src/picoclaw/index.ts";
import { createPrivateJwk, type PrivateJwk, type PublicJwk, toPublicJwk } from "../../src/signing/jwk.ts";

export const SECRET = "0123456789abcdef0123456789abcdef";
export const OTHER = "fedcba9876543210fedcba9876543210";
export const WHSEC = `whsec_${btoa(SECRET)}`;
export const DESK = {
  enabled: true,
  transport: "http",
  url: "https://desk.test/hook",
  secret: SECRET,
  intercept: ["before_tool"],
};
export const privateJwk: PrivateJwk = await createPrivateJwk();
export const publicJwk: PublicJwk = toPublicJwk(privateJwk);

export type Env = Readonly<Record<string, string>>;

export function read(config: unknown, env: Env = {}): Config {
  return parseConfig(JSON.stringify(config), { env, builtins: createBuiltinRegistry() });
}

export function desk(changes: object, gateway: object = {}): unknown {
  return { hooks: { processes: { desk: { ...DESK, ...changes } } }, gateway };
}

/** A hook that the gateway's own key signs for. */
export function pair(changes: object): unknown {
  return desk({ secret: undefined, reply_key: publicJwk, ...changes }, { signing_key: privateJwk });
}

/** What is wrong, as `path: message`; nothing when it is good. */
export function problems(config: unknown, env: Env = {}): readonly string[] {
  try {
    read(config, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const secret of [SECRET, OTHER, WHSEC, privateJwk.d]) expect(error.message).not.toContain(secret);
    return error.problems.map(({ path, message }) => `${path.replace("hooks.processes.desk.", "")}: ${message}`);
  }
}
