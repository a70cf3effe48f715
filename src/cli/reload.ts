import type { Args } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import { createGatewayApi, GATEWAY_OPTIONS, refusalOf } from "./gateway-api.ts";
import { HookgateError } from "../errors.ts";
import type { CliHost } from "./host.ts";
import { isObject } from "../is-object.ts";
import { createPaint, toLine, toSafeJson } from "./text.ts";

/** `hookgate reload`: a running gateway reads its config again. */
export const reload: Command = {
  name: "reload",
  summary: "Has a running gateway read its config again.",
  usage: "reload [--url URL] [--token-env NAME] [--json]",
  details: [
    "Hooks that are new or have changed are started and greeted, those that are the same go on running, and calls under way are answered by the hooks they began with. Where anything is wrong nothing changes, and the problems are listed.",
    "A gateway with tokens wants one of scope admin.",
  ],
  options: { ...GATEWAY_OPTIONS, json: { help: "Prints the gateway's report as JSON." } },
  maxPositionals: 0,
  examples: [
    { line: "hookgate reload --url http://127.0.0.1:8787", help: "the gateway on this machine" },
    { line: "hookgate reload --url https://gate.example --token-env HOOKGATE_ADMIN", help: "another one" },
  ],
  exitCodes: {
    0: "the new config answers",
    1: "it is not good, and the old one goes on; or the gateway refused",
    3: "the gateway cannot be reached",
  },
  run: runReload,
};

async function runReload(args: Args, host: CliHost): Promise<number> {
  const api = createGatewayApi(args, host);
  const answer = await api.post("/v1/reload");
  const { body } = answer;
  if (!isObject(body) || typeof body["ok"] !== "boolean") {
    throw new HookgateError("ERR_CONFIG", `${api.url} did not reload: ${refusalOf(answer)}`);
  }
  const text = args.has("json") ? `${toSafeJson(body)}\n` : format(body, host);
  host.stdout.write(text);
  return body["ok"] ? EXIT.ok : EXIT.usage;
}

function format(report: Readonly<Record<string, unknown>>, host: CliHost): string {
  const paint = createPaint(host.stdout, host.env);
  const generation = Number(report["generation"]);
  if (report["ok"] !== true) {
    const head = paint("bad", `not reloaded: the old config (generation ${generation}) goes on`);
    return [head, ...listOf(report["problems"]).map((problem) => `  ${toLine(problem)}`), ""].join("\n");
  }
  const parts = ["started", "kept", "ended"].map((name) => {
    const hooks = listOf(report[name]);
    return `  ${name}: ${hooks.length === 0 ? "none" : toLine(hooks.join(", "))}`;
  });
  const warnings = listOf(report["warnings"]).map((warning) => `  ${paint("warn", "warning:")} ${toLine(warning)}`);
  return [paint("good", `reloaded: generation ${generation}`), ...parts, ...warnings, ""].join("\n");
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
