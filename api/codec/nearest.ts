/** How far a word may be from a known one to be taken for a slip: one edit for short words, two for longer. */
function allowed(length: number): number {
  return length <= 4 ? 1 : 2;
}

/** The known word that was probably meant, or undefined when none is close. Case does not count. */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  const lower = word.toLowerCase();
  let [best, bestDistance] = [undefined as string | undefined, allowed(word.length) + 1];
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** The least number of letters to insert, remove, replace or exchange with the next (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(replaced, exchanged, previous[j]! + 1, row[j - 1]! + 1));
    }
    [before, previous] = [previous, row];
  }
  return previous[b.length]!;
}
