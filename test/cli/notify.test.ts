import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDir, removeDir, start } from "./run.ts";

let dir: string;
let told: Promise<string>;
const receiver = createServer();

beforeAll(async () => {
  told = new Promise((resolve) => {
    receiver.on("request", (request, response) => {
      void text(request).then((body) => {
        response.end();
        resolve(body);
      });
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const address = receiver.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`;
  const config = { rules: [{ wait_ms: 0, reason: "it runs a command" }] };
  dir = await makeDir({
    "hooks.json": {
      hooks: { builtins: { human_approval: { enabled: true, config } } },
      approvals: { store: "memory", mask: ["arguments.password"], notify: [{ type: "slack", url }] },
    },
  });
});

afterAll(async () => {
  receiver.close();
  await removeDir(dir);
});

test("people are told of what a gateway asks them, and it is shown that they were", { timeout: 30_000 }, async () => {
  const gateway = start(["serve", "--port", "0"], { cwd: dir });
  const url = /listens on (\S+)/.exec(await gateway.seen("try it:"))?.[1] ?? "";
  const params = { tool: "bash", arguments: { command: "make", password: "hunter2" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hook.approve_tool", params });
  const headers = { "content-type": "application/json" };
  const answer = await (await fetch(`${url}/rpc`, { method: "POST", headers, body })).json();
  expect(answer).toMatchObject({ result: { approved: false, approval: { status: "pending" } } });
  const message = await told;
  expect(message).toContain("it runs a command");
  expect(message).not.toContain("hunter2");
  const shown = async (): Promise<unknown> => (await fetch(`${url}/v1/hooks`)).json();
  await expect.poll(shown).toMatchObject({ notifications: [{ name: "slack 1", delivered: 1, waiting: 0 }] });
  gateway.signal("SIGTERM");
  expect((await gateway.ended).code).toBe(0);
});
