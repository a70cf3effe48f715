import { isSameJson } from "../chain/index.ts";
import { isObject } from "../is-object.ts";

/** One step of a JSON Patch. `value` is there only where payloads are recorded. */
export interface PatchStep {
  readonly op: "add" | "remove" | "replace";
  /** A JSON Pointer. */
  readonly path: string;
  readonly value?: unknown;
}

/** The steps from one JSON value to another. */
export interface JsonDiff {
  readonly steps: readonly PatchStep[];
  /** Whether there were more steps than are kept. */
  readonly isTruncated: boolean;
}

/**
 * How a JSON value came to be another, as a JSON Patch of at most `maxSteps` steps. An array that has another length is
 * replaced where it differs and cut or extended at its end.
 * @see {@link https://www.rfc-editor.org/rfc/rfc6902}
 */
export function diffJson(before: unknown, after: unknown, { maxSteps }: { readonly maxSteps: number }): JsonDiff {
  const diff = new Diff(maxSteps);
  diff.compare(before, after, "");
  return { steps: diff.steps, isTruncated: diff.isTruncated };
}

class Diff {
  readonly steps: PatchStep[] = [];
  readonly #maxSteps: number;
  isTruncated = false;

  constructor(maxSteps: number) {
    this.#maxSteps = maxSteps;
  }

  compare(before: unknown, after: unknown, path: string): void {
    // Payloads share what a hook did not touch, so most of them ends here.
    if (before === after || this.isTruncated) return;
    if (Array.isArray(before) && Array.isArray(after)) this.#compareArrays(before, after, path);
    else if (isObject(before) && isObject(after)) this.#compareObjects(before, after, path);
    else if (!isSameJson(before, after)) this.#add({ op: "replace", path, value: after });
  }

  #compareArrays(before: readonly unknown[], after: readonly unknown[], path: string): void {
    const sharedLength = Math.min(before.length, after.length);
    for (let index = 0; index < sharedLength; index += 1) {
      this.compare(before[index], after[index], `${path}/${index}`);
      if (this.isTruncated) return;
    }
    // From the end, so that each index is right when its step is taken.
    for (let index = before.length - 1; index >= sharedLength && !this.isTruncated; index -= 1) {
      this.#add({ op: "remove", path: `${path}/${index}` });
    }
    for (const value of after.slice(sharedLength)) this.#add({ op: "add", path: `${path}/-`, value });
  }

  #compareObjects(before: object, after: object, path: string): void {
    for (const key of Object.keys(before)) {
      const at = `${path}/${escape(key)}`;
      if (!has(after, key)) this.#add({ op: "remove", path: at });
      else if (has(before, key)) this.compare(Reflect.get(before, key), Reflect.get(after, key), at);
    }
    for (const key of Object.keys(after)) {
      if (has(after, key) && !has(before, key)) {
        this.#add({ op: "add", path: `${path}/${escape(key)}`, value: Reflect.get(after, key) });
      }
    }
  }

  #add(step: PatchStep): void {
    if (this.steps.length < this.#maxSteps) this.steps.push(step);
    else this.isTruncated = true;
  }
}

/** As JSON has it: what is undefined is not there. */
function has(value: object, key: string): boolean {
  return Object.hasOwn(value, key) && Reflect.get(value, key) !== undefined;
}

function escape(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The keys of a JSON Pointer. */
export function splitPointer(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The JSON Pointer of keys. */
export function joinPointer(keys: readonly string[]): string {
  return keys.map((key) => `/${escape(key)}`).join("");
}
