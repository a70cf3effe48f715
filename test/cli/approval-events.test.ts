import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDir, removeDir, start } from "./run.ts";

/** Writes what it is told of into a file. */
const WATCHER = `
const { appendFileSync } = require("node:fs");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
  else appendFileSync("events.jsonl", JSON.stringify(params) + "\\n");
});`;

let dir: string;

beforeAll(async () => {
  const observe = ["approval_requested", "approval_decided"];
  dir = await makeDir({
    "watcher.cjs": WATCHER,
    "events.jsonl": "",
    "hooks.json": {
      hooks: {
        builtins: { human_approval: { enabled: true, config: { rules: [{ wait_ms: 0 }] } } },
        processes: { watcher: { enabled: true, command: ["node", "watcher.cjs"], dir: ".", observe } },
      },
      approvals: { store: "memory", mask: ["arguments.password"] },
    },
  });
});

afterAll(() => removeDir(dir));

async function eventsIn(file: string): Promise<readonly unknown[]> {
  const text = await readFile(join(dir, file), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}

test("a hook that observes hears what people are asked at a gateway, and decide", { timeout: 30_000 }, async () => {
  const gateway = start(["serve", "--port", "0"], { cwd: dir });
  const url = /listens on (\S+)/.exec(await gateway.seen("try it:"))?.[1] ?? "";
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
  };
  const params = { tool: "bash", arguments: { command: "make", password: "hunter2" } };
  const reply = await post("/rpc", { jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
  const { id } = (reply as { readonly result: { readonly approval: { readonly id: string } } }).result.approval;
  await post(`/v1/approvals/${id}/decision`, { decision: "deny", comment: "not now" });
  gateway.signal("SIGTERM");
  expect((await gateway.ended).code).toBe(0);
  const shown = { ID: id, Tool: "bash", Arguments: { command: "make", password: "[masked]" } };
  expect(await eventsIn("events.jsonl")).toMatchObject([
    { Kind: "approval_requested", Payload: { ...shown, Status: "pending" } },
    { Kind: "approval_decided", Payload: { ...shown, Status: "denied", By: ["anonymous"], Comment: "not now" } },
  ]);
});
