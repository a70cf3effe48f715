import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { isatty } from "node:tty";
import { parseArgs } from "node:util";
import type { CliHost, CliStream, StopSignal, WriteFileOptions } from "../../src/cli/index.ts";
import { createGuardedFetch } from "./agent-fetch.ts";
import { createHookFiles, createTrustStore, readRegularFile } from "./hook-files.ts";
import { nodeHookPorts } from "./hook-ports.ts";
import { findProgram, inspectFile, versionOf } from "./inspect.ts";
import { createMetrics } from "./metrics.ts";
import { openApprovals } from "./open-approvals.ts";
import { openKeptRecords, openRecording } from "./open-records.ts";
import { createOtelTracer } from "./otel-tracer.ts";
import { probe } from "./probe.ts";
import { serveGateway } from "./serve.ts";
import { createShell } from "./shell.ts";
import { serveOnStdio } from "./stdio.ts";
import { readPackageFile, readVersion } from "./version.ts";
import { watchFile } from "./watch-file.ts";

/** The command line's host on Node: this process. */
export async function createNodeCliHost(): Promise<CliHost> {
  return {
    version: await readVersion(),
    env: process.env,
    stdout: toStream(process.stdout),
    stderr: toStream(process.stderr),
    fetch: (url, request) => fetch(url, request),
    request: (url, options) => fetch(url, { ...options, redirect: "manual" }),
    ports: nodeHookPorts,
    yaml: {
      cwd: process.cwd(),
      files: createHookFiles(),
      trust: createTrustStore(),
      startCommand: createShell(),
      fetch: (url, init) => fetch(url, init),
    },
    fetchKeys: createGuardedFetch(),
    records: { record: openRecording, read: openKeptRecords },
    openApprovals,
    createMetrics,
    tracer: createOtelTracer(),
    now: () => performance.now(),
    tokenize: (args, options) =>
      parseArgs({ args: [...args], options, strict: false, tokens: true, allowPositionals: true }).tokens,
    readFile: readFileIfThere,
    directoryOf: (path) => dirname(resolve(path)),
    writeFile,
    readExample: (name) => readPackageFile(`examples/${name}`),
    readStdin: () => text(process.stdin),
    serveStdio: serveOnStdio,
    probe,
    serve: serveGateway,
    onSignal(listener) {
      for (const signal of SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener);
      };
    },
    inspectFile,
    findProgram,
    versionOf,
    onHangup(listener) {
      process.on("SIGHUP", listener);
      return () => void process.off("SIGHUP", listener);
    },
    watchFile,
    exit: (code) => process.exit(code),
  };
}

const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM"];

function toStream(stream: NodeJS.WriteStream & { readonly fd: number }): CliStream {
  // A reader that has gone, such as `head`, is no error of ours.
  stream.on("error", () => {});
  return { isTTY: isatty(stream.fd), write: (chunk) => void stream.write(chunk) };
}

async function readFileIfThere(path: string, maxBytes?: number): Promise<string | undefined> {
  try {
    if (maxBytes === undefined) return await readFile(path, "utf8");
    return (await readRegularFile(path, maxBytes)).toString("utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

async function writeFile(path: string, content: string, { isSecret, replaces }: WriteFileOptions): Promise<void> {
  await mkdir(dirname(resolve(path)), { recursive: true });
  // A file that is replaced is so in one step: nobody reads half a key, and an error leaves the old one.
  const target = replaces ? `${path}.${randomUUID()}` : path;
  const file = await open(target, "wx", isSecret ? 0o600 : 0o644);
  try {
    await file.writeFile(content);
    await file.sync();
    await file.close();
    if (replaces) await rename(target, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(target, { force: true });
    throw error;
  }
}
