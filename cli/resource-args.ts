import { badRequest } from '../api/errors/index.ts';
import { kindOf, kinds } from '../api/kinds/index.ts';
import type { Kind } from '../api/kinds/kind.ts';

/** What a command line names: objects of a kind, or, without names, all of the kind. */
export interface ResourceArgument {
  readonly kind: Kind;
  readonly names: readonly string[];
}

/** The kind behind a noun: "po", "pods", "Pod", "pods.v1" are the same. */
export function resolveKind(noun: string): Kind {
  const kind = kindOf(noun) ?? kindOf(noun.split('.')[0] ?? '');
  if (kind) return kind;
  const known = kinds.map((each) => each.plural).join(', ');
  throw badRequest(`the server has no resource type "${noun}"; it knows ${known}`);
}

/**
 * Reads what kubectl's users type: `pods`, `pod web db`, `pods,nodes`, `pod/web node/n1`.
 * The result names every kind once or more, in the order given.
 */
export function parseResourceArguments(words: readonly string[]): ResourceArgument[] {
  const [first, ...rest] = words;
  if (first === undefined) throw badRequest('name a resource type, e.g. "pods" or "pod/web"');
  if (words.some((word) => word.includes('/'))) return words.map(parseSlashed);
  const nouns = first.split(',').filter(Boolean);
  if (nouns.length > 1 && rest.length > 0)
    throw badRequest('names can be given for one resource type only; use TYPE/NAME for several');
  return nouns.map((noun) => ({ kind: resolveKind(noun), names: rest }));
}

function parseSlashed(word: string): ResourceArgument {
  const [noun, name, ...more] = word.split('/');
  if (!noun || !name || more.length > 0)
    throw badRequest(`"${word}" is not TYPE/NAME; either every argument has this form or none`);
  return { kind: resolveKind(noun), names: [name] };
}

/** Reads the one pod that logs and exec are about: "web" or "pod/web". */
export function parsePodArgument(word: string): string {
  if (!word.includes('/')) return word;
  const { kind, names } = parseSlashed(word);
  if (kind.kind !== 'Pod') throw badRequest(`"${word}" is not a pod`);
  return names[0] ?? '';
}
