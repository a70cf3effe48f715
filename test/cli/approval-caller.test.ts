import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDir, removeDir, run, type Running, start } from "./run.ts";

/** Changes nothing, and writes what it is told into a file. */
const WITNESS = `
const { appendFileSync } = require("node:fs");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  appendFileSync("witness.jsonl", line + "\\n");
  const { id } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
});`;

const token = (name: string, ...scopes: readonly string[]): object => ({
  name,
  sha256: createHash("sha256").update(`secret of ${name}`.replaceAll(" ", "-")).digest("hex"),
  scopes,
});
const secretOf = (name: string): string => `secret-of-${name.replaceAll(" ", "-")}`;

let dir = "";
let gateway: Running | undefined;

beforeAll(async () => {
  const witness = { enabled: true, command: ["node", "witness.cjs"], dir: ".", intercept: ["before_tool"] };
  dir = await makeDir({
    "witness.cjs": WITNESS,
    "told.jsonl": "",
    "hooks.json": {
      hooks: {
        builtins: { human_approval: { enabled: true, priority: 1000, config: { rules: [{ wait_ms: 0 }] } } },
        processes: { witness: { ...witness, observe: ["tool_exec_end"] } },
      },
      gateway: { auth: { tokens: [token("bot-of-ann", "call"), token("ann", "approve")] } },
      approvals: { store: "memory", notify: [{ type: "command", command: "cat >> told.jsonl; echo >> told.jsonl" }] },
    },
  });
});

afterAll(async () => {
  gateway?.signal("SIGKILL");
  await gateway?.ended;
  await removeDir(dir);
});

test("who asks is shown wherever people look, and told to no other hook", { timeout: 30_000 }, async () => {
  gateway = start(["serve", "--port", "0"], { cwd: dir });
  const url = /listens on (\S+)/.exec(await gateway.seen("try it:"))?.[1] ?? "";
  const params = { tool: "bash", arguments: { command: "make" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.check_tool", params });
  const headers = { "content-type": "application/json", authorization: `Bearer ${secretOf("bot-of-ann")}` };
  const reply = await (await fetch(`${url}/rpc`, { method: "POST", headers, body })).text();
  const { id } = (JSON.parse(reply) as { readonly result: { readonly approval: { readonly id: string } } }).result
    .approval;
  expect(reply).not.toContain("bot-of-ann");

  const asAnn = { authorization: `Bearer ${secretOf("ann")}` };
  const listed = await (await fetch(`${url}/v1/approvals`, { headers: asAnn })).json();
  expect(listed).toMatchObject({ approvals: [{ id, requester: { caller: "bot-of-ann" } }] });
  const page = await (await fetch(`${url}/approvals/${id}`, { headers: asAnn })).text();
  expect(page).toMatch(/host <strong><bdi>bot-of-ann<\/bdi><\/strong>/);
  const args = ["approvals", "show", id, "--url", url, "--token-env", "TOKEN"];
  expect((await run(args, { cwd: dir, env: { TOKEN: secretOf("ann") } })).stdout).toMatch(/host +bot-of-ann\n/);
  const told = async (): Promise<string> => readFile(join(dir, "told.jsonl"), "utf8");
  await expect.poll(told).toContain('"caller":"bot-of-ann"');

  gateway.signal("SIGTERM");
  expect((await gateway.ended).code).toBe(0);
  const witnessed = await readFile(join(dir, "witness.jsonl"), "utf8");
  expect(witnessed).toContain("hook.before_tool");
  expect(witnessed).not.toContain("bot-of-ann");
});
