import { kindWords } from '../../api/generated/kind-words.ts';

/** A `berth get` that needs no more than one table. */
export interface PlainGet {
  readonly kind: string;
  readonly namespaced: boolean;
  /** Of one object; undefined: all that there are. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly context: string | undefined;
  readonly selector: string | undefined;
  readonly allNamespaces: boolean;
  readonly wide: boolean;
  readonly headers: boolean;
  readonly showLabels: boolean;
}

/** What may be a name of an object, a namespace or a context without being looked at closer: nothing like a flag. */
const plainName = /^[a-z0-9](?:[-.a-z0-9]{0,61}[a-z0-9])?$/;
const namespaceName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
/** "app=web,tier!=db,!old": selectors of sets and everything odd are for the whole program. */
const plainSelector = /^!?[A-Za-z0-9][A-Za-z0-9=!,./_-]{0,500}$/;

/** Flags with a value: their short form, and what the value must look like. */
const valued: Readonly<Record<string, RegExp>> = {
  namespace: namespaceName,
  context: plainName,
  selector: plainSelector,
  output: /^wide$/,
};
const switches: ReadonlySet<string> = new Set(['all-namespaces', 'no-headers', 'show-labels']);
/** Flags of every command, which may stand before its word. */
const ofAll: ReadonlySet<string> = new Set(['namespace', 'context']);
const shorts: Readonly<Record<string, string>> = { n: 'namespace', l: 'selector', o: 'output', A: 'all-namespaces' };

/**
 * Reads the words behind "berth" when they are a `get` in plain words: TYPE, TYPE NAME or TYPE/NAME with the everyday
 * flags, each once. Undefined for everything else, right or wrong: that is for the whole program, which reads all that
 * this one does, and in the same way. Pure.
 */
export function readPlainGet(words: readonly string[]): PlainGet | undefined {
  const flags = new Map<string, string>();
  const plain: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (!word.startsWith('-')) {
      plain.push(word);
      continue;
    }
    const [, short, long, glued] = /^-(?:([nloA])|-([a-z-]+)(?==|$))(.*)$/.exec(word) ?? [];
    const name = long ?? shorts[short ?? ''] ?? '';
    if (flags.has(name) || (plain.length === 0 && !ofAll.has(name))) return undefined;
    if (switches.has(name)) {
      if (glued !== '') return undefined;
      flags.set(name, '');
      continue;
    }
    const value = glued === '' ? words[++at] : glued?.replace(/^=/, '');
    if (!Object.hasOwn(valued, name) || value === undefined || !valued[name]!.test(value)) return undefined;
    flags.set(name, value);
  }
  return plainGetOf(plain, flags);
}

function plainGetOf([verb, ...words]: readonly string[], flags: ReadonlyMap<string, string>): PlainGet | undefined {
  if (verb !== 'get' || words.length === 0 || words.length > 2) return undefined;
  const [noun = '', name, ...more] = words.length === 1 ? words[0]!.split('/') : words;
  const found = Object.entries(kindWords).find(([, kind]) => kind.words.includes(noun));
  if (found === undefined || more.length > 0 || (name !== undefined && !plainName.test(name))) return undefined;
  const [kind, { namespaced }] = found;
  const [selector, allNamespaces] = [flags.get('selector'), flags.has('all-namespaces')];
  // Refused, in words of the whole program.
  if (name !== undefined && (selector !== undefined || allNamespaces)) return undefined;
  return {
    ...{ kind, namespaced, name, selector, allNamespaces },
    namespace: flags.get('namespace'),
    context: flags.get('context'),
    wide: flags.has('output'),
    headers: !flags.has('no-headers'),
    showLabels: flags.has('show-labels'),
  };
}
