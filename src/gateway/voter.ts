import type { Refusal } from "./answer.ts";
import type { Principal } from "./auth.ts";

/** Who decides an approval. */
export interface Voter {
  readonly by: string;
  /** The token that speaks for the person, where it is not the person's own. */
  readonly via?: string;
}

/**
 * Who decides when a caller names `by`, or nobody. A token decides as itself: whoever holds one could otherwise say to be
 * any of an approval's `approvers`, or several of them. A bot, which many people talk to and which knows them, has a token
 * that may speak for others; it must name one, since it is itself no person who could be asked, and its own name is
 * kept with the vote.
 */
export function toVoter({ name, speaksFor }: Principal, by: string | undefined): Voter | Refusal {
  if (speaksFor === undefined) {
    if (by === undefined || by === name) return { by: name };
    const message = `by: this caller decides as "${name}" and for nobody else; gateway.auth.tokens[].speaks_for lets a token name others`;
    return { code: "ERR_FORBIDDEN", message, reason: "not_a_speaker" };
  }
  if (by === undefined) {
    return { code: "ERR_INVALID_PARAMS", message: "by: expected the name of the person that this token speaks for" };
  }
  if (speaksFor === "anyone" || speaksFor.includes(by)) return { by, via: name };
  const message = "by: this token does not speak for that person; gateway.auth.tokens[].speaks_for says for whom";
  return { code: "ERR_FORBIDDEN", message, reason: "not_a_speaker" };
}
