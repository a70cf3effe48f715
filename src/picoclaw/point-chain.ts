import { MatchIndex } from "./match-index.ts";
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
interface Selection<H> {
  readonly hooks: readonly H[];
  /** The places of those among them that have a match. */
  readonly matched: readonly number[];
}

/** How many matches may have to be tried for a call before it is remembered what came of it. */
const MAX_TRIED = 8;
const MAX_SELECTIONS = 512;
/** Longer texts are not kept: a model names tools as it likes. */
const MAX_KEY_CHARS = 512;

/**
 * The hooks of a point in calling order. Which of them match is found by an index, and remembered for the texts that many
 * have to be tried with, so that a call does not pay for the hooks that it is not made for.
 */
export class PointChain<H extends Selectable> {
  readonly all: readonly H[];
  /**
   * The hooks after one of them that are to be called now that the payload has changed; undefined where that makes no
   * difference.
   */
  readonly reselect: ((payload: Origin, after: H) => readonly H[]) | undefined;
  readonly #readers: readonly ReadField[];
  readonly #index: MatchIndex;
  /** The hooks that are made for every call: all there are for most. */
  readonly #unmatched: Selection<H>;
  /** The texts of the last call and what they came to: an agent mostly asks the same again. */
  readonly #lastTexts: string[] = [];
  #last: Selection<H> | undefined;
  readonly #selections = new Map<string, Selection<H>>();
  /** How many calls there were since the hooks were told, and how many of them each hook with a match was made for. */
  #callCount = 0;
  readonly #madeCounts: number[];

  constructor(hooks: readonly H[]) {
    this.all = hooks;
    const fields = MATCH_FIELDS.filter((field) =>
      hooks.some(({ matcher }) => matcher?.fields.includes(field) === true),
    );
    this.#readers = fields.map(readerOf);
    this.#index = new MatchIndex(hooks.map(({ matcher }) => matcher));
    this.#unmatched = { hooks: hooks.filter(({ matcher }) => matcher === undefined), matched: [] };
    this.#madeCounts = hooks.map(() => 0);
    if (fields.length > 0) this.reselect = (payload, after) => this.#selectAfter(payload, after);
  }

  /** The hooks to be called for a payload; those that are left out are counted. */
  select(payload: Origin): readonly H[] {
    if (this.#readers.length === 0) return this.all;
    const { hooks, matched } = this.#selectionOf(payload);
    this.#callCount += 1;
    for (const place of matched) this.#madeCounts[place] = (this.#madeCounts[place] ?? 0) + 1;
    return hooks;
  }

  /** Tells the hooks how many calls they were left out of. */
  settleCounts(): void {
    for (const [place, hook] of this.all.entries()) {
      const skippedCount = this.#callCount - (this.#madeCounts[place] ?? 0);
      if (hook.matcher !== undefined && skippedCount > 0) hook.skip(skippedCount);
      this.#madeCounts[place] = 0;
    }
    this.#callCount = 0;
  }

  #selectAfter(payload: Origin, hook: H): readonly H[] {
    const position = this.all.indexOf(hook);
    return this.#selectionOf(payload).hooks.filter((other) => this.all.indexOf(other) > position);
  }

  #selectionOf(payload: Origin): Selection<H> {
    if (this.#last !== undefined && this.#isAsLast(payload)) return this.#last;
    const candidates = this.#index.candidates(payload);
    const selection =
      candidates.length > MAX_TRIED ? this.#remembered(payload, candidates) : this.#match(payload, candidates);
    for (let index = 0; index < this.#readers.length; index += 1) {
      this.#lastTexts[index] = this.#readers[index]?.(payload) ?? "";
    }
    this.#last = selection;
    return selection;
  }

  #remembered(payload: Origin, candidates: readonly number[]): Selection<H> {
    const texts = this.#readers.map((read) => read(payload));
    const key = texts.length === 1 ? (texts[0] ?? "") : JSON.stringify(texts);
    let selection = this.#selections.get(key);
    if (selection !== undefined) {
      // What was used last is last.
      this.#selections.delete(key);
    } else {
      selection = this.#match(payload, candidates);
      const [oldest] = this.#selections.size < MAX_SELECTIONS ? [] : this.#selections.keys();
      if (oldest !== undefined) this.#selections.delete(oldest);
    }
    if (key.length <= MAX_KEY_CHARS) this.#selections.set(key, selection);
    return selection;
  }

  #isAsLast(payload: Origin): boolean {
    for (let index = 0; index < this.#readers.length; index += 1) {
      if (this.#readers[index]?.(payload) !== this.#lastTexts[index]) return false;
    }
    return true;
  }

  #match(payload: Origin, candidates: readonly number[]): Selection<H> {
    if (candidates.length === 0) return this.#unmatched;
    const matched = [...new Set(candidates)].filter((place) => this.all[place]?.matcher?.matches(payload) === true);
    if (matched.length === 0) return this.#unmatched;
    const isMatched = new Set(matched);
    const hooks = this.all.filter(({ matcher }, place) => matcher === undefined || isMatched.has(place));
    return { hooks, matched };
  }
}
