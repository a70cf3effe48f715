import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from "yaml";
import { nearestName } from "../nearest.ts";
import {
  checkDefinition,
  type CheckHttp,
  type DefinitionFinding,
  type HookDefinition,
  type HookType,
} from "./definition.ts";
import { isLifecycleEvent, LIFECYCLE_EVENTS, type LifecycleEvent } from "./event.ts";
import type { HookFileProblem } from "./problem.ts";

/** The longest file that is read, in UTF-16 code units. */
export const MAX_FILE_CHARS = 1_048_576;

/** A hook as a file has it. */
export interface FileHook {
  readonly event: LifecycleEvent;
  /** Its place in the event's list, counting from 0, with those that were left out. */
  readonly index: number;
  /** Where it stands in the file, counting from 1. */
  readonly line: number;
  readonly definition: HookDefinition;
}

/** What {@link readHookFile} read. */
export interface HookFile {
  /** The hooks that can be used, in the order of the file. */
  readonly hooks: readonly FileHook[];
  /** In the order of the file. */
  readonly problems: readonly HookFileProblem[];
}

/** Options of {@link readHookFile}. */
export interface ReadHookFileOptions {
  /** The types that can run here; a hook of another one is a problem. @default bash and llm */
  readonly types?: readonly HookType[];
  /** Checks the hooks of type http. @default only their form is checked */
  readonly checkHttp?: CheckHttp | undefined;
}

/**
 * Reads a `hooks.yaml`: a map from events to lists of hooks. It never throws: what is wrong is a problem with its place,
 * the entry it is in is left out, and all others can be used.
 */
export function readHookFile(text: string, options: ReadHookFileOptions = {}): HookFile {
  if (text.length > MAX_FILE_CHARS) {
    const message = `the file is longer than ${MAX_FILE_CHARS} characters and is not read`;
    return { hooks: [], problems: [{ severity: "error", path: "$", message }] };
  }
  return new HookFileReader(text, options).read();
}

class HookFileReader {
  readonly #types: readonly HookType[];
  readonly #checkHttp: CheckHttp | undefined;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;
  readonly #hooks: FileHook[] = [];
  readonly #problems: HookFileProblem[] = [];
  /** How many entries each event has so far: it may be there twice. */
  readonly #counts = new Map<string, number>();

  constructor(text: string, { types = ["bash", "llm"], checkHttp }: ReadHookFileOptions) {
    this.#types = types;
    this.#checkHttp = checkHttp;
    this.#document = parseDocument(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      // Reported here, so that the hooks of both are kept: to drop either could drop a guard.
      uniqueKeys: false,
      logLevel: "error",
    });
  }

  read(): HookFile {
    for (const { pos, message } of this.#document.errors) this.#report("$", { severity: "error", message }, pos[0]);
    for (const { pos, message } of this.#document.warnings) this.#report("$", { severity: "warning", message }, pos[0]);
    const { contents } = this.#document;
    if (isMap(contents)) this.#readEvents(contents);
    else if (contents !== null && !(isScalar(contents) && contents.value === null)) {
      this.#report(
        "$",
        { severity: "error", message: "expected a map from events to lists of hooks" },
        startOf(contents),
      );
    }
    const problems = this.#problems.toSorted(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
    return { hooks: this.#hooks, problems };
  }

  #readEvents(map: YAMLMap): void {
    for (const { key, value } of map.items) {
      const name = isScalar(key) ? String(key.value) : "$";
      const at = isNode(key) ? startOf(key) : 0;
      if (!isLifecycleEvent(name)) {
        const nearest = nearestName(name, LIFECYCLE_EVENTS);
        const hint = nearest === undefined ? { allowed: LIFECYCLE_EVENTS } : { nearest };
        this.#report(name, { severity: "error", message: "unknown event", ...hint, event: name }, at);
        continue;
      }
      if (this.#counts.has(name)) {
        const message = "the event is there twice; the hooks of both are called";
        this.#report(name, { severity: "error", message, event: name }, at);
      }
      this.#readList(name, isNode(value) ? value : null);
    }
  }

  #readList(event: LifecycleEvent, value: Node | null): void {
    const list = isAlias(value) ? value.resolve(this.#document) : value;
    const from = this.#counts.get(event) ?? 0;
    this.#counts.set(event, from);
    if (list === null || (isScalar(list) && list.value === null)) return;
    if (!isSeq(list)) {
      const message = list === undefined ? "unknown anchor" : "expected a list of hooks";
      this.#report(event, { severity: "error", message, event }, startOf(value));
      return;
    }
    this.#counts.set(event, from + list.items.length);
    for (const [offset, item] of list.items.entries()) {
      this.#readHook(isNode(item) ? item : null, { event, index: from + offset, list });
    }
  }

  #readHook(item: Node | null, { event, index, list }: { event: LifecycleEvent; index: number; list: Node }): void {
    const path = `${event}[${index}]`;
    const at = startOf(item ?? list);
    const duplicates = isMap(item) ? duplicateKeys(item) : [];
    for (const { name, offset } of duplicates) {
      const finding = { severity: "error", message: "the key is there twice", field: name, event } as const;
      this.#report(`${path}.${name}`, finding, offset);
    }
    const value = this.#toValue(item, { event, path });
    if (value === undefined) return;
    const options = { event, types: this.#types, checkHttp: this.#checkHttp };
    const { definition, findings } = checkDefinition(value.js, options);
    for (const finding of findings) {
      const fieldPath = finding.field === undefined ? path : `${path}.${finding.field}`;
      this.#report(fieldPath, { ...finding, event }, this.#offsetOf(item, finding.field) ?? at);
    }
    // What stands at a syntax error may not be what was meant, such as a hook whose `on_error` was not indented enough.
    if (definition === undefined || duplicates.length > 0 || this.#isBroken(item)) return;
    this.#hooks.push({ event, index, line: this.#lines.linePos(at).line, definition });
  }

  #toValue(item: Node | null, { event, path }: { event: string; path: string }): { readonly js: unknown } | undefined {
    try {
      return { js: item?.toJS(this.#document) };
    } catch {
      // An alias without its anchor, or one that expands to far more than it is.
      const message = "an alias in the hook cannot be resolved";
      this.#report(path, { severity: "error", message, event }, startOf(item));
      return undefined;
    }
  }

  #isBroken(item: Node | null): boolean {
    const [start, , end] = item?.range ?? [0, 0, 0];
    return this.#document.errors.some(({ pos }) => pos[0] <= end && pos[1] >= start);
  }

  /** Where a field such as `filter.tool_name` stands, or the nearest thing around it. */
  #offsetOf(item: Node | null, field: string | undefined): number | undefined {
    let node: unknown = item;
    let offset: number | undefined;
    for (const name of field?.split(".") ?? []) {
      if (!isMap(node)) break;
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === name);
      if (pair === undefined) break;
      const at = isNode(pair.value) ? pair.value : pair.key;
      if (isNode(at)) offset = startOf(at);
      node = pair.value;
    }
    return offset;
  }

  #report(path: string, finding: DefinitionFinding & { readonly event?: string }, offset: number): void {
    const { line, col } = this.#lines.linePos(offset);
    this.#problems.push({ ...finding, path, line, column: col });
  }
}

function startOf(node: Node | null | undefined): number {
  return node?.range?.[0] ?? 0;
}

function duplicateKeys(map: YAMLMap): readonly { readonly name: string; readonly offset: number }[] {
  const seen = new Set<string>();
  const duplicates: { readonly name: string; readonly offset: number }[] = [];
  for (const { key } of map.items) {
    if (!isScalar(key)) continue;
    const name = String(key.value);
    if (seen.has(name)) duplicates.push({ name, offset: startOf(key) });
    seen.add(name);
  }
  return duplicates;
}
