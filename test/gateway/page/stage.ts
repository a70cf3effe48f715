import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createGateway,
  createThreadRecorder,
  type GatewayListener,
  HookManager,
  serveGateway,
  type ThreadRecording,
} from "../../../adapters/node/index.ts";
import { sha256 } from "../../records/fixtures.ts";

/** The token that lets one look at the pages. */
export const TOKEN = "look-at-this";

/** A gateway with records, as a browser reaches it. */
export interface Stage {
  readonly url: string;
  /** Asks the hooks about a tool, and waits until the decision is recorded. */
  decide(tool: string, changes?: { readonly args?: object; readonly session?: string }): Promise<void>;
  close(): Promise<void>;
}

/** Options of {@link openStage}. */
export interface StageOptions {
  readonly hasAuth: boolean;
  /** The name of the hook. @default "gate" */
  readonly hookName?: string;
  /** What the hook fails with at the tool `boom`. @default "broken" */
  readonly hookError?: string;
}

/** Opens a gateway with one hook that denies `rm`, changes `sed`, and fails at `boom`. */
export async function openStage({ hasAuth, hookName = "gate", hookError = "broken" }: StageOptions): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), "hookgate-page-"));
  const recording: ThreadRecording = createThreadRecorder({
    payload: "full",
    sqlite: { path: join(dir, "records.db") },
  });
  const manager = new HookManager({ onDecision: recording.toObserver(1) });
  await manager.mount(
    {
      beforeTool({ tool, arguments: given }) {
        if (tool === "rm") return { action: "deny_tool", reason: `not ${JSON.stringify(given)}` };
        if (tool === "boom") throw new Error(hookError);
        return tool === "sed" ? { call: { arguments: { ...given, safe: true } } } : undefined;
      },
    },
    { name: hookName },
  );
  const tokens = [{ name: "eye", sha256: sha256(TOKEN), scopes: ["observe"] as const }];
  const listener: GatewayListener = await serveGateway(
    createGateway({
      host: manager,
      hooks: () => manager.hooks(),
      recording,
      records: recording.store,
      ...(hasAuth && { auth: { tokens } }),
    }),
    { port: 0 },
  );
  return {
    url: listener.url,
    async decide(tool, { args = {}, session = "s1" } = {}) {
      await manager.beforeTool({ tool, arguments: { ...args }, meta: { SessionKey: session } });
      await recording.flush();
    },
    async close() {
      await listener.close();
      await recording.close();
      await manager.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A page of somebody else's on this machine. */
export interface ForeignSite {
  readonly port: number;
  close(): void;
}

/** Serves one text of HTML at every path. */
export async function serveForeign(html: string): Promise<ForeignSite> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(html);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
