import type { Candidate } from './question.ts';

/** Of all words that may stand where the cursor is those that begin as typed, and whether a space follows them. */
export function fittingAnswer(words: readonly Candidate[], current: string, glued: boolean) {
  const fitting = words.filter(({ word }) => word.startsWith(current));
  // A name follows what ends so.
  const areTypes = fitting.length > 0 && fitting.every(({ word }) => word.endsWith('/'));
  return { candidates: fitting, glued: glued || areTypes };
}

/** As the scripts of the shells read it. */
export function answerText({
  candidates,
  glued,
  files,
}: {
  readonly candidates: readonly Candidate[];
  readonly glued: boolean;
  readonly files: boolean;
}): string {
  const lines = candidates.map(({ word, description }) => (description ? `${word}\t${description}` : word));
  return [...lines, files ? ':files' : glued ? ':glued' : ':', ''].join('\n');
}
