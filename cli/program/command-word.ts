/** What the scripts of `berth completion` call. */
export const completeCommand = '__complete';

/** Flags of every command that take a value; a test holds them to the command line's own. */
export const globalValueFlags: readonly string[] = ['-n', '--namespace', '--context', '--as', '--as-group', '--request-timeout'];

/** Which command the words call, before anything that could read them is loaded; undefined when they call none. */
export function commandWord(words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (!word.startsWith('-')) return word;
    if (globalValueFlags.includes(word)) at += 1;
  }
  return undefined;
}
