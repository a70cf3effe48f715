import {
  ConfigError,
  createManagerFromConfig,
  type HookConnection,
  type HookPorts,
  parseConfig,
  type StartedManager,
} from "../../src/config/index.ts";
import {
  createHookEndpoint,
  createRemoteKeySet,
  type HookEndpoint,
  type HookEndpointOptions,
} from "../../src/endpoint/index.ts";
import type { Gateway } from "../../src/gateway/index.ts";
import { silentLog } from "../../src/log.ts";
import { createBuiltinRegistry, type Hook } from "../../src/picoclaw/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createFetchExchange } from "../../src/transport/fetch-exchange.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, outcomesOf, toolCall } from "./fixture.ts";
import { AUDIENCE, configuredGateway, NOW_MS, SECRET } from "./host-auth-setting.ts";

const URL_ = "https://desk.test/hook";
const GATEWAY = "hookgate";
const policy: Hook = {
  beforeTool: ({ tool }) => (tool === "answer" ? { action: "respond", result: { for_llm: "hi" } } : undefined),
  approveTool: ({ tool }) => ({ approved: tool !== "bash", reason: "not bash" }),
};

interface Setting {
  readonly entry: object;
  readonly endpoint?: HookEndpoint | Gateway;
  readonly gateway?: object;
  readonly defaults?: object;
  readonly now?: () => number;
  readonly ports?: HookPorts;
}

/** Reaches an endpoint without a network between. */
function connectionTo(endpoint: HookEndpoint | Gateway): HookConnection {
  const fetch = (url: string, init: RequestInit): Promise<Response> => endpoint.fetch(new Request(url, init));
  return { exchange: createFetchExchange({ fetch }), fetch };
}

function endpointOf(options: Partial<HookEndpointOptions> = {}): HookEndpoint {
  const secret = options.keys === undefined && options.unsigned !== true ? { secret: SECRET } : {};
  return createHookEndpoint(policy, {
    name: "desk",
    url: URL_,
    gateway: GATEWAY,
    now: () => NOW_MS,
    ...secret,
    ...options,
  });
}

/** A manager with one hook, as a config describes it. */
async function start(setting: Setting): Promise<StartedManager> {
  const { entry, endpoint = endpointOf(), gateway = {}, defaults = {}, now = () => NOW_MS, ports } = setting;
  const desk = { enabled: true, transport: "http", url: URL_, intercept: ["before_tool", "approve_tool"], ...entry };
  const builtins = createBuiltinRegistry();
  const config = parseConfig(JSON.stringify({ hooks: { defaults, processes: { desk } }, gateway }), {
    env: {},
    builtins,
  });
  return createManagerFromConfig(config, {
    builtins,
    log: silentLog,
    now: () => performance.now(),
    platform: { epochNow: now },
    ...(ports ?? { connect: () => connectionTo(endpoint) }),
  });
}

/** What the hook decides about two tools, or what keeps it from deciding. */
async function verdicts(setting: Setting): Promise<readonly string[]> {
  const { manager } = await start(setting);
  const read = await manager.approveTool({ ...toolCall(), tool: "read" });
  const bash = await manager.approveTool({ ...toolCall(), tool: "bash" });
  await manager.close();
  return [...outcomesOf(read), ...outcomesOf(bash)];
}

const DECIDED = ["desk: approved", "desk: denied"];

/** Hooks over HTTP, from the config to the decision. */
export const configRemoteCases: readonly Case[] = casesOf(
  { topic: "config-remote", source: "A hook call over HTTP, sections 1 and 2" },
  {
    "a-shared-secret": async () => {
      equal(await verdicts({ entry: { secret: SECRET } }), DECIDED);
      equal(await verdicts({ entry: { secret: ["another secret of more than 32 bytes", SECRET] } }), [
        "desk: http_status",
        "desk: http_status",
      ]);
      equal(await verdicts({ entry: { secret: [SECRET, "another secret of more than 32 bytes"] } }), DECIDED);
    },
    "a-name-of-its-own": async () => {
      const endpoint = endpointOf({ name: "other" });
      equal(await verdicts({ entry: { secret: SECRET }, endpoint }), ["desk: bad_signature", "desk: bad_signature"]);
      equal(await verdicts({ entry: { secret: SECRET, endpoint: "other" }, endpoint }), DECIDED);
    },
    "standard-webhooks": async () => {
      const secret = `whsec_${btoa(SECRET)}`;
      const endpoint = endpointOf({ scheme: "standard-webhooks", secret });
      const entry = { scheme: "standard-webhooks", secret, allow_weak_approval: true };
      equal(await verdicts({ entry, endpoint }), DECIDED);
    },
    "nothing-signed": async () => {
      const endpoint = endpointOf({ unsigned: true });
      equal(await verdicts({ entry: { unsigned: true, url: "http://127.0.0.1:8788/hook" }, endpoint }), DECIDED);
    },
    "key-pairs-of-either-kind": async () => {
      for (const alg of ["ES256", "EdDSA"] as const) {
        const [ours, theirs] = [await createPrivateJwk(alg), await createPrivateJwk(alg)];
        const endpoint = endpointOf({ keys: { gateway: toPublicJwk(ours), own: theirs } });
        const gateway = { signing_key: ours };
        equal(await verdicts({ entry: { reply_key: toPublicJwk(theirs) }, endpoint, gateway }), DECIDED);
        const published = { reply_jwks: "https://desk.test/.well-known/jwks.json" };
        equal(await verdicts({ entry: published, endpoint, gateway }), DECIDED);
      }
    },
    "a-binding": async () => {
      const entry = { transport: "service", url: URL_, binding: "DESK", secret: SECRET };
      const ports = { bind: (name: string) => (name === "DESK" ? connectionTo(endpointOf()) : undefined) };
      equal(await verdicts({ entry, ports }), DECIDED);
      const unsigned = { bind: () => connectionTo(endpointOf({ unsigned: true })) };
      equal(await verdicts({ entry: { ...entry, secret: undefined, unsigned: true }, ports: unsigned }), DECIDED);
      equal(await problemOf(start({ entry: { ...entry, binding: "OTHER" }, ports })), [
        'hooks.processes.desk: there is no service binding "OTHER"',
      ]);
    },
    "what-the-runtime-cannot-reach-is-a-problem-of-the-config": async () => {
      const remote = start({ entry: { secret: SECRET }, ports: {} });
      equal(await problemOf(remote), ["hooks.processes.desk.transport: this runtime cannot connect to URLs"]);
      const stdio = start({ entry: { transport: "stdio", url: undefined, command: ["desk"] }, ports: {} });
      equal(await problemOf(stdio), [
        "hooks.processes.desk.transport: this runtime cannot start processes: run a gateway with this hook on Node, and " +
          'reach it here as a hook with "transport": "http"',
      ]);
      const service = start({ entry: { transport: "service", url: URL_, binding: "DESK", secret: SECRET }, ports: {} });
      equal(await problemOf(service), [
        "hooks.processes.desk.transport: only a gateway on Cloudflare Workers has service bindings: use " +
          '"transport": "http" and the endpoint\'s URL',
      ]);
    },
    "nothing-is-sent-before-a-call-where-that-is-asked": async () => {
      let requests = 0;
      const desk = endpointOf();
      const endpoint: HookEndpoint = {
        ...desk,
        fetch(request) {
          requests += 1;
          return desk.fetch(request);
        },
      };
      const builtins = createBuiltinRegistry();
      const entry = { enabled: true, transport: "http", url: URL_, secret: SECRET, intercept: ["approve_tool"] };
      const text = JSON.stringify({ hooks: { processes: { desk: entry } } });
      const { manager, started } = await createManagerFromConfig(parseConfig(text, { env: {}, builtins }), {
        builtins,
        log: silentLog,
        now: () => performance.now(),
        platform: { epochNow: () => NOW_MS },
        connect: () => connectionTo(endpoint),
        waitForHooks: false,
      });
      equal([requests, started[0]?.state], [0, "starting"]);
      equal((await manager.approveTool({ ...toolCall(), tool: "read" })).approved, true);
      equal(requests, 2);
    },
    grants: async () => {
      const call = { ...toolCall(), tool: "answer" };
      const ask = async (setting: Omit<Setting, "entry">, entry: object = {}): Promise<readonly unknown[]> => {
        const { manager } = await start({ ...setting, entry: { secret: SECRET, ...entry } });
        const decision = await manager.checkTool(call);
        return [decision.action, ...outcomesOf(decision)];
      };
      equal(await ask({}), ["continue", "desk: not_granted", "desk: approved"]);
      equal(await ask({}, { grants: ["respond"] }), ["respond", "desk: respond"]);
      const defaults = { respond_requires_approval: true };
      equal(await ask({ defaults }, { grants: ["respond"] }), ["respond", "desk: respond", "desk: approved"]);
      const own = { grants: ["respond"], respond_requires_approval: false };
      equal(await ask({ defaults }, own), ["respond", "desk: respond"]);
    },
    "a-gateway-is-a-hook-of-another": async () => {
      const signatures = [{ name: "edge", issuer: GATEWAY, audience: AUDIENCE, secret: SECRET }];
      const inner = await configuredGateway({ id: "inner", auth: { signatures } }, { hooks: { policy } });
      const entry = { url: AUDIENCE, endpoint: "inner", secret: SECRET };
      equal(await verdicts({ entry, endpoint: inner }), DECIDED);
    },
  },
);

async function problemOf(made: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await made.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  ok(error instanceof ConfigError, String(error));
  return error.problems.map(({ path, message }) => `${path}: ${message}`);
}

const LATER_MS = 600_000;

/** Two keys active at once, each way. */
export const rotationCases: readonly Case[] = casesOf(
  { topic: "rotation", source: "Signatures, section 2, Keys" },
  {
    "of-the-gateway's-key": async () => {
      const [old, next, desk] = [await createPrivateJwk(), await createPrivateJwk("EdDSA"), await createPrivateJwk()];
      let nowMs = NOW_MS;
      const now = (): number => nowMs;
      let published = await configuredGateway({ signing_key: old });
      const gatewayKeys = createRemoteKeySet({
        url: "https://gate.test/.well-known/jwks.json",
        fetch: (url, init) => published.fetch(new Request(url, init)),
        now,
      });
      const endpoint = endpointOf({ keys: { gateway: gatewayKeys, own: desk }, now });
      const entry = { reply_key: toPublicJwk(desk) };
      const ask = async (signing_key: object): Promise<readonly string[]> => {
        published = await configuredGateway({ signing_key });
        return verdicts({ entry, endpoint, gateway: { signing_key }, now });
      };
      equal(await ask(old), DECIDED);
      for (const keys of [{ keys: [old, next] }, { keys: [next, old] }, next]) {
        nowMs += LATER_MS;
        equal(await ask(keys), DECIDED);
      }
      nowMs += LATER_MS;
      published = await configuredGateway({ signing_key: next });
      // What the old key signs is refused once it is retired.
      const retired = await verdicts({ entry, endpoint, gateway: { signing_key: old }, now });
      equal(retired, ["desk: http_status", "desk: http_status"]);
    },
    "of-the-endpoint's-key": async () => {
      const [ours, old, next] = [await createPrivateJwk(), await createPrivateJwk(), await createPrivateJwk("EdDSA")];
      let nowMs = NOW_MS;
      const now = (): number => nowMs;
      const make = (own: object): HookEndpoint => endpointOf({ keys: { gateway: toPublicJwk(ours), own }, now });
      let current = make(old);
      const endpoint: HookEndpoint = {
        fetch: (request) => current.fetch(request),
        answer: (request, context) => current.answer(request, context),
        ready: () => current.ready(),
      };
      const { manager } = await start({
        entry: { reply_jwks: "https://desk.test/.well-known/jwks.json" },
        gateway: { signing_key: ours },
        endpoint,
        now,
      });
      const ask = async (): Promise<readonly string[]> =>
        outcomesOf(await manager.approveTool({ ...toolCall(), tool: "read" }));
      equal(await ask(), ["desk: approved"]);
      for (const own of [{ keys: [old, next] }, { keys: [next, old] }, next]) {
        current = make(own);
        nowMs += LATER_MS;
        equal(await ask(), ["desk: approved"]);
      }
      current = make(old);
      equal(await ask(), ["desk: bad_signature"]);
      await manager.close();
    },
  },
);
