import { Lexer } from 'yaml';
import { maxJsonDepth, tooDeepText } from '../meta/json-depth.ts';

/**
 * How many tokens a text from outside may have. The library takes some microseconds for each, whatever they make: a
 * document, an anchor, or a mistake. A manifest has about seven a line; a text in a block of its own is one.
 */
export const maxYamlTokens = 50_000;

/** Why a text of YAML would take too long to parse, as a clause; undefined where it would not. Reads no further. */
export function yamlExcess(text: string): string | undefined {
  let tokens = 0;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > maxYamlTokens) return `has more than ${maxYamlTokens} tokens: send it as JSON`;
    if (token === '[' || token === '{') depth++;
    else if ((token === ']' || token === '}') && depth > 0) depth--;
    // The library finds that out by running out of stack.
    if (depth > maxJsonDepth) return tooDeepText;
  }
  return undefined;
}
