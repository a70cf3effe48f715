import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Dev, freePort, ROOT, startDev } from "./wrangler.ts";

export const TOKEN = "the-token-of-the-bot-of-these-tests";
export const HOOK_SECRET = "a-secret-of-the-tests-0123456789-abcdefgh";
export const HOST_SECRET = "another-secret-of-the-tests-0123456789-abc";

const COMPATIBILITY = {
  compatibility_date: "2026-11-01",
  compatibility_flags: ["global_fetch_strictly_public", "enable_request_signal"],
};
const REPLAY = {
  durable_objects: { bindings: [{ name: "REPLAY", class_name: "ReplayShard" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["ReplayShard"] }],
};

/** Sends a request on to the Worker that the first part of its path names. */
const ROUTER = `export default {
  fetch(request, env) {
    const url = new URL(request.url);
    const [, name, ...rest] = url.pathname.split("/");
    url.pathname = "/" + rest.join("/");
    return env[name].fetch(new Request(url, request));
  },
};`;

/** Gateways in one `wrangler dev`, each at a path of its own, and the approval worker they call. */
export interface Stage extends Dev {
  /** The `/rpc` of a gateway. */
  rpc(gateway: string): string;
  remove(): Promise<void>;
}

/** One gateway of a stage. */
export interface GatewayVars {
  /** Where the approval worker is called, signed. */
  readonly hookUrl: string;
  /** Where this gateway is. */
  readonly rpcUrl: string;
}

/** Starts gateways with these variables, by name, in one `wrangler dev`. */
export async function startStage(
  gateways: Readonly<Record<string, (urls: GatewayVars) => Readonly<Record<string, unknown>>>>,
): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), "hookgate-workers-"));
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const hookUrl = `${origin}/endpoint/hook`;
  const names = Object.keys(gateways);
  const services = [...names, "endpoint"].map((name) => ({ binding: name, service: name }));
  await writeFile(join(dir, "router.js"), ROUTER);
  const workers = [
    { name: "router", main: join(dir, "router.js"), services },
    {
      name: "endpoint",
      main: join(ROOT, "examples/approval-worker/worker.ts"),
      vars: { APPROVED_TOOLS: "read_file", HOOK_URL: hookUrl, HOOK_GATEWAY: "edge", HOOK_SECRET },
      ...REPLAY,
    },
    ...Object.entries(gateways).map(([name, vars]) => ({
      name,
      main: join(ROOT, "adapters/cloudflare/worker.ts"),
      vars: vars({ hookUrl, rpcUrl: `${origin}/${name}/rpc` }),
      services: [{ binding: "APPROVALS", service: "endpoint", entrypoint: "Bound" }],
      ...REPLAY,
    })),
  ];
  const configs: string[] = [];
  for (const worker of workers) {
    const file = join(dir, `${worker.name}.json`);
    await writeFile(file, JSON.stringify({ ...COMPATIBILITY, ...worker }));
    configs.push(file);
  }
  const dev = await startDev({ configs, port, stateDir: join(dir, "state") });
  return {
    ...dev,
    rpc: (gateway) => `${origin}/${gateway}/rpc`,
    async remove() {
      await dev.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The auth part of a config that lets the bot in. */
export const AUTH = {
  tokens: [{ name: "bot", sha256: createHash("sha256").update(TOKEN).digest("hex"), scopes: ["call", "observe"] }],
};

/** A signed hook over HTTP, as a config has it. */
export function signedHook(url: string, changes: object = {}): object {
  return {
    enabled: true,
    transport: "http",
    url,
    endpoint: "approvals",
    secret: "${env:APPROVALS_SECRET}",
    observe: ["*"],
    intercept: ["before_tool", "approve_tool"],
    ...changes,
  };
}

/** A config with one hook over HTTP, or another. */
export function config(approvals: object, gateway: object = { id: "edge", auth: AUTH }): object {
  return { hooks: { processes: { approvals } }, gateway };
}
