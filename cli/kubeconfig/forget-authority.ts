import { isAlias, isMap, type YAMLSeq } from 'yaml';
import { shareCertificate } from '../../api/meta/authority.ts';
import { changeKubeconfig, readText } from './kubeconfig-file.ts';
import { type Known, listOf, parse, readKubeconfig, textOf } from './merge-kubeconfig.ts';

interface Entry {
  readonly name: string;
  readonly cluster?: { readonly 'certificate-authority-data'?: unknown } | null;
  readonly context?: { readonly cluster?: unknown; readonly user?: unknown } | null;
}

type Names = Readonly<Record<'clusters' | 'contexts' | 'users', readonly string[]>>;

/**
 * The clusters that trust an authority (PEM), the contexts of these, and the users that no other context has. Pure.
 */
export function entriesOf({ clusters, contexts }: Known, authority: string): Names {
  const trusts = ({ cluster }: Entry): boolean => {
    const data = cluster?.['certificate-authority-data'];
    return typeof data === 'string' && shareCertificate(Buffer.from(data, 'base64').toString('latin1'), authority);
  };
  const gone = (clusters as readonly Entry[]).filter(trusts).map(({ name }) => name);
  const isGone = ({ context }: Entry): boolean => gone.includes(String(context?.cluster));
  const userOf = ({ context }: Entry): string => String(context?.user ?? '');
  const all = contexts as readonly Entry[];
  const kept = new Set(all.filter((each) => !isGone(each)).map(userOf));
  const left = all.filter(isGone);
  return {
    clusters: gone,
    contexts: left.map(({ name }) => name),
    users: left.map(userOf).filter((user) => !kept.has(user)),
  };
}

/** The text of a kubeconfig without these entries. Everything else stays; a current context that goes is none. */
export function withoutEntries(text: string, names: Names, path: string): string {
  const document = parse(text, path);
  for (const list of ['clusters', 'contexts', 'users'] as const) {
    const all: YAMLSeq = listOf(document, list);
    all.items = all.items.filter((item) => {
      const entry = isAlias(item) ? item.resolve(document) : item;
      return !isMap(entry) || !names[list].includes(String(entry.get('name')));
    });
  }
  if (names.contexts.includes(String(document.get('current-context')))) document.set('current-context', '');
  return textOf(document, text);
}

/**
 * Removes what belongs to an authority from a kubeconfig. Gives what it removed: each context, and each cluster without
 * a context of its name, e.g. `context "berth"`. A file without such entries is not written. Throws INVALID_ARGUMENT
 * for one that cannot be read or locked.
 */
export async function forgetAuthority(path: string, authority: string): Promise<readonly string[]> {
  const found = (text: string): Names | undefined => {
    const known = readKubeconfig(text, path);
    const names = known && entriesOf(known, authority);
    return names && names.clusters.length > 0 ? names : undefined;
  };
  if (found((await readText(path)) ?? '') === undefined) return [];
  const removed: string[] = [];
  await changeKubeconfig(path, (text) => {
    const names = found(text);
    if (names === undefined) return text;
    const clusters = names.clusters.filter((name) => !names.contexts.includes(name));
    removed.push(...names.contexts.map((name) => `context "${name}"`), ...clusters.map((name) => `cluster "${name}"`));
    return withoutEntries(text, names, path);
  });
  return removed;
}
