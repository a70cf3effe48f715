import type { OutboxPeer } from "../../src/approvals/index.ts";
import { createEdgeGateway, type EdgeGatewayOptions } from "../../src/gateway/edge.ts";
import type { PeerInfo } from "../../src/gateway/origin.ts";
import { createObjectLog, type LogFields } from "../../src/log.ts";

const TOKEN_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
export const OPEN = { hooks: { builtins: { deny_tools: { enabled: true, config: { tools: ["rm"] } } } } };
export const GUARDED = { ...OPEN, gateway: { auth: { tokens: [{ name: "bot", sha256: TOKEN_SHA256 }] } } };

export const NO_OUTBOX: OutboxPeer = {
  enqueue: () => Promise.resolve(),
  exchange: () => Promise.reject(new Error("the object is not there")),
};

export interface Ask {
  readonly host?: string;
  readonly token?: string;
  /** What is read instead of calling. */
  readonly path?: string;
  /** What is called. */
  readonly method?: string;
}

export interface Stage {
  readonly lines: LogFields[];
  ask(request?: Ask, info?: PeerInfo): Promise<Response>;
}

export function createStage(options: Partial<EdgeGatewayOptions>): Stage {
  const lines: LogFields[] = [];
  const log = createObjectLog((level, line) => lines.push({ level, ...line }));
  const gateway = createEdgeGateway({ config: OPEN, configName: "CONFIG", env: {}, ports: {}, log, ...options });
  return {
    lines,
    ask({ host = "gateway.example.com", token, path, method = "hook.before_tool" } = {}, info = {}) {
      const headers = new Headers({ "content-type": "application/json", host });
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      if (path !== undefined) return gateway.fetch(new Request(`https://${host}${path}`, { headers }), info);
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { tool: "rm" } });
      return gateway.fetch(new Request(`https://${host}/rpc`, { method: "POST", headers, body }), info);
    },
  };
}

export function secretHook(secret: string): object {
  return { enabled: true, transport: "http", url: "https://hooks.example.com/", secret, intercept: ["before_tool"] };
}

export function stdioHook(): object {
  return { enabled: true, command: ["python3", "gate.py"], intercept: ["before_tool"] };
}
