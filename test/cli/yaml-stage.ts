import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type Ran, run } from "./run.ts";

/** Where a user's own hook file is, seen from home. */
export const USER = ".jdata/agent/hooks.yaml";

/** Lines of a file. */
export const lines = (...text: readonly string[]): string => `${text.join("\n")}\n`;

/** A home directory, new for each test, and a model's server. */
export interface YamlStage {
  readonly home: string;
  /** What the model is asked. */
  readonly prompts: string[];
  /** What the model answers, and with which status. */
  answer: object;
  status: number;
  write(name: string, text: string): Promise<void>;
  env(): Record<string, string>;
  hookgate(args: readonly string[], stdin?: string): Promise<Ran>;
}

/** Makes the stage of a file of tests. */
export function createYamlStage(): YamlStage {
  let home = "";
  let model: Server;
  const stage: YamlStage = {
    get home() {
      return home;
    },
    prompts: [],
    answer: {},
    status: 200,
    async write(name, text) {
      const path = join(home, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
    env() {
      const base = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
      return { HOME: home, XDG_STATE_HOME: join(home, "state"), HOOKGATE_LLM_BASE_URL: base, HOOKGATE_LLM_MODEL: "m" };
    },
    hookgate: (args, stdin = "") => run(args, { cwd: home, env: stage.env(), stdin }),
  };
  beforeAll(async () => {
    model = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        if (request.method === "POST") stage.prompts.push(body);
        response.statusCode = stage.status;
        response.end(JSON.stringify({ choices: [{ message: { content: JSON.stringify(stage.answer) } }] }));
      });
    });
    await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => model.close());
  beforeEach(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), "hookgate-yaml-")));
    Object.assign(stage, { answer: {}, status: 200 });
    await stage.write("hooks.json", JSON.stringify({ hooks: {}, yaml: true }));
  });
  afterEach(() => rm(home, { recursive: true }));
  return stage;
}

/** A hook file with much that is wrong in it. */
export const BROKEN: string = lines(
  "pre_send_mesage:",
  "  - command: a",
  "stop:",
  "  - command: echo '{}'",
  "  - command: hookgate-no-such-command --flag",
  "    filter: { tool_name: Bash }",
  "  - command: ~/none.sh",
  "    timeout: soon",
  "  - type: llm",
  '    prompt: "{{user_inptu}}"',
);
