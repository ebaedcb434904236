import { jsonFields } from '../../api/codec/json-fields.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { groupOf, resourceOf } from '../../api/kinds/identity.ts';
import { kindOf, kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Client, ConnectOptions } from '../../client/index.ts';
import { kindsOfUsers, otherKindOf } from '../args/other-kinds.ts';
import { fittingAnswer } from './answer-lines.ts';
import { type KeptWords, longestMs } from './answers-cache.ts';
import { kindsCachePath, readKindsCache, writeKindsCache } from './kinds-cache.ts';
import { isPlainWord } from './plain-word.ts';
import type { Candidate, Question, Wanted } from './question.ts';

/** What a completion looks up outside the program. Every method gives nothing when it cannot know. */
export interface Lookup {
  contexts(): Promise<string[]>;
  /** What calls the plugins of the PATH, which these commands hide. */
  plugins(builtIn: readonly string[]): Promise<string[]>;
  /** The kinds that users added, the preferred version first; those of some minutes ago may do. */
  kinds(): Promise<readonly Kind[]>;
  /** The same, asked for now. */
  newestKinds(): Promise<readonly Kind[]>;
  /** The schema of a kind that a user added, as its definition has it. */
  schema(kind: Kind): Promise<JsonObject | undefined>;
  /** The names of the objects of a kind, in the namespace where it has some. */
  names(kind: Kind): Promise<string[]>;
  /** Those of a pod, or of the template of a workload: "web", "pod/web", "deployment/web". */
  containers(of: string): Promise<string[]>;
}

/**
 * What the shell shows and puts in: whole words; `glued` ones get no space behind them. `files`:
 * the shell knows better.
 */
export interface Answer {
  readonly candidates: readonly Candidate[];
  readonly glued: boolean;
  readonly files: boolean;
  /** For the next press of the key at the same place. */
  readonly kept?: KeptWords & { readonly forMs: number };
}

/** The words that may stand where the cursor is and begin as typed. */
export async function answer({ wanted, current, prefix }: Question, lookup: Lookup): Promise<Answer> {
  if (wanted.type === 'file') {
    const kept = { words: [], glued: false, files: true, forMs: longestMs };
    return { candidates: [], glued: false, files: true, ...(isPlainWord(current) && prefix === '' && { kept }) };
  }
  const { words, glued = false, isPart = false } = await wordsFor(wanted, current, lookup);
  const fitting = fittingAnswer(words, current, glued);
  const forMs = isPart || prefix !== '' || !isPlainWord(current) ? undefined : keptMsOf(wanted);
  return {
    candidates: fitting.candidates.map((each) => ({ ...each, word: prefix + each.word })),
    glued: fitting.glued,
    files: false,
    ...(forMs !== undefined && { kept: { words, glued, files: false, forMs } }),
  };
}

/** How long names are offered that were asked for: a person presses the key again while the same line is typed. */
const namesKeptMs = 5_000;

/** How long the next press at the same place is answered with the same words; undefined: not at all. */
function keptMsOf(wanted: Wanted): number | undefined {
  switch (wanted.type) {
    case 'words':
    case 'file':
      return longestMs;
    case 'resource':
      return wanted.before.length === 0 ? longestMs : namesKeptMs;
    case 'field':
    case 'nothing':
      return undefined;
    default:
      return namesKeptMs;
  }
}

interface Words {
  readonly words: readonly Candidate[];
  readonly glued?: boolean;
  /** Only words for what is typed: there are others at this place. */
  readonly isPart?: boolean;
}

async function wordsFor(wanted: Exclude<Wanted, { type: 'file' }>, current: string, lookup: Lookup): Promise<Words> {
  switch (wanted.type) {
    case 'words':
      return wanted;
    case 'command':
      return { words: [...wanted.words, ...(await pluginCandidates(wanted.words, lookup))] };
    case 'context':
      return plain(await lookup.contexts());
    case 'component':
      return plain(['server', ...(await lookup.names(kindOf('Node')!)).map((name) => `agent/${name}`)]);
    case 'container':
      return plain(wanted.pod === '' ? [] : await lookup.containers(wanted.pod));
    case 'object':
      return await objectWords(kindOf(wanted.kind), wanted, current, lookup);
    case 'resource':
      return await resourceWords(wanted, current, lookup);
    case 'field':
      return await fieldWords(current, lookup);
    case 'nothing':
      return { words: [] };
  }
}

async function pluginCandidates(builtIn: readonly Candidate[], lookup: Lookup): Promise<Candidate[]> {
  const words = await lookup.plugins(builtIn.map(({ word }) => word));
  return words.map((word) => ({ word, description: 'A plugin' }));
}

function plain(words: readonly string[]): Words {
  return { words: words.map((word) => ({ word })) };
}

/** Names of one kind, also as TYPE/NAME where the word began so; those that stand there already are not said again. */
async function objectWords(
  kind: Kind | undefined,
  { before, owners = [] }: { readonly before: readonly string[]; readonly owners?: readonly string[] },
  current: string,
  lookup: Lookup,
): Promise<Words> {
  if (!kind) return { words: [] };
  if (current.includes('/')) return await slashedWords(current, lookup);
  const names = await lookup.names(kind);
  const { words } = plain(names.filter((name) => !before.includes(name)));
  return { words: [...words, ...typesBefore(kinds.filter((each) => owners.includes(each.kind)))] };
}

const typesBefore = (offered: readonly Kind[]): Candidate[] =>
  offered.map((kind) => ({ word: `${kind.singular}/`, description: kind.kind }));

/** TYPE, then names of that type; or TYPE/NAME again and again, which is what the first word decides. */
async function resourceWords(
  { before, kinds: wanted }: Extract<Wanted, { type: 'resource' }>,
  current: string,
  lookup: Lookup,
): Promise<Words> {
  if (current.includes('/')) return await slashedWords(current, lookup);
  const [first, ...names] = before;
  if (first !== undefined && !first.includes('/'))
    return await objectWords(await kindBehind(first, lookup), { before: names }, current, lookup);
  if (wanted) {
    const offered = kinds.filter(({ kind }) => wanted.includes(kind));
    return first === undefined ? typeWords(current, offered) : { words: typesBefore(offered) };
  }
  if (first !== undefined) return { words: typesBefore([...kinds, ...ofUsers(await lookup.kinds())]) };
  const known = typeWords(current, [...kinds, ...ofUsers(await lookup.kinds())]);
  if (known.words.some(({ word }) => word.startsWith(current))) return known;
  return typeWords(current, [...kinds, ...ofUsers(await lookup.newestKinds())]);
}

/** The kinds of users, each once, called by what means no other kind. */
function ofUsers(theirs: readonly Kind[]): Kind[] {
  const found = new Map<string, Kind>();
  for (const kind of theirs) {
    const resource = resourceOf(kind);
    const isPlain = kindOf(kind.plural) === undefined && [...found.values()].every(({ plural }) => plural !== kind.plural);
    if (found.has(resource)) continue;
    found.set(resource, isPlain ? kind : { ...kind, plural: resource, singular: `${kind.singular}.${groupOf(kind.apiVersion)}` });
  }
  return [...found.values()];
}

async function kindBehind(noun: string, lookup: Lookup): Promise<Kind | undefined> {
  return kindOf(noun) ?? otherKindOf(noun, await lookup.kinds()) ?? otherKindOf(noun, await lookup.newestKinds());
}

/** "pods", and behind "pods,no" also "pods,nodes". Short names count when nothing else begins so. */
function typeWords(current: string, offered: readonly Kind[]): Words {
  const comma = current.lastIndexOf(',') + 1;
  const [done, typed] = [current.slice(0, comma), current.slice(comma)];
  const words = offered.map((kind) => ({ word: done + kind.plural, description: kind.kind }));
  if (words.some(({ word }) => word.startsWith(current))) return { words };
  return { ...plain(shortNames(typed, done, offered)), isPart: true };
}

function shortNames(typed: string, done: string, offered: readonly Kind[]): string[] {
  return offered.flatMap((kind) => kind.shortNames).flatMap((name) => (name.startsWith(typed) ? [done + name] : []));
}

async function slashedWords(current: string, lookup: Lookup): Promise<Words> {
  const noun = current.slice(0, current.indexOf('/'));
  const kind = await kindBehind(noun, lookup);
  return plain(kind ? (await lookup.names(kind)).map((name) => `${noun}/${name}`) : []);
}

/** The fields below what is typed up to the last dot; no space behind them, since a field may have fields. */
async function fieldWords(current: string, lookup: Lookup): Promise<Words> {
  const dot = current.lastIndexOf('.');
  if (dot < 0) {
    const words = [...kinds, ...(await lookup.kinds())].map((kind) => ({ word: kind.singular, description: kind.kind }));
    return { words: [...new Map(words.map((each) => [each.word, each])).values()], glued: true };
  }
  const at = current.slice(0, dot);
  try {
    return { words: (await fieldsBelow(at, lookup)).map((name) => ({ word: `${at}.${name}` })), glued: true };
  } catch {
    // What is typed so far names nothing: there is nothing to offer below it.
    return { words: [] };
  }
}

async function fieldsBelow(at: string, lookup: Lookup): Promise<string[]> {
  const { below, locateIn, splitPath } = await import('../explain/locate.ts');
  const { noun, names } = splitPath(at);
  const kind = await kindBehind(noun, lookup);
  if (!kind) return [];
  // Metadata are those of every kind.
  if (!isCustom(kind) || names[0] === 'metadata') {
    const type = below(locateIn(kind, names));
    return type ? jsonFields(type).map(({ name }) => name) : [];
  }
  const schema = await lookup.schema(kind);
  const { namesBelow } = await import('../explain/schema.ts');
  return schema ? namesBelow(schema, names) : [];
}

/**
 * Asks the server and the contexts file, for a short time: a shell that hangs is worse than one that offers nothing.
 */
export function createLookup(flags: ReadonlyMap<string, string>, timeoutMs: number): Lookup {
  // One answer asks for them more than once.
  let theirs: Promise<readonly Kind[]> | undefined;
  let newest: Promise<readonly Kind[]> | undefined;
  const newestKinds = () => (newest ??= asked(flags, timeoutMs, askKinds).catch(() => []));
  return {
    async contexts() {
      const { listContexts } = await import('../../client/config/config.ts');
      return (await listContexts()).map(({ name }) => name);
    },
    async plugins(builtIn) {
      const { pluginWords } = await import('../plugins/find-plugins.ts');
      return pluginWords(builtIn);
    },
    kinds: () => (theirs ??= keptKinds(flags).then((kept) => kept ?? newestKinds())),
    newestKinds,
    schema: (kind) =>
      asked(flags, timeoutMs, async ({ client }, call) => {
        const { schemaOf } = await import('../explain/schema.ts');
        return schemaOf(kind, await client.objects.get('CustomResourceDefinition', { name: resourceOf(kind) }, call));
      }),
    names: (kind) =>
      asked(flags, timeoutMs, async ({ client, namespace }, call) => {
        const scope = kind.namespaced ? { namespace } : {};
        const { table } = await client.objects.listTable(kindWord(kind), { ...scope, limit: namesAtMost }, call);
        return (table.rows ?? []).map((row) => row.name ?? '');
      }),
    async containers(of) {
      const [{ templateOf }, { list, text }] = await Promise.all([
        import('../workload/pod-spec.ts'),
        import('../describe/json.ts'),
      ]);
      const [name = '', noun = 'pod'] = of.split('/').reverse();
      const kind = kindOf(noun);
      if (!kind) return [];
      return await asked(flags, timeoutMs, async ({ client, namespace }, call) => {
        const { spec } = templateOf(kind, await client.objects.get(kindWord(kind), { namespace, name }, call));
        const containers = [...list(spec, 'initContainers'), ...list(spec, 'containers')];
        return containers.map((container) => text(container, 'name'));
      });
    },
  };
}

/** What an earlier completion was told: then this one need not connect, which is most of what it takes. */
async function keptKinds(flags: ReadonlyMap<string, string>): Promise<readonly Kind[] | undefined> {
  const { loadContext } = await import('../../client/config/config.ts');
  const context = await loadContext(flags.get('context')).catch(() => undefined);
  const kept = context && (await readKindsCache(context.options, Date.now(), kindsCachePath()));
  return kept && kindsOfUsers(kept);
}

async function askKinds({ client, options }: Asked, call: { timeoutMs: number }): Promise<Kind[]> {
  const infos = (await client.objects.kinds(call)).filter(({ service }) => !service);
  await writeKindsCache(options, infos, Date.now(), kindsCachePath());
  return kindsOfUsers(infos);
}

/** The most candidates that a list shows. */
const namesAtMost = 500;

interface Asked {
  readonly client: Client;
  readonly options: ConnectOptions;
  readonly namespace: string;
}

async function asked<T>(
  flags: ReadonlyMap<string, string>,
  timeoutMs: number,
  ask: (session: Asked, call: { timeoutMs: number }) => Promise<T>,
): Promise<T> {
  const [{ connectBriefly }, { loadContext }] = await Promise.all([
    import('../../client/connect-briefly.ts'),
    import('../../client/config/config.ts'),
  ]);
  const context = await loadContext(flags.get('context'));
  const client = connectBriefly({ ...context.options, userAgent: 'berth-completion' });
  try {
    return await ask({ client, options: context.options, namespace: flags.get('namespace') ?? context.namespace }, { timeoutMs });
  } finally {
    client.close();
  }
}
