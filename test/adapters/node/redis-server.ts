import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient } from "@redis/client";

/** A redis-server of this machine: it listens on loopback alone, and what it writes is in a directory of its own. */
export interface RedisServer {
  readonly port: number;
  /** Its URL, with a prefix of its own for each call. */
  newUrl(): string;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and with what it has kept. */
  start(): Promise<void>;
  /** Stops its process where it stands, connections and all, until `resume`. */
  suspend(): void;
  resume(): void;
  /** A client of its own, for what is no affair of stores. */
  connect(): Promise<{ sendCommand(command: readonly string[]): Promise<unknown> }>;
  close(): Promise<void>;
}

/** Starts a redis-server that keeps nothing on the disk unless it is told to. */
export async function startRedis(args: readonly string[] = ["--save", "", "--appendonly", "no"]): Promise<RedisServer> {
  const port = await findFreePort();
  const directory = await mkdtemp(join(tmpdir(), "hookgate-redis-"));
  let server = await launch(port, directory, args);
  let count = 0;
  const clients: { destroy(): void }[] = [];
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, "exit");
    server.kill("SIGKILL");
    await gone;
  };
  return {
    port,
    newUrl: () => `redis://127.0.0.1:${port}/?prefix=t${(count += 1)}`,
    kill,
    start: async () => void (server = await launch(port, directory, args)),
    suspend: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
    async connect() {
      const client = createClient({ socket: { host: "127.0.0.1", port, reconnectStrategy: false } });
      client.on("error", () => {});
      clients.push(client);
      return client.connect();
    },
    async close() {
      for (const client of clients) client.destroy();
      await kill();
      await rm(directory, { recursive: true });
    },
  };
}

async function launch(port: number, directory: string, args: readonly string[]): Promise<ChildProcess> {
  const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--daemonize", "no"];
  const server = spawn("redis-server", [...fixed, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: server.stdout })) {
    if (line.includes("Ready to accept connections")) {
      // What it says later is nobody's affair, and must not fill the pipe.
      server.stdout.resume();
      return server;
    }
    lines.push(line);
  }
  throw new Error(`redis-server did not start:\n${lines.join("\n")}`);
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
