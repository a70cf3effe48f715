import { createReadStream } from "node:fs";
import { type FileHandle, open, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { ChainBounds, ChainState, RecordSink } from "../../src/records/index.ts";

/** Options of {@link createFileSink}. */
export interface FileSinkOptions {
  readonly path: string;
  /** A file that would be longer is put aside and a new one begun, in bytes. @default 67108864 (64 MiB) */
  readonly maxBytes?: number | undefined;
  /** How many files there may be, the one that is written included; the oldest is deleted. @default 10 */
  readonly maxFiles?: number | undefined;
}

interface State {
  readonly base?: ChainState;
  readonly head?: ChainState;
}

/**
 * Keeps records as lines of JSON in `path`; full files are `path.1` (the newest) and so on. Beside them `path.state` has
 * the first and the last place of the chain.
 */
export function createFileSink({ path, maxBytes = 67_108_864, maxFiles = 10 }: FileSinkOptions): RecordSink {
  let file: FileHandle | undefined;
  let byteLength = 0;
  let state: State = {};
  const reopen = async (): Promise<FileHandle> => {
    file = await open(path, "a", 0o600);
    byteLength = (await file.stat()).size;
    return file;
  };
  const rotate = async (): Promise<void> => {
    await file?.close();
    file = undefined;
    const oldest = maxFiles === 1 ? path : `${path}.${maxFiles - 1}`;
    const base = await readLast(oldest);
    await rm(oldest, { force: true });
    for (let index = maxFiles - 2; index >= 0; index -= 1) await moveAside(path, index);
    if (base !== undefined) state = { ...state, base };
  };
  return {
    name: "file",
    async open() {
      await file?.close();
      file = undefined;
      await cutTornLine(path);
      state = await readState(path);
      // The file is written before the state beside it is.
      return (await readLast(path)) ?? (await readLast(`${path}.1`)) ?? state.head;
    },
    async write(batch) {
      const text = batch.map((sealed) => `${sealed.text}\n`).join("");
      const bytes = Buffer.from(text);
      let handle = file ?? (await reopen());
      if (byteLength > 0 && byteLength + bytes.length > maxBytes) {
        await rotate();
        handle = await reopen();
      }
      await handle.appendFile(bytes);
      byteLength += bytes.length;
      const last = batch.at(-1);
      if (last === undefined) return;
      state = { ...state, head: { chain: last.record.chain, seq: last.record.seq, hash: last.hash } };
      await writeFile(`${path}.state.new`, JSON.stringify(state), { mode: 0o600 });
      await rename(`${path}.state.new`, `${path}.state`);
    },
    async close() {
      await file?.close();
      file = undefined;
    },
  };
}

/** Every line of the files of a {@link createFileSink}, oldest first. */
export async function* readRecordFiles(path: string): AsyncGenerator<string> {
  const paths = [path];
  while (await exists(`${path}.${paths.length}`)) paths.push(`${path}.${paths.length}`);
  for (const name of paths.toReversed()) {
    yield* createInterface({ input: createReadStream(name, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
  }
}

/** What the chain in the files must fit. */
export async function readFileBounds(path: string): Promise<ChainBounds> {
  const { base, head } = await readState(path);
  return { base, head };
}

async function moveAside(path: string, index: number): Promise<void> {
  const from = index === 0 ? path : `${path}.${index}`;
  if (await exists(from)) await rename(from, `${path}.${index + 1}`);
}

async function exists(path: string): Promise<boolean> {
  return open(path, "r").then(
    async (file) => {
      await file.close();
      return true;
    },
    () => false,
  );
}

/** A program that is killed can leave half a line; a record that follows it must begin on its own. */
async function cutTornLine(path: string): Promise<void> {
  const tail = await readTail(path);
  if (tail === undefined || tail.text === "" || tail.text.endsWith("\n")) return;
  const end = tail.text.lastIndexOf("\n") + 1;
  await truncate(path, tail.startsAt + Buffer.byteLength(tail.text.slice(0, end)));
}

async function readLast(path: string): Promise<ChainState | undefined> {
  const line = (await readTail(path))?.text.trimEnd().split("\n").at(-1) ?? "";
  return toState(line === "" ? undefined : parse(line));
}

/** No record is longer than this: its parts are bounded. */
const TAIL_BYTES = 4_194_304;

async function readTail(path: string): Promise<{ readonly text: string; readonly startsAt: number } | undefined> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const startsAt = Math.max(0, size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - startsAt);
    await file.read(buffer, 0, buffer.length, startsAt);
    return { text: buffer.toString("utf8"), startsAt };
  } finally {
    await file.close();
  }
}

async function readState(path: string): Promise<State> {
  const value = parse(await readFile(`${path}.state`, "utf8").catch(() => ""));
  const base = toState(value["base"]);
  const head = toState(value["head"]);
  return { ...(base && { base }), ...(head && { head }) };
}

function toState(value: unknown): ChainState | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { chain, seq, hash } = { chain: undefined, seq: undefined, hash: undefined, ...value };
  if (typeof chain !== "string" || typeof seq !== "number" || typeof hash !== "string") return undefined;
  return { chain, seq, hash };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
