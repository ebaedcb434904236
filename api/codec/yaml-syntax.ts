import type { Document, YAMLError } from 'yaml';

type SyntaxCode = YAMLError['code'];

/** What to say instead of the library's words, where those speak of YAML's grammar and not of what a person did. */
const reasons: Partial<Record<SyntaxCode, string>> = {
  TAB_AS_INDENT: 'a tab indents this line; YAML takes spaces only',
  BAD_INDENT: 'the indentation does not fit the lines above',
  BLOCK_AS_IMPLICIT_KEY:
    'a value and a nested field stand together; a line is indented too far, or a text with ": " needs quotes',
  MULTILINE_IMPLICIT_KEY: 'this is no "name: value"; a colon is missing, or the indentation is wrong',
};

/**
 * One code of the library stands for several mistakes, which only its words tell apart.
 * Only the message depends on them.
 */
const rewordings: readonly (readonly [RegExp, string])[] = [
  [/^Implicit map keys need/, reasons.MULTILINE_IMPLICIT_KEY ?? ''],
  [/^Sequence item without/, reasons.BAD_INDENT ?? ''],
];

/**
 * Why a document is no YAML and where, by offset; undefined when it is. Later errors are mostly echoes of the first.
 */
export function syntaxProblem(document: Document.Parsed): { readonly offset: number; readonly reason: string } | undefined {
  const [first, second] = document.errors;
  if (!first) return undefined;
  const afterJson = first.code === 'UNEXPECTED_TOKEN' && second?.code === 'UNEXPECTED_TOKEN';
  const own = afterJson
    ? 'something stands behind the end of the document; separate documents by a line with ---'
    : reasons[first.code];
  return { offset: first.pos[0], reason: own ?? libraryWords(first.message) };
}

/** Without the place and the excerpt that the library adds. */
function libraryWords(message: string): string {
  const [line = message] = message.split('\n');
  const own = rewordings.find(([pattern]) => pattern.test(line));
  if (own) return own[1];
  const words = line.replace(/ at line \d+, column \d+:?$/, '');
  return words.charAt(0).toLowerCase() + words.slice(1);
}
