import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { makeDir, removeDir, run, type RunOptions, start } from "./run.ts";

let server: Server | undefined;
let dir = "";

afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
  await removeDir(dir);
});

type Answer = (response: ServerResponse, url: string) => void;

/** A gateway that answers its requests in turn; the last answer is repeated. */
async function listen(...answers: readonly Answer[]): Promise<{ readonly url: string; readonly options: RunOptions }> {
  dir = await makeDir({});
  let index = 0;
  server = createServer(({ url = "" }, response) => {
    answers[Math.min(index, answers.length - 1)]?.(response, url);
    index += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    options: { cwd: dir },
  };
}

const record = (id: string, more: object = {}): object => ({
  id,
  time: "2026-01-02T03:04:05.678Z",
  point: "before_tool",
  action: "deny_tool",
  reason: "no \u001B[31mshell",
  tool: "bash",
  session: "s1",
  ms: 1.25,
  hooks: [{ hook: "gate", outcome: "deny_tool" }],
  ...more,
});

const event = (value: object): string => `event: decision\nid: 1\ndata: ${JSON.stringify(value)}\n\n`;

const stream =
  (text: string, isEnding = false): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`retry: 2000\n\n: nothing new\n\n${text}`);
    if (isEnding) response.end();
  };

describe("hookgate tail", () => {
  test("shows decisions as they come, and nothing that moves a terminal", async () => {
    const { url, options } = await listen(stream(event(record("a")) + event(record("b", { action: "continue" }))));
    const { code, stdout, stderr } = await run(["tail", "--url", url, "-n", "2"], options);
    const [first, second] = stdout.split("\n");
    expect(first).toBe(
      "2026-01-02T03:04:05.678Z  deny_tool   before_tool  bash  session=s1  by gate  no  [31mshell  1.3 ms",
    );
    expect(second).toContain("continue");
    expect(stderr).toBe(`connected to ${url}\n`);
    expect(code).toBe(0);
  });

  test("asks for what is wanted, and prints JSON lines", async () => {
    const asked: string[] = [];
    const { url, options } = await listen((response, path) => {
      asked.push(path);
      stream(event(record("a")))(response, path);
    });
    const flags = ["--session", "s 1", "--tool", "bash", "--outcome", "deny_tool", "--json", "--count", "1"];
    const { stdout } = await run(["tail", "--url", url, ...flags], options);
    expect(asked).toEqual(["/v1/events?session=s+1&tool=bash&outcome=deny_tool"]);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([record("a")]);
  });

  test("puts a record together that comes in pieces", async () => {
    const bytes = Buffer.from(event(record("ä")));
    const middle = bytes.indexOf(Buffer.from("ä")) + 1;
    const { url, options } = await listen((response) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, middle), () => response.write(bytes.subarray(middle)));
    });
    const { stdout } = await run(["tail", "--url", url, "--json", "-n", "1"], options);
    expect(JSON.parse(stdout)).toEqual(record("ä"));
  });

  test("connects again when the gateway goes, and says what was missed", async () => {
    const { url, options } = await listen(
      stream(event(record("a")), true),
      (response) => response.writeHead(503).end(),
      (response) => response.destroy(),
      stream(`event: dropped\ndata: 7\n\n${event(record("b"))}`),
    );
    const { code, stdout, stderr } = await run(["tail", "--url", url, "--json", "-n", "2"], options);
    expect(stdout.split("\n")).toHaveLength(3);
    expect(stderr).toMatch(/disconnected from http:\S+: the gateway ended the stream; connecting again in \d+ ms/);
    expect(stderr).toContain("HTTP status 503; connecting again");
    expect(stderr).toContain("cannot be reached");
    expect(stderr).toContain("7 decisions were missed");
    expect(code).toBe(0);
  });

  test.each([
    [404, "keeps no records of decisions"],
    [401, "refused: HTTP status 401"],
  ])("ends where it is answered %i", async (status, message) => {
    const { url, options } = await listen((response) => response.writeHead(status).end());
    const { code, stderr } = await run(["tail", "--url", url], options);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });

  test("ends with 0 on Ctrl-C", async () => {
    const { url, options } = await listen(stream(event(record("a"))));
    const running = start(["tail", "--url", url], options);
    await running.seen("deny_tool");
    running.signal("SIGINT");
    expect(await running.ended).toMatchObject({ code: 0 });
  });
});

const config = (tools: readonly string[]): unknown => ({
  hooks: { builtins: { deny_tools: { enabled: true, config: { tools, reason: "no" } } } },
});

const inDir = async (files: object): Promise<string> => {
  dir = await makeDir({ "same.json": config(["bash"]), "other.json": config(["read"]), ...files });
  return dir;
};

describe("hookgate replay", () => {
  const asked = (id: string, tool: string, decided: object): object =>
    record(id, { tool, reason: "", action: "continue", input: { tool, arguments: {} }, ...decided });
  const records = [
    asked("a", "bash", { action: "deny_tool", reason: "no" }),
    asked("b", "read", {}),
    record("c"),
    asked("d", "bash", { point: "approve_tool", action: "approved" }),
  ];
  const lines = records.map((each) => `${JSON.stringify(each)}\n`).join("");

  test("says that nothing differs, and what could not be asked", async () => {
    const cwd = await inDir({ "records.jsonl": lines });
    const { code, stdout } = await run(["replay", "records.jsonl", "--config", "same.json"], { cwd });
    expect(stdout).toBe("3 asked again, 0 differ, 1 skipped: they hold no payload\n");
    expect(code).toBe(0);
  });

  test("shows what differs", async () => {
    const cwd = await inDir({ "records.jsonl": lines });
    const { code, stdout } = await run(["replay", "records.jsonl", "--config", "other.json"], { cwd });
    expect(stdout).toMatch(/^a +before_tool +bash +deny_tool +continue +no ->$/m);
    expect(stdout).toMatch(/^b +before_tool +read +continue +deny_tool +-> no$/m);
    expect(code).toBe(2);
    const json = await run(["replay", "records.jsonl", "--config", "other.json", "--json"], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({
      replayed: 3,
      without_payload: 1,
      differences: [{ id: "a" }, { id: "b" }],
    });
  });

  test("takes a gateway's records, all or one", async () => {
    const { url, options } = await listen((response, path) => {
      const body = path.startsWith("/v1/records/") ? records[0] : { records: records.toReversed(), next: null };
      response.end(JSON.stringify(body));
    });
    await removeDir(options.cwd);
    const cwd = await inDir({});
    const flags = ["--url", url, "--config", "same.json"];
    expect((await run(["replay", ...flags], { cwd })).stdout).toContain("3 asked again, 0 differ");
    expect((await run(["replay", "a", ...flags], { cwd })).stdout).toContain("1 asked again, 0 differ");
  });

  test.each([
    [["records.jsonl"], { "records.jsonl": JSON.stringify(record("a")) }, "none of 1 records holds its payload"],
    [["records.jsonl"], { "records.jsonl": "" }, "there are no records"],
    [["records.jsonl"], { "records.jsonl": "\nnonsense" }, "records.jsonl:2 is not a decision record"],
    [["0192"], {}, "for the ID of a record name its gateway with --url"],
    [[], {}, "which records?"],
  ])("refuses %j %j", async (args, files, message) => {
    const cwd = await inDir(files);
    const { code, stderr } = await run(["replay", ...args, "--config", "same.json"], { cwd });
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });
});
