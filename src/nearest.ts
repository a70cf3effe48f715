/**
 * The name that was most likely meant: the one with the fewest changed, missing, added or swapped characters.
 * @returns undefined when none is close enough to be a slip
 */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of known) {
    // A name of another length differs in at least that many characters.
    const limit = Math.max(1, Math.floor(Math.max(given.length, name.length) / 3));
    if (Math.abs(given.length - name.length) > limit) continue;
    const edits = countEdits(given.toLowerCase(), name.toLowerCase());
    if (edits > limit || edits >= fewest) continue;
    nearest = name;
    fewest = edits;
  }
  return nearest;
}

/** The optimal string alignment distance. */
function countEdits(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const edits = Math.min(at(last, column) + 1, at(next, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      next.push(isSwap ? Math.min(edits, at(beforeLast, column - 2) + 1) : edits);
    }
    beforeLast = last;
    last = next;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
