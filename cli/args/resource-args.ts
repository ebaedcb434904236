import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import { kindOf, kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { notYetReason } from '../../api/kinds/not-yet.ts';
import { olderVersionsOf } from '../../api/kinds/versions.ts';
import { isOfGroup, knownKinds, otherKindOf } from './other-kinds.ts';

/** What a command line names: objects of a kind, or, without names, all of the kind. */
export interface ResourceArgument {
  readonly kind: Kind;
  readonly names: readonly string[];
  /** Where the names are, when not in the namespace of the session. */
  readonly namespace?: string | undefined;
}

/** The kinds behind a noun: one, or those of a category such as "all". */
function resolveKinds(noun: string): Kind[] {
  const category = preferred().filter((kind) => kind.categories?.includes(noun));
  return category.length > 0 ? category : [resolveKind(noun)];
}

/** Whether a noun means a group of kinds. */
export function isCategory(noun: string): boolean {
  return knownKinds().some((kind) => kind.categories?.includes(noun));
}

/** The kind behind a noun: "po", "pods", "Pod", "pods.v1" and "pods.v1." are the same. */
export function resolveKind(noun: string): Kind {
  const kind = kindOf(noun) ?? kindOfGroup(noun) ?? otherKindOf(noun);
  if (kind) return kind;
  const notYet = notYetReason(noun);
  if (notYet !== undefined) throw badRequest(notYet);
  const words = preferred().flatMap((each) => [each.plural, each.singular]);
  const close = nearestWord(noun, words);
  const hint = close ? `did you mean "${close}"?` : '"berth api-resources" lists the types; an object is TYPE NAME or TYPE/NAME';
  throw badRequest(`the server has no resource type "${noun}"; ${hint}`);
}

/** Whether the words of a command name only kinds that every program knows. */
export function areOwnKinds(words: readonly string[]): boolean {
  const [first = '', ...rest] = words;
  if (first === 'all') return false;
  const nouns = first.includes('/') ? [first, ...rest].map((word) => word.split('/')[0] ?? '') : first.split(',');
  return nouns.every((noun) => noun === '' || (kindOf(noun) ?? kindOfGroup(noun)) !== undefined || isOwnCategory(noun));
}

const isOwnCategory = (noun: string): boolean => kinds.some((kind) => kind.categories?.includes(noun));

/** All kinds, of those with several versions the preferred one. */
function preferred(): Kind[] {
  const first = new Map<string, Kind>();
  for (const kind of knownKinds()) if (!first.has(resourceOf(kind))) first.set(resourceOf(kind), kind);
  return [...first.values()];
}

/** The kind of "NAME.VERSION", "NAME.GROUP" or "NAME.VERSION.GROUP", where "pods.v1." has the group without a name. */
function kindOfGroup(noun: string): Kind | undefined {
  const [name = '', ...rest] = noun.toLowerCase().split('.');
  const kind = kindOf(name);
  const versions = kind ? [kind, ...olderVersionsOf(kind.kind)] : [];
  return versions.find(({ apiVersion }) => isOfGroup(apiVersion, rest.join('.')));
}

/**
 * Reads what kubectl's users type: `pods`, `pod web db`, `pods,nodes`, `all`, `pod/web node/n1`.
 * The result names every kind once or more, in the order given.
 */
export function parseResourceArguments(words: readonly string[]): ResourceArgument[] {
  const [first, ...rest] = words;
  if (first === undefined) throw badRequest('name a resource type, e.g. "pods" or "pod/web"');
  if (words.some((word) => word.includes('/'))) return groupByKind(words.map(parseSlashed));
  const nouns = first.split(',').filter(Boolean);
  if ((nouns.length > 1 || nouns.some(isCategory)) && rest.length > 0)
    throw badRequest('names can be given for one resource type only; use TYPE/NAME for several');
  return [...new Set(nouns.flatMap(resolveKinds))].map((kind) => ({ kind, names: rest }));
}

/** Names of one kind that follow each other belong together. */
export function groupByKind(words: readonly ResourceArgument[]): ResourceArgument[] {
  const groups: ResourceArgument[] = [];
  for (const word of words) {
    const last = groups.at(-1);
    if (last?.kind === word.kind && last.namespace === word.namespace)
      groups[groups.length - 1] = { ...last, names: [...last.names, ...word.names] };
    else groups.push(word);
  }
  return groups;
}

function parseSlashed(word: string): ResourceArgument {
  const [noun, name, ...more] = word.split('/');
  if (!noun || !name || more.length > 0)
    throw badRequest(`"${word}" is not TYPE/NAME; either every argument has this form or none`);
  return { kind: resolveKind(noun), names: [name] };
}

/** One object that a word names. */
export interface ObjectArgument {
  readonly kind: Kind;
  readonly name: string;
}

/** Reads "TYPE/NAME"; a word without a type names an object of `usual`. */
export function parseObjectArgument(word: string, usual: string): ObjectArgument {
  const { kind, names } = word.includes('/') ? parseSlashed(word) : { kind: resolveKind(usual), names: [word] };
  return { kind, name: names[0] ?? '' };
}

/** Reads the one pod that a command is about: "web" or "pod/web". */
export function parsePodArgument(word: string): string {
  const { kind, name } = parseObjectArgument(word, 'pod');
  if (kind.kind !== 'Pod') throw badRequest(`"${word}" is not a pod; "berth get pods" lists the pods`);
  return name;
}

/** The node of "node/NAME"; of another word nothing. */
export function parseNodeArgument(word: string): string | undefined {
  if (!word.includes('/')) return undefined;
  const { kind, names } = parseSlashed(word);
  return kind.kind === 'Node' ? names[0] : undefined;
}
