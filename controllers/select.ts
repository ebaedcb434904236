/**
 * The controllers that a list of words chooses: names, "*" for all, and "-NAME" for all but one, as
 * kube-controller-manager reads `--controllers`. Absent: all. Throws RangeError for a name that there is not.
 */
export function selectControllers<D extends { readonly name: string }>(
  definitions: readonly D[],
  words: readonly string[] = ['*'],
): readonly D[] {
  const known = new Set(definitions.map(({ name }) => name));
  const unknown = words.map((word) => word.replace(/^-/, '')).find((name) => name !== '*' && !known.has(name));
  if (unknown !== undefined)
    throw new RangeError(
      `there is no controller "${unknown}": they are ${[...known].join(', ')}; "*" is all, "-NAME" all but one`,
    );
  const isChosen = (name: string): boolean => words.includes(name) || (words.includes('*') && !words.includes(`-${name}`));
  return definitions.filter(({ name }) => isChosen(name));
}
