import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createNodeHookEndpoint, serveEndpoint } from "../../adapters/node/index.ts";
import { hintOf } from "../../src/cli/hints.ts";
import type { HookEndpoint } from "../../src/endpoint/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { verificationReasons } from "../../src/signing/verification-error.ts";
import { type Desk, GATEWAY, openDesk, policy, SECRET } from "./desk.ts";
import { makeDir, type Ran, removeDir, run } from "./run.ts";

let cwd: string;
let desk: Desk | undefined;

beforeEach(async () => {
  cwd = await makeDir({});
});

afterEach(async () => {
  await desk?.close();
  desk = undefined;
  await removeDir(cwd);
});

const env = { DESK: SECRET };

async function call(flags: string, variables: Readonly<Record<string, string>> = env): Promise<Ran> {
  return run(["call", ...flags.split(" ")], { cwd, env: variables });
}

describe("hookgate call --endpoint", () => {
  test("asks one endpoint with the secret that it shares", async () => {
    desk = await openDesk();
    const denied = await call(`approve_tool --endpoint ${desk.hook} --secret-env DESK --tool bash`);
    expect([denied.code, denied.stderr]).toEqual([2, ""]);
    expect(denied.stdout).toContain("denied by endpoint: the desk says no");
    const allowed = await call(`check_tool --endpoint ${desk.hook} --secret-env DESK --tool ls --json`);
    expect([allowed.code, allowed.stderr]).toEqual([0, ""]);
    expect(JSON.parse(allowed.stdout)).toMatchObject({ action: "continue", approved: true });
    expect(denied.stdout + allowed.stdout).not.toContain(SECRET);
  });

  test("asks one with a key pair, pinned or published", { timeout: 30_000 }, async () => {
    const [ours, theirs] = [await createPrivateJwk(), await createPrivateJwk()];
    desk = await openDesk({ keys: { gateway: toPublicJwk(ours), own: theirs } });
    const keys = { HOOKGATE_SIGNING_KEY: JSON.stringify(ours), THEIRS: JSON.stringify(toPublicJwk(theirs)) };
    const base = `approve_tool --endpoint ${desk.hook} --endpoint-name desk --tool ls`;
    const pinned = await call(`${base} --reply-key-env THEIRS`, keys);
    expect([pinned.code, pinned.stderr]).toEqual([0, ""]);
    const published = await call(`${base} --reply-jwks ${desk.url}/.well-known/jwks.json`, keys);
    expect([published.code, published.stderr]).toEqual([0, ""]);
    const other = { ...keys, THEIRS: JSON.stringify(toPublicJwk(ours)) };
    const refused = await call(`${base} --reply-key-env THEIRS`, other);
    expect(refused.code).toBe(3);
    expect(refused.stdout).toContain("bad_signature");
  });

  test("asks one by Standard Webhooks, and one that signs nothing", async () => {
    const secret = `whsec_${Buffer.from(SECRET).toString("base64")}`;
    desk = await openDesk({ scheme: "standard-webhooks", secret });
    const flags = `approve_tool --endpoint ${desk.hook} --secret-env DESK --scheme standard-webhooks --tool ls`;
    expect(await call(flags, { DESK: secret })).toMatchObject({ code: 0, stderr: "" });
    await desk.close();
    desk = await openDesk({ unsigned: true });
    expect(await call(`approve_tool --endpoint ${desk.hook} --unsigned --tool ls`, {})).toMatchObject({ code: 0 });
  });

  test("decides nothing where the two do not know each other", { timeout: 30_000 }, async () => {
    desk = await openDesk();
    const base = `approve_tool --endpoint ${desk.hook} --secret-env DESK --tool ls`;
    for (const flags of [`${base} --gateway-id other`, `${base} --endpoint-name other`]) {
      expect(await call(flags)).toMatchObject({ code: 3 });
    }
    expect(await call(base, { DESK: SECRET.toUpperCase() })).toMatchObject({ code: 3 });
  });

  test.each([
    [
      "approve_tool --endpoint http://127.0.0.1:1 --url http://127.0.0.1:2 --tool x",
      "--url and --endpoint exclude each other",
    ],
    ["approve_tool --secret-env DESK --tool x", "--secret-env is for --endpoint"],
    ["approve_tool --endpoint http://127.0.0.1:1 --token-env DESK --tool x", "--token-env is for --url"],
    [
      "approve_tool --endpoint http://127.0.0.1:1 --secret-env NOT_SET --tool x",
      "the environment variable NOT_SET is not set",
    ],
    [
      "approve_tool --endpoint http://127.0.0.1:1 --secret-env SHORT --tool x",
      "a secret must have at least 32 bytes, got 5",
    ],
    [
      "approve_tool --endpoint http://desk.test --secret-env DESK --tool x",
      "url must be https, or http on a loopback address",
    ],
    ["approve_tool --endpoint https://me:pw@desk.test --secret-env DESK --tool x", "url must not hold credentials"],
    ["approve_tool --endpoint http://127.0.0.1:1 --tool x", "nothing signs its calls"],
  ])("refuses %s", async (flags, message) => {
    const { code, stderr } = await call(flags, { ...env, SHORT: "short" });
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(SECRET);
  });
});

/** The steps of one hook, as `check --json` gives them. */
interface Steps {
  readonly state: string;
  readonly steps: readonly {
    readonly step: string;
    readonly outcome: string;
    readonly ms: number;
    readonly found: string;
    readonly hint?: string;
  }[];
}

async function check(entry: object, gateway: object = {}): Promise<Steps & { readonly code: number | null }> {
  const dir = await makeDir({
    "hooks.json": {
      hooks: { processes: { desk: { enabled: true, transport: "http", intercept: ["approve_tool"], ...entry } } },
      gateway,
    },
  });
  try {
    const { code, stdout, stderr } = await run(["check", "--json"], { cwd: dir, env });
    const { hooks } = JSON.parse(stdout) as { readonly hooks: readonly Steps[] };
    expect(stdout + stderr).not.toContain(SECRET);
    if (hooks[0] === undefined) throw new Error(stdout + stderr);
    return { code, ...hooks[0] };
  } finally {
    await removeDir(dir);
  }
}

function outcomes({ steps }: Steps): Readonly<Record<string, string>> {
  return Object.fromEntries(steps.map(({ step, outcome }) => [step, outcome]));
}

function failure({ steps }: Steps): string {
  const { step, found, hint } = steps.find(({ outcome }) => outcome === "failed") ?? {};
  return `${step}: ${found}; ${hint}`;
}

describe("hookgate check of a hook over HTTP", () => {
  test("looks at each step, with its milliseconds", async () => {
    desk = await openDesk();
    const found = await check({ url: desk.hook, secret: "${env:DESK}" });
    expect(found).toMatchObject({ code: 0, state: "ready" });
    expect(outcomes(found)).toEqual({ dns: "ok", connect: "ok", hello: "ok", signature: "ok", clock: "ok" });
    for (const { ms } of found.steps) expect(ms).toBeGreaterThanOrEqual(0);
    expect(found.steps.map((step) => step.found).join("\n")).toMatch(
      /it calls itself "desk"\nverified, HS256, key hs-[\da-f]{8}\nthe same/,
    );
  });

  test("prints them as a table", async () => {
    desk = await openDesk();
    const entry = {
      enabled: true,
      transport: "http",
      url: desk.hook,
      secret: "${env:DESK}",
      intercept: ["approve_tool"],
    };
    const dir = await makeDir({ "hooks.json": { hooks: { processes: { desk: entry } } } });
    const { code, stdout } = await run(["check"], { cwd: dir, env });
    await removeDir(dir);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /\ndesk\nSTEP +OUTCOME +MS +FOUND\ndns +ok .*\nconnect +ok .*\nhello +ok .*\nsignature +ok .*\nclock +ok /,
      ),
    ]);
  });

  test("says what to do where the two do not understand each other", { timeout: 60_000 }, async () => {
    desk = await openDesk();
    const good = { url: desk.hook, secret: "${env:DESK}" };
    expect(failure(await check(good, { id: "other" }))).toBe(
      'hello: HTTP status 401: iss is not the configured peer; the endpoint must be configured with the gateway\'s id, which is "other"',
    );
    expect(failure(await check({ ...good, endpoint: "other" }))).toBe(
      'signature: iss is not the configured peer; if that is its name, give the hook "endpoint": "desk"',
    );
    expect(failure(await check({ ...good, url: `${desk.hook}?` }))).toBe(
      `hello: HTTP status 401: aud is not this party; the endpoint must be configured with exactly this URL: ${desk.hook}?`,
    );
    expect(failure(await check({ ...good, secret: SECRET.toUpperCase() }))).toMatch(
      /^hello: HTTP status 401: kid is not a trusted key; both sides need the same secret/,
    );
    expect(failure(await check({ url: desk.hook, unsigned: true }))).toMatch(
      /^hello: HTTP status 401: the signature is missing; the endpoint wants signed calls/,
    );
  });

  test("says what to do where nobody is there", async () => {
    const { hook } = await openDesk().then(async (closed) => {
      await closed.close();
      return closed;
    });
    const refused = await check({ url: hook, unsigned: true });
    expect(refused).toMatchObject({ code: 1, state: "failed" });
    expect(failure(refused)).toBe(
      "connect: the connection was refused; is the endpoint running, and are host and port right?",
    );
    const unknown = await check({ url: "https://desk.invalid/hook", secret: "${env:DESK}" });
    expect(failure(unknown)).toMatch(/^dns: .*; is the host in the hook's url spelled right\?$/);
  });

  test("says of everything that can be wrong with an answer what to do", { timeout: 30_000 }, async () => {
    const answers: Readonly<Record<string, readonly [status: number, body: string, found: RegExp, hint: RegExp]>> = {
      moved: [302, "", /^HTTP status 302$/, /redirects are not followed/],
      empty: [204, "", /^HTTP status 204$/, /no hook endpoint/],
      missing: [404, "", /^HTTP status 404$/, /the path in the hook's url/],
      busy: [429, "", /^HTTP status 429$/, /fewer calls/],
      broken: [500, "", /^HTTP status 500$/, /log should say why/],
      prose: [200, "hello", /not one JSON value/, /protocol\.md/],
      other: [200, '{"jsonrpc":"2.0","id":"x","result":{}}', /does not have the id/, /protocol\.md/],
      no: [200, "{}", /not a JSON-RPC 2\.0 reply/, /protocol\.md/],
      long: [200, "x".repeat(2_000_000), /longer than allowed/, /max_message_bytes/],
      cut: [0, "", /connection was closed/, /log should say why/],
      hung: [-1, "", /^no reply within 5000 ms$/, /does not answer/],
    };
    const server = createHttpServer((request, response) => {
      const [status = 0, body] = answers[request.url?.slice(1) ?? ""] ?? [];
      if (status === 0) request.socket.destroy();
      if (status > 0) response.writeHead(status, { "content-type": "application/json" }).end(body);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const port = (server.address() as AddressInfo).port;
    const base = { enabled: true, transport: "http", unsigned: true, intercept: ["before_tool"] };
    const names = Object.keys(answers);
    const processes = Object.fromEntries(
      names.map((name) => [name, { ...base, url: `http://127.0.0.1:${port}/${name}` }]),
    );
    const dir = await makeDir({ "hooks.json": { hooks: { processes } } });
    const { stdout } = await run(["check", "--json"], { cwd: dir });
    server.closeAllConnections();
    server.close();
    await removeDir(dir);
    const { hooks } = JSON.parse(stdout) as { readonly hooks: readonly (Steps & { readonly name: string })[] };
    for (const { name, steps } of hooks) {
      const [, , found, hint] = answers[name] ?? [];
      const hello = steps.find(({ step }) => step === "hello");
      expect(hello, name).toMatchObject({ outcome: "failed", found: expect.stringMatching(found ?? "") as unknown });
      expect(hello?.hint, name).toMatch(hint ?? "");
    }
    expect(hooks).toHaveLength(names.length);
  });

  test("has a hint for every reason that a signature can be refused for", () => {
    const found = verificationReasons.flatMap((reason) => [`request:${reason}`, `reply:${reason}`]);
    expect(found.filter((each) => hintOf(each).hint === undefined)).toEqual([]);
  });

  test("looks at the clock when the reply comes, not when its keys are there", { timeout: 30_000 }, async () => {
    const [ours, own] = [await createPrivateJwk(), await createPrivateJwk()];
    const made: HookEndpoint[] = [];
    const answer = (request: Request): Promise<Response> =>
      (request.method === "GET" ? undefined : made[0]?.fetch(request)) ?? new Promise(() => {});
    const served: HookEndpoint = { fetch: answer, answer, ready: () => Promise.resolve() };
    const listener = await serveEndpoint(served, { port: 0, overrideGlobalObjects: false, timeouts: { drainMs: 1 } });
    const url = `${listener.url}/hook`;
    const keys = { gateway: toPublicJwk(ours), own };
    made.push(createNodeHookEndpoint(policy, { name: "desk", url, gateway: GATEWAY, keys }));
    const remote = { url, reply_jwks: `${listener.url}/.well-known/jwks.json` };
    const { steps } = await check(remote, { signing_key: ours });
    await listener.close();
    expect(steps.at(-2)).toMatchObject({
      step: "signature",
      outcome: "failed",
      hint: "can this machine reach reply_jwks?",
    });
    expect(steps.at(-1)).toMatchObject({ step: "clock", outcome: "ok", found: "the same" });
  });

  test("finds that the clocks are apart", async () => {
    desk = await openDesk({ now: () => Date.now() + 20_000 });
    const near = await check({ url: desk.hook, secret: "${env:DESK}" });
    expect(near.steps.at(-1)).toMatchObject({
      step: "clock",
      outcome: "ok",
      found: expect.stringMatching(/^(19|20) s ahead$/) as unknown,
    });
    await desk.close();
    desk = await openDesk({ now: () => Date.now() - 3_600_000 });
    const far = await check({ url: desk.hook, secret: "${env:DESK}" });
    expect(failure(far)).toMatch(/^hello: HTTP status 401: the message comes from the future; a clock is wrong/);
  });

  test("speaks TLS to the end, and says when it is not trusted", async () => {
    const { createServer } = await import("node:tls");
    const pem = await readFile(join(import.meta.dirname, "../faults/self-signed.pem"), "utf8");
    const server = createServer({ key: pem, cert: pem }, (socket) => socket.end());
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const found = await check({ url: `https://127.0.0.1:${port}/`, secret: "${env:DESK}" });
    server.close();
    expect(outcomes(found)).toEqual({ dns: "ok", connect: "ok", tls: "failed" });
    expect(failure(found)).toMatch(/certificate.*; .* its certificate valid for that host/);
  });

  test("says that there is no TLS where there is none", async () => {
    desk = await openDesk();
    const found = await check({ url: desk.hook.replace("http:", "https:"), secret: "${env:DESK}" });
    expect(failure(found)).toMatch(/^tls: what listens there does not speak TLS; is the port one for https/);
  });
});
