import { intArg, type Library, textArg } from './library.ts';
import { patternOf } from './standard.ts';

/** Matches that findAll() gives at most. */
const MATCHES = 10_000;

/** Kubernetes' regex library. */
export const regex: Library = {
  name: 'regex',
  signatures: [
    'string.find(string): string',
    'string.findAll(string): list<string>',
    'string.findAll(string, int): list<string>',
  ],
  handlers: {
    find: ([text, pattern], budget) => patternOf(textArg(pattern), budget).findAll(textArg(text), 1, budget)[0] ?? '',
    findAll: ([text, pattern, most], budget) => {
      const limit = most === undefined ? -1n : intArg(most);
      const count = limit < 0n || limit > BigInt(MATCHES) ? MATCHES : Number(limit);
      return patternOf(textArg(pattern), budget).findAll(textArg(text), count, budget);
    },
  },
};
