import type { Figure } from './figure.ts';
import { UsageError } from './usage-error.ts';

/** A part of a benchmark; `option` is what stands behind "=" where it was named ("churn=5"). */
export type Part = (say: (text: string) => void, option?: string) => Promise<Figure[]>;

export interface Parts {
  readonly name: string;
  /** In the order in which they run. */
  readonly parts: Readonly<Record<string, Part>>;
  /** Runs only when it is named, for it takes long. */
  readonly onlyNamed?: readonly string[];
}

/** Runs the named parts, or all; each figure's name begins with its part's. */
export async function runParts(
  { name, parts, onlyNamed = [] }: Parts,
  say: (text: string) => void,
  words: readonly string[],
): Promise<Figure[]> {
  const named = new Map(
    words.map((word) => {
      const [part = '', option] = word.split('=', 2);
      return [part, option];
    }),
  );
  const unknown = [...named.keys()].filter((word) => !Object.hasOwn(parts, word));
  if (unknown.length > 0)
    throw new UsageError(`${name} has no part "${unknown.join('", "')}"; there are ${Object.keys(parts).join(', ')}`);
  const figures: Figure[] = [];
  for (const [part, run] of Object.entries(parts)) {
    if (words.length > 0 ? !named.has(part) : onlyNamed.includes(part)) continue;
    say(`${name} ${part}`);
    for (const figure of await run(say, named.get(part))) figures.push({ ...figure, name: `${part}: ${figure.name}` });
  }
  return figures;
}
