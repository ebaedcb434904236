/** What an error says, for a sentence that goes on with it. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
