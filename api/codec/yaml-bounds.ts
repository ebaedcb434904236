import { Lexer } from 'yaml';
import { maxJsonDepth, tooDeepText } from '../meta/json-depth.ts';

/**
 * How many tokens a text from outside may have. The library takes some microseconds for each, whatever they make: a
 * document, an anchor, or a mistake. A manifest has about seven a line; a text in a block of its own is one.
 */
export const maxYamlTokens = 50_000;

/** What the library puts before a plain scalar, whose text could look like the start of a list. */
const SCALAR = '\x1f';

/** Why a text of YAML would take too long to parse, as a clause; undefined where it would not. Reads no further. */
export function yamlExcess(text: string): string | undefined {
  let tokens = 0;
  let depth = 0;
  let before = '';
  for (const token of new Lexer().lex(text)) {
    if (++tokens > maxYamlTokens) return `has more than ${maxYamlTokens} tokens: send it as JSON`;
    if (before !== SCALAR) {
      if (token === '[' || token === '{') depth++;
      else if ((token === ']' || token === '}') && depth > 0) depth--;
      // The library finds that out by running out of stack.
      if (depth > maxJsonDepth) return tooDeepText;
    }
    before = token;
  }
  return undefined;
}
