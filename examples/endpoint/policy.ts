import { defineHook, type Hook } from "../../src/endpoint/index.ts";

/** Tools that may run without a person's consent. */
const READ_ONLY: ReadonlySet<string> = new Set(["read_file", "search", "list_files"]);

/** The hook that each example puts behind a URL: it refuses one command, and approves what only reads. */
export const policy: Hook = defineHook({
  beforeTool({ tool, arguments: args }) {
    const isForbidden = tool === "shell" && String(args?.["command"]).includes("rm -rf");
    return isForbidden ? { action: "deny_tool", reason: "rm -rf is not allowed" } : undefined;
  },
  approveTool({ tool }) {
    if (READ_ONLY.has(tool)) return { approved: true };
    return { approved: false, reason: `${tool} is not a tool that only reads` };
  },
  onEvent({ Kind }, { log }) {
    log.info("event", { kind: Kind });
  },
});
