import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXAMPLES, type ExampleProcess } from "./example-process.ts";
import { answerTo, createGatewaySide, type GatewaySide, HOSTILE, SECRET } from "./gateway-side.ts";

const START_MS = 60_000;

describe.each(Object.entries(EXAMPLES))("the example on %s", (_runtime, start) => {
  let example: ExampleProcess;
  let side: GatewaySide;

  beforeAll(async () => {
    example = await start();
    side = await createGatewaySide(example.url);
  }, START_MS);

  afterAll(async () => {
    await side?.close();
    await example?.close();
  });

  test("decides on tool calls, by signed request and signed reply", async () => {
    const { manager } = side;
    const denied = await manager.beforeTool({ tool: "shell", arguments: { command: "rm -rf /" } });
    expect([denied.action, denied.reason]).toEqual(["deny_tool", "rm -rf is not allowed"]);
    const passed = await manager.beforeTool({ tool: "shell", arguments: { command: "ls — ⛔\u2028" } });
    expect([passed.action, passed.changed, passed.trace.records]).toMatchObject([
      "continue",
      false,
      [{ hook: "approvals" }],
    ]);
    expect(await manager.approveTool({ tool: "read_file" })).toMatchObject({ approved: true, reason: "" });
    const refused = await manager.approveTool({ tool: "shell" });
    expect(refused).toMatchObject({ approved: false, reason: "shell is not a tool that only reads" });
    expect([denied, passed, refused].flatMap(({ trace }) => trace.records.flatMap(({ kind }) => kind ?? []))).toEqual(
      [],
    );
  });

  test("answers many calls at once", async () => {
    const calls = Array.from({ length: 100 }, () => side.manager.approveTool({ tool: "search" }));
    expect((await Promise.all(calls)).filter(({ approved }) => !approved)).toEqual([]);
  });

  test("takes events", async () => {
    const { manager, transport, close } = await createGatewaySide(example.url);
    manager.emit({ Kind: "turn_start", Meta: {}, Payload: { UserMessage: "hi" } });
    manager.emit({ Kind: "turn_end", Meta: {}, Payload: { Status: "completed" } });
    await manager.flush(5000);
    await close();
    expect(transport.status()).toMatchObject({ deliveredEvents: 2, droppedEvents: 0 });
    await example.seen("turn_end");
  });

  test("approves nothing for a gateway with another secret, and its refusal is a no-verdict", async () => {
    const stranger = await createGatewaySide(example.url, SECRET.toUpperCase());
    const { approved, trace } = await stranger.manager.approveTool({ tool: "read_file" });
    expect([approved, trace.records[0]?.kind]).toEqual([false, "http_status"]);
    await stranger.close();
  });

  test.each(HOSTILE)("%s", async (_name, hostile, answer) => {
    expect(await answerTo(example.url, hostile)).toBe(answer);
  });

  test("has never written a secret or a token", () => {
    expect(example.output()).not.toContain(SECRET);
    expect(example.output()).not.toContain("eyJ");
  });
});
