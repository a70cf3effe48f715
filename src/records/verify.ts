import { isObject } from "../is-object.ts";
import { toCanonicalJson } from "./canonical.ts";
import type { HashText } from "./record.ts";
import { type ChainState, NO_HASH, toSealedText } from "./seal.ts";

/** One thing that is wrong with a chain of records. */
export interface ChainProblem {
  /** `truncated`: the last ones are missing; `missing`: others are. */
  readonly kind: "unreadable" | "changed" | "missing" | "reordered" | "truncated" | "foreign";
  /** The number of the record at which it shows. */
  readonly seq: number;
  /** What is wrong, for people. */
  readonly message: string;
}

/** What a check of a chain found. */
export interface ChainReport {
  /** How many records were read. */
  readonly count: number;
  /** How many decisions the records say were never recorded. */
  readonly lost: number;
  /** The last record that was read; where it is kept elsewhere, a chain that was made anew shows. */
  readonly head: ChainState | undefined;
  /** At most 100. */
  readonly problems: readonly ChainProblem[];
}

/** What a chain must fit beside itself, as its sink has kept it. */
export interface ChainBounds {
  /** What the first record follows: not the very first where old ones were deleted on purpose. @default the beginning */
  readonly base?: Pick<ChainState, "seq" | "hash"> | undefined;
  /** The last record that was written. @default not known: records missing at the end do not show */
  readonly head?: Pick<ChainState, "seq" | "hash"> | undefined;
}

const MAX_PROBLEMS = 100;

/** Checks a chain of records, oldest first: finds what was removed, changed, reordered or cut off. */
export class ChainVerifier {
  readonly #hash: HashText;
  readonly #head: ChainBounds["head"];
  readonly #problems: ChainProblem[] = [];
  #last: Pick<ChainState, "seq" | "hash">;
  #chain: string | undefined;
  #count = 0;
  #lostCount = 0;
  #hasPassedHead = false;

  constructor(hash: HashText, { base = { seq: 0, hash: NO_HASH }, head }: ChainBounds = {}) {
    this.#hash = hash;
    this.#last = base;
    this.#head = head;
    this.#hasPassedHead = head === undefined || head.seq === base.seq;
  }

  /** Checks the next record, as its sink has it. */
  async add(text: string): Promise<void> {
    this.#count += 1;
    const fields = parseObject(text);
    const seq = fields?.["seq"];
    if (fields === undefined || typeof seq !== "number") {
      this.#report("unreadable", this.#last.seq + 1, "not a record");
      return;
    }
    const { hash: claimed, ...record } = fields;
    const canonical = toCanonicalJson(record);
    const hash = await this.#hash(canonical);
    if (hash !== claimed) this.#report("changed", seq, "its hash is another: it was changed");
    // A field said twice is hashed as the last of it, and may be read as the first.
    else if (text !== toSealedText(canonical, hash)) this.#report("changed", seq, "it is not written as it was");
    this.#checkPlace(seq, record);
    if (typeof record["lost"] === "number") this.#lostCount += record["lost"];
    if (seq === this.#head?.seq) {
      this.#hasPassedHead = true;
      if (this.#head.hash !== hash) this.#report("changed", seq, "not the record that was last written");
    }
    // What it claims to be is what the next one follows; that it is not was reported.
    this.#last = { seq, hash: typeof claimed === "string" ? claimed : hash };
  }

  /** What was found, when every record was added. */
  end(): ChainReport {
    const { seq } = this.#last;
    if (!this.#hasPassedHead) {
      const message = `ends with record ${seq}, but record ${this.#head?.seq ?? 0} was written`;
      this.#report("truncated", seq, message);
    }
    const head = this.#count === 0 ? undefined : { chain: this.#chain ?? "", ...this.#last };
    return { count: this.#count, lost: this.#lostCount, head, problems: this.#problems };
  }

  #checkPlace(seq: number, { prev, chain }: Readonly<Record<string, unknown>>): void {
    const { seq: last, hash } = this.#last;
    if (this.#chain === undefined && typeof chain === "string") this.#chain = chain;
    if (chain !== this.#chain) this.#report("foreign", seq, "it belongs to another chain");
    if (seq <= last) this.#report("reordered", seq, `it comes after record ${last}`);
    else if (seq > last + 1) this.#report("missing", seq, `records ${last + 1} to ${seq - 1} before it are missing`);
    else if (prev !== hash) this.#report("changed", seq, "the record before it is not the one it follows");
  }

  #report(kind: ChainProblem["kind"], seq: number, message: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ kind, seq, message });
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
