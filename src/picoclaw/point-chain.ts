import { MATCH_FIELDS, type Matcher, type ReadField, readerOf } from "./match.ts";
import type { Origin } from "./payload.ts";

/** A hook as a selection looks at it. */
export interface Selectable {
  readonly name: string;
  /** @default every call */
  readonly matcher?: Matcher | undefined;
  /** Counts a call the hook was not made for. */
  skip(count: number): void;
}

/** The hooks of a point that are called for one kind of payload. */
export interface Selection<H> {
  readonly hooks: readonly H[];
  readonly skipped: readonly H[];
  /** How many calls it was made for since the skipped hooks were told. */
  uses: number;
}

const MAX_SELECTIONS = 512;
/** Longer texts are not kept: a model names tools as it likes. */
const MAX_KEY_CHARS = 512;

/**
 * The hooks of a point in calling order. Which of them match is worked out once for each combination of the texts they
 * look at, so that a call does not pay for the hooks that it is not made for.
 */
export class PointChain<H extends Selectable> {
  readonly all: readonly H[];
  /**
   * The hooks after one of them that are to be called now that the payload has changed; undefined where that makes no
   * difference.
   */
  readonly reselect: ((payload: Origin, after: H) => readonly H[]) | undefined;
  readonly #readers: readonly ReadField[];
  /** The texts of the last call and what they came to: an agent mostly asks the same again. */
  readonly #lastTexts: string[] = [];
  #last: Selection<H> | undefined;
  readonly #selections = new Map<string, Selection<H>>();

  constructor(hooks: readonly H[]) {
    this.all = hooks;
    const fields = MATCH_FIELDS.filter((field) =>
      hooks.some(({ matcher }) => matcher?.fields.includes(field) === true),
    );
    this.#readers = fields.map(readerOf);
    if (fields.length > 0) this.reselect = (payload, after) => this.#selectAfter(payload, after);
  }

  /** The hooks to be called for a payload; those that are left out are counted. */
  select(payload: Origin): readonly H[] {
    if (this.#readers.length === 0) return this.all;
    const selection = this.#selectionOf(payload);
    selection.uses += 1;
    return selection.hooks;
  }

  /** Tells the hooks how many calls they were left out of. */
  settleCounts(): void {
    for (const selection of this.#selections.values()) settle(selection);
  }

  #selectAfter(payload: Origin, hook: H): readonly H[] {
    const position = this.all.indexOf(hook);
    return this.#selectionOf(payload).hooks.filter((other) => this.all.indexOf(other) > position);
  }

  #selectionOf(payload: Origin): Selection<H> {
    if (this.#last !== undefined && this.#isAsLast(payload)) return this.#last;
    const texts = this.#readers.map((read) => read(payload));
    const key = texts.length === 1 ? (texts[0] ?? "") : JSON.stringify(texts);
    let selection = this.#selections.get(key);
    if (selection === undefined) {
      selection = this.#match(payload);
      if (key.length > MAX_KEY_CHARS) {
        for (const hook of selection.skipped) hook.skip(1);
        return selection;
      }
      if (this.#selections.size >= MAX_SELECTIONS) this.#forget();
      this.#selections.set(key, selection);
    }
    this.#lastTexts.splice(0, Infinity, ...texts);
    this.#last = selection;
    return selection;
  }

  #isAsLast(payload: Origin): boolean {
    for (let index = 0; index < this.#readers.length; index += 1) {
      if (this.#readers[index]?.(payload) !== this.#lastTexts[index]) return false;
    }
    return true;
  }

  #forget(): void {
    this.settleCounts();
    this.#selections.clear();
  }

  #match(payload: Origin): Selection<H> {
    const hooks: H[] = [];
    const skipped: H[] = [];
    for (const hook of this.all) (hook.matcher?.matches(payload) === false ? skipped : hooks).push(hook);
    return { hooks, skipped, uses: 0 };
  }
}

function settle<H extends Selectable>(selection: Selection<H>): void {
  for (const hook of selection.skipped) hook.skip(selection.uses);
  selection.uses = 0;
}
