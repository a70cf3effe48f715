#!/usr/bin/env node
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { isatty } from "node:tty";
import { parseArgs } from "node:util";
import { type CliHost, type CliStream, runCli, type StopSignal } from "../../src/cli/index.ts";
import { createSpawn } from "./child-process.ts";
import { createMetrics } from "./metrics.ts";
import { openKeptRecords, openRecording } from "./open-records.ts";
import { createOtelTracer } from "./otel-tracer.ts";
import { serveGateway } from "./serve.ts";
import { readVersion } from "./version.ts";

function toStream(stream: NodeJS.WriteStream & { readonly fd: number }): CliStream {
  // A reader that has gone, such as `head`, is no error of ours.
  stream.on("error", () => {});
  return { isTTY: isatty(stream.fd), write: (chunk) => void stream.write(chunk) };
}

async function readFileIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM"];

const host: CliHost = {
  version: await readVersion(),
  env: process.env,
  stdout: toStream(process.stdout),
  stderr: toStream(process.stderr),
  fetch: (url, request) => fetch(url, request),
  spawn: createSpawn,
  digest: (bytes) => createHash("sha256").update(bytes).digest(),
  records: { record: openRecording, read: openKeptRecords },
  createMetrics,
  tracer: createOtelTracer(),
  now: () => performance.now(),
  tokenize: (args, options) =>
    parseArgs({ args: [...args], options, strict: false, tokens: true, allowPositionals: true }).tokens,
  readFile: readFileIfThere,
  directoryOf: (path) => dirname(resolve(path)),
  readStdin: () => text(process.stdin),
  serve: serveGateway,
  onSignal(listener) {
    for (const signal of SIGNALS) process.on(signal, listener);
    return () => {
      for (const signal of SIGNALS) process.off(signal, listener);
    };
  },
  exit: (code) => process.exit(code),
};

process.exitCode = await runCli(process.argv.slice(2), host);
