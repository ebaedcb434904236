/** Kubernetes' limit of an event's message; the same is enough for a status. */
const mostLetters = 1_024;

/** A failure message may quote a spec, up to a megabyte: people read the beginning and the end. */
export function boundedWords(words: string): string {
  if (words.length <= mostLetters) return words;
  const half = mostLetters / 2 - 20;
  return `${words.slice(0, half)}... (${words.length - 2 * half} letters) ...${words.slice(-half)}`;
}
