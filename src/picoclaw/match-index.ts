import { type Matcher, type ReadField, readerOf } from "./match.ts";
import type { Origin } from "./payload.ts";

/** What one text may fit: hooks by their place in the calling order. */
interface FieldIndex {
  readonly read: ReadField;
  readonly exact: Map<string, number[]>;
  /** By the text before a pattern's first star, and those by their length. */
  readonly prefixes: Map<number, Map<string, number[]>>;
}

/**
 * Finds the few of many matches that may fit a payload without trying each: by a field's exact patterns, and by what
 * stands before the first star of the others.
 */
export class MatchIndex {
  readonly #always: number[] = [];
  readonly #fields = new Map<string, FieldIndex>();

  /** @param matchers - In calling order; undefined for a hook that is made for every call. */
  constructor(matchers: readonly (Matcher | undefined)[]) {
    for (const [place, matcher] of matchers.entries()) {
      if (matcher !== undefined) this.#add(place, matcher);
    }
  }

  /** The places of the matches that have to be tried; a place may be there twice. */
  candidates(payload: Origin): readonly number[] {
    let found: number[] | undefined;
    for (const { read, exact, prefixes } of this.#fields.values()) {
      const text = read(payload);
      const same = exact.get(text);
      if (same !== undefined) (found ??= [...this.#always]).push(...same);
      for (const [length, byPrefix] of prefixes) {
        const begun = text.length < length ? undefined : byPrefix.get(text.slice(0, length));
        if (begun !== undefined) (found ??= [...this.#always]).push(...begun);
      }
    }
    return found ?? this.#always;
  }

  #add(place: number, { anchor }: Matcher): void {
    if (anchor === undefined) {
      this.#always.push(place);
      return;
    }
    const { field, patterns } = anchor;
    let index = this.#fields.get(field);
    if (index === undefined) {
      index = { read: readerOf(field), exact: new Map(), prefixes: new Map() };
      this.#fields.set(field, index);
    }
    for (const pattern of patterns) {
      const star = pattern.indexOf("*");
      if (star === -1) addTo(index.exact, pattern, place);
      else {
        const byPrefix = index.prefixes.get(star) ?? new Map<string, number[]>();
        index.prefixes.set(star, byPrefix);
        addTo(byPrefix, pattern.slice(0, star), place);
      }
    }
  }
}

function addTo(map: Map<string, number[]>, key: string, place: number): void {
  const places = map.get(key);
  if (places === undefined) map.set(key, [place]);
  else places.push(place);
}
