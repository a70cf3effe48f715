/** Where a starter runs. */
export type StarterRuntime = "workers" | "node" | "lambda" | "deno" | "bun" | "python";

/** The runtimes there are starters for. */
export const STARTER_RUNTIMES: readonly StarterRuntime[] = ["workers", "node", "lambda", "deno", "bun", "python"];

/** What a starter is made with. */
export interface StarterOptions {
  /** The endpoint's name: what it signs its replies with. */
  readonly name: string;
  /** The version of this package. */
  readonly version: string;
  /** The text of an example that ships with this package. */
  readonly readExample: (name: string) => Promise<string>;
}

/** A starter: its files by name, and what to do with them. */
export interface Starter {
  readonly files: Readonly<Record<string, string>>;
  /** Shell lines, in order. */
  readonly next: readonly string[];
}

/** A value as JSON text, as in a file that people edit. */
export function toJsonFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The hook itself: the same for every runtime that has TypeScript. */
export const HOOK_SOURCE = `import { defineHook } from "hookgate/endpoint";

/** Tools that may run without a person's consent. */
const READ_ONLY: ReadonlySet<string> = new Set(["read_file", "search", "list_files"]);

/** Your policy: replace what the handlers do. It also runs over stdio and in-process without a change. */
export const hook = defineHook({
  beforeTool({ tool, arguments: args }) {
    const isForbidden = tool === "shell" && String(args?.["command"]).includes("rm -rf");
    return isForbidden ? { action: "deny_tool", reason: "rm -rf is not allowed" } : undefined;
  },
  approveTool({ tool }) {
    if (READ_ONLY.has(tool)) return { approved: true };
    return { approved: false, reason: \`\${tool} is not a tool that only reads\` };
  },
});
`;

/** What the tests of every starter check; \`answer\` sends a request to the endpoint and is the runtime's own. */
export const TEST_BODY = `const call = JSON.stringify({
  jsonrpc: "2.0",
  id: "019ab697-e800-7000-8000-000000000001",
  method: "hook.approve_tool",
  params: { tool: "read_file", arguments: {} },
});

test("the hook approves what only reads, and nothing else", () => {
  const names = { AgentID: "main", TurnID: "1", ParentTurnID: "", SessionKey: "chat", TracePath: "", Source: "" };
  const meta = { ...names, Iteration: 1 };
  assert.deepEqual(hook.approveTool({ meta, tool: "read_file" }), { approved: true });
  assert.equal(hook.approveTool({ meta, tool: "shell" }).approved, false);
});

test("a call without a signature is refused", async () => {
  const { status, text } = await answer({ "content-type": "application/json" });
  assert.equal(status, 401);
  assert.match(text, /signature_missing/);
});

test("a call that somebody else signed is refused", async () => {
  const signature = "eyJhbGciOiJub25lIiwidHlwIjoiaG9vay1yZXF1ZXN0K2p3dCJ9.e30.e30";
  const { status } = await answer({ "content-type": "application/json", "hook-signature": signature });
  assert.equal(status, 401);
});
`;

/** The environment the tests run in. */
export const TEST_ENV = `{
  HOOK_SECRET: "a secret for tests only, which nobody else has",
  HOOK_URL: "https://hooks.example.com/hook",
  HOOK_GATEWAY: "hookgate",
}`;

/** The part of a gateway's config that calls the endpoint. */
export function toReadme({ name, start }: { readonly name: string; readonly start: string }): string {
  return `# ${name}

A hook endpoint of hookgate: it decides about the tool calls of AI agents. The policy is in the file named hook.

${start}

It needs three settings: \`HOOK_SECRET\` (shared with the gateway, at least 32 random bytes: \`hookgate keys new --alg HS256
--stdout\`), \`HOOK_URL\` (its own URL, exactly as the gateway is configured with) and \`HOOK_GATEWAY\` (the gateway's id).

The gateway calls it with this in its config:

\`\`\`json
{
  "hooks": {
    "processes": {
      ${JSON.stringify(name)}: {
        "enabled": true,
        "transport": "http",
        "url": "https://hooks.example.com/hook",
        "secret": "\${env:HOOK_SECRET}",
        "intercept": ["before_tool", "approve_tool"]
      }
    }
  }
}
\`\`\`

\`hookgate check\` says whether the two understand each other, and what to do where they do not.
`;
}
