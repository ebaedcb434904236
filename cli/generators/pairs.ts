import { badRequest } from '../../api/errors/index.ts';

/** Reads KEY=VALUE flags. `flag` is for messages: "--env". */
export function parsePairs(flag: string, words: readonly string[]): [string, string][] {
  return words.map((word) => {
    const at = word.indexOf('=');
    if (at <= 0) throw badRequest(`${flag} takes KEY=VALUE, not "${word}"`);
    return [word.slice(0, at), word.slice(at + 1)];
  });
}

/** Reads "a=1,b=2", as --labels takes it. */
export function parseLabelList(flag: string, words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    parsePairs(
      flag,
      words.flatMap((word) => word.split(',').filter(Boolean)),
    ),
  );
}

/** For flags that may be given several times. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
