import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type BenchRatio, type BenchReport, median } from "./report.ts";

const SERVERS = fileURLToPath(new URL("peers/http-servers.ts", import.meta.url));
const BARE = "bare Hono route that echoes";
const OPEN = "hookgate gateway, one hook";
const GUARDED = "hookgate gateway, one hook, bearer token";
const CONNECTIONS = 64;

const CALL = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "hook.before_tool",
  params: {
    meta: {
      AgentID: "main",
      TurnID: "turn-1",
      ParentTurnID: "",
      SessionKey: "cli:direct",
      Iteration: 1,
      TracePath: "main/turn-1",
      Source: "runTurn",
    },
    tool: "exec",
    arguments: { command: "ls -la /tmp", cwd: "/srv", note: "x".repeat(300) },
    channel: "cli",
    chat_id: "direct",
  },
});

/** A gateway that is called. */
export interface Contestant {
  readonly name: string;
  readonly port: number;
  readonly request: Buffer;
}

/** The gateway at a URL. */
export function toContestant(name: string, url: string): Contestant {
  const { host, port } = new URL(url);
  const lines = [
    "POST /rpc HTTP/1.1",
    `Host: ${host}`,
    "Content-Type: application/json",
    "Authorization: Bearer bench",
  ];
  const head = [...lines, `Content-Length: ${Buffer.byteLength(CALL)}`].join("\r\n");
  return { name, port: Number(port), request: Buffer.from(`${head}\r\n\r\n${CALL}`) };
}

/** Sends requests one after the other on one connection for as long as `next` says. */
async function drive({ port, request }: Contestant, next: () => boolean): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let missing = 0;
  socket.on("connect", () => socket.write(request));
  socket.on("data", (chunk) => {
    missing = missing === 0 ? answerLength(chunk) - chunk.length : missing - chunk.length;
    if (missing > 0) return;
    if (next()) socket.write(request);
    else socket.end();
  });
  await once(socket, "close");
}

/** The length of an answer, of which every head comes in one piece. */
function answerLength(chunk: Buffer): number {
  const text = chunk.toString("latin1");
  const length = /^HTTP\/1\.1 200 [^]*\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
  if (length === undefined) throw new Error(`not the answer that was asked for: ${text}`);
  return text.indexOf("\r\n\r\n") + 4 + Number(length);
}

/** Calls a second over many connections. */
export async function measure(
  contestant: Contestant,
  callCount: number,
  connectionCount: number = CONNECTIONS,
): Promise<number> {
  let left = callCount - connectionCount;
  const next = (): boolean => {
    left -= 1;
    return left >= 0;
  };
  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: connectionCount }, () => drive(contestant, next)));
  return callCount / ((performance.now() - startedAtMs) / 1000);
}

/**
 * Calls a second of `hook.before_tool` over HTTP next to a route that only echoes JSON. The servers are in one process,
 * the load is in this one; the contestants take turns in short rounds.
 */
export async function benchGateway({ roundCount = 21, callCount = 6000 } = {}): Promise<readonly BenchReport[]> {
  const child = spawn(process.execPath, [SERVERS], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const urls = JSON.parse(line.toString()) as {
    readonly bare: string;
    readonly open: string;
    readonly guarded: string;
  };
  const contestants = [
    toContestant(BARE, urls.bare),
    toContestant(OPEN, urls.open),
    toContestant(GUARDED, urls.guarded),
  ];
  const samples = contestants.map((): number[] => []);
  for (const contestant of contestants) await measure(contestant, 2 * callCount);
  for (let round = 0; round < roundCount; round += 1) {
    for (const [index, contestant] of contestants.entries()) samples[index]?.push(await measure(contestant, callCount));
  }
  child.stdin.end();
  await once(child, "exit");
  const rows = contestants.map(({ name }, index) => ({ name, value: median(samples[index] ?? []) }));
  // Each round is compared with itself: what else the machine does changes from round to round.
  const [bareRates = []] = samples;
  const toRatio = (of: string, index: number): BenchRatio => {
    const ratios = bareRates.map((rate, round) => (samples[index]?.[round] ?? 0) / rate);
    return { of, to: BARE, ratio: median(ratios) };
  };
  return [
    {
      title: `hook.before_tool over HTTP, ${CONNECTIONS} connections, calls/s`,
      rows,
      ratios: [{ ...toRatio(OPEN, 1), atLeast: 0.75 }, toRatio(GUARDED, 2)],
    },
  ];
}
