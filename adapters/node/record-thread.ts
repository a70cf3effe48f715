/**
 * The thread that makes records of decisions and keeps them.
 * @module
 */

import { hash } from "node:crypto";
import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";
import { createObjectLog } from "../../src/log.ts";
import {
  createHttpSink,
  createLineSink,
  parseMaskPath,
  Recorder,
  type RecordSink,
  type RecordStore,
} from "../../src/records/index.ts";
import type { DecisionChunk } from "./decision-chunks.ts";
import { createFileSink } from "./record-file.ts";
import {
  decodeDecisions,
  type FromThread,
  type Question,
  type RecordSettings,
  type ToThread,
} from "./record-message.ts";
import { createSqliteSink } from "./sqlite-sink.ts";

const STATUS_MS = 500;

function send(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other thread of this program made it
const settings = workerData as RecordSettings;
const { sqlite, file, http, console: hasConsole, payload, masks = [], maxPayloadBytes, maxWaiting } = settings;
const store: (RecordSink & RecordStore) | undefined = sqlite && createSqliteSink(sqlite);
const sinks: RecordSink[] = [
  ...(store === undefined ? [] : [store]),
  ...(file === undefined ? [] : [createFileSink(file)]),
  ...(http === undefined ? [] : [createHttpSink({ ...http, fetch: (url, init) => fetch(url, init) })]),
  ...(hasConsole === true ? [createLineSink("console", (line) => void process.stdout.write(`${line}\n`))] : []),
];
const recorder = new Recorder({
  sinks,
  payload,
  masks: masks.map(parseMaskPath),
  maxPayloadBytes,
  maxWaiting,
  sliceMs: 50,
  gatherMs: 0,
  maxBatch: 1024,
  hash: (text) => hash("sha256", text, "hex"),
  log: createObjectLog((level, { message, ...fields }) => {
    if (level !== "debug") send({ type: "log", level, message: String(message), fields });
  }),
});
const observers = new Map<number, ReturnType<Recorder["toObserver"]>>();
let watching: { close(): void } | undefined;
let statusTimer: NodeJS.Timeout | undefined = setInterval(() => {
  send({ type: "status", status: recorder.status() });
}, STATUS_MS);

const decoder = new TextDecoder();

function take({ bytes, length }: DecisionChunk, lost: number): void {
  if (lost > 0) recorder.addLost(lost);
  for (const { generation, decision } of decodeDecisions(decoder.decode(bytes.subarray(0, length)))) {
    let observer = observers.get(generation);
    if (observer === undefined) {
      observer = recorder.toObserver(generation);
      observers.set(generation, observer);
    }
    observer(decision);
  }
  send({ type: "taken", status: recorder.status(), bytes }, [bytes.buffer]);
}

function watch(isWatched: boolean): void {
  watching?.close();
  watching = undefined;
  if (!isWatched) return;
  const subscription = recorder.hub.subscribe({
    maxWaiting: 1000,
    onReady: () => send({ type: "records", records: subscription.take().records }),
  });
  watching = subscription;
}

async function answer(question: Question): Promise<unknown> {
  if (question.type === "list") return store?.list(question.options) ?? { records: [] };
  if (question.type === "get") return store?.get(question.id);
  if (question.type === "flush") {
    await recorder.flush();
    return recorder.status();
  }
  clearInterval(statusTimer);
  statusTimer = undefined;
  await recorder.close();
  return recorder.status();
}

parentPort?.on("message", (message: ToThread) => {
  if (message.type === "decisions") take(message.chunk, message.lost);
  else if (message.type === "watch") watch(message.isWatched);
  else {
    const { number, question } = message;
    answer(question).then(
      (given) => send({ type: "answer", number, answer: given }),
      (error: unknown) => send({ type: "answer", number, answer: undefined, error: String(error) }),
    );
  }
});
