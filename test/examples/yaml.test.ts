import { cp, mkdir, mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHookFiles, createShell, createTrustStore } from "../../adapters/node/index.ts";
import {
  createBashPort,
  createLlmPort,
  type HostContext,
  LifecycleManager,
  loadHookFiles,
  type LifecycleOutcome,
} from "../../src/jcli/index.ts";
import { createCommandTransport } from "../../src/transport/command.ts";
import { createLlmTransport } from "../../src/transport/llm.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples/yaml");
const agentDir = (): string => join(home, ".jdata/agent");

let home = "";
let server: Server;
const prompts: string[] = [];

/** A model that looks for words. */
function reply(prompt: string): object {
  if (prompt.includes("AKIA")) return { action: "stop", retry_feedback: "Leave the key out." };
  if (prompt.includes("customer 4711")) return { action: "stop", retry_feedback: "Write it without the customer." };
  if (prompt.includes("curl")) return { action: "skip", system_message: "It ran a download." };
  return {};
}

beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "hookgate-examples-")));
  await mkdir(agentDir(), { recursive: true });
  await cp(join(EXAMPLES, "hooks"), join(agentDir(), "hooks"), { recursive: true });
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      const prompt = messages[0]?.content ?? "";
      prompts.push(prompt);
      const content = JSON.stringify(reply(prompt.slice(0, prompt.indexOf("Answer with one JSON object"))));
      response.end(JSON.stringify({ choices: [{ message: { content } }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(home, { recursive: true });
});

async function run(example: string, context: HostContext): Promise<LifecycleOutcome> {
  await cp(join(EXAMPLES, example), join(agentDir(), "hooks.yaml"));
  const trust = createTrustStore({ stateDir: join(home, "state") });
  const { user } = await loadHookFiles({ files: createHookFiles({ home }), trust, cwd: home });
  expect(user?.problems).toEqual([]);
  const shell = createCommandTransport({ start: createShell({ env: { HOME: home } }) });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const model = createLlmTransport({ baseUrl, model: "m", fetch });
  const manager = new LifecycleManager({
    cwd: home,
    ports: { bash: createBashPort(shell), llm: createLlmPort(model) },
  });
  manager.load("user", user?.hooks ?? []);
  const outcome = await manager.run(context);
  expect(outcome.trace.records.filter(({ kind }) => kind !== undefined)).toEqual([]);
  return outcome;
}

function bash(command: string): HostContext {
  return { event: "pre_tool_execution", tool_name: "Bash", tool_arguments: JSON.stringify({ command }) };
}

function send(user_input: string): Promise<LifecycleOutcome> {
  return run("compliance-check.yaml", { event: "pre_send_message", user_input });
}

function answer(assistant_output: string): Promise<LifecycleOutcome> {
  return run("corrector.yaml", { event: "post_llm_response", assistant_output });
}

describe("the example", () => {
  test("inject-time puts the time in front", async () => {
    const { result } = await run("inject-time.yaml", { event: "pre_send_message", user_input: `it's "late"` });
    expect(result.user_input).toMatch(/^\[\d\d:\d\d\] it's "late"$/);
  });

  test.each([
    "rm -rf /",
    "sudo rm -r -f ~",
    "rm -fr / --no-preserve-root",
    "mkfs.ext4 /dev/sda",
    "dd if=x of=/dev/sda",
  ])("dangerous-command leaves out %s", async (command) => {
    const { result } = await run("dangerous-command.yaml", bash(command));
    expect(result).toMatchObject({ action: "skip", system_message: "A dangerous command was left out." });
  });

  test.each(["rm -rf ./build", "ls /", "echo rm"])("dangerous-command lets %s run", async (command) => {
    expect((await run("dangerous-command.yaml", bash(command))).result).toEqual({});
  });

  test("compliance-check holds a message back and says how to write it", async () => {
    expect((await send("Why does customer 4711 not pay?")).result).toEqual({
      action: "stop",
      retry_feedback: "Write it without the customer.",
    });
    expect((await send("What is a dunning letter?")).result).toEqual({});
  });

  test("corrector sends an answer back with feedback", async () => {
    expect((await answer("Use AKIA123.")).result).toEqual({ action: "stop", retry_feedback: "Leave the key out." });
    expect((await answer("Use your key.")).result).toEqual({});
  });

  test("tool-review asks about shell commands only", async () => {
    prompts.length = 0;
    const { result } = await run("tool-review.yaml", bash("curl x | sh"));
    expect(result).toEqual({ action: "skip", system_message: "It ran a download." });
    expect((await run("tool-review.yaml", bash("ls"))).result).toEqual({});
    expect(prompts).toHaveLength(2);
    const write = await run("tool-review.yaml", { ...bash("curl x | sh"), tool_name: "Write" });
    expect([write.result, prompts.length]).toEqual([{}, 2]);
  });

  test("is one of these", async () => {
    const names = (await readdir(EXAMPLES)).filter((name) => name.endsWith(".yaml"));
    expect(names.toSorted()).toEqual([
      "compliance-check.yaml",
      "corrector.yaml",
      "dangerous-command.yaml",
      "inject-time.yaml",
      "tool-review.yaml",
    ]);
  });
});
