import type { ConfigFile } from '../../client/index.ts';

/**
 * What an entry of `users` may show: names of files and people. Everything else may be a secret,
 * also what Berth does not know.
 */
const harmless: ReadonlySet<string> = new Set(['client-certificate', 'client-key', 'tokenFile', 'username', 'as', 'as-groups']);

/**
 * The contexts file as it may be shown to others: certificates and keys are left out, as kubectl does,
 * and so is every secret.
 */
export function redactConfig(file: ConfigFile): object {
  return {
    ...file,
    clusters: file.clusters.map((entry) => ({ ...entry, cluster: omitData(entry.cluster, () => true) })),
    users: file.users.map((entry) => ({ ...entry, user: omitData(entry.user, (name) => harmless.has(name)) })),
  };
}

function omitData(fields: object, isHarmless: (name: string) => boolean): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (name.endsWith('-data')) return [name, 'DATA+OMITTED'];
      return [name, isHarmless(name) ? value : 'REDACTED'];
    }),
  );
}

/** Only the context in use, with its cluster and its user. */
export function minifyConfig(file: ConfigFile, contextName: string | undefined): ConfigFile {
  const contexts = file.contexts.filter((entry) => entry.name === contextName);
  const used = (part: 'cluster' | 'user') => new Set(contexts.map((entry) => entry.context[part]));
  return {
    ...file,
    contexts,
    clusters: file.clusters.filter((entry) => used('cluster').has(entry.name)),
    users: file.users.filter((entry) => used('user').has(entry.name)),
    'current-context': contextName,
  };
}
