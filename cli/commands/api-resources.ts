import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { knownKinds } from '../args/other-kinds.ts';
import { plainTable } from '../printers/plain-table.ts';

interface ApiResourcesFlags {
  readonly output?: 'wide' | 'name';
  readonly namespaced?: string;
  readonly apiGroup?: string;
  readonly verbs?: string;
  readonly headers: boolean;
  readonly sortBy?: 'name' | 'kind';
}

/** One registry serves all kinds, so each has the same. */
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

export function registerApiResources(program: Command): void {
  program
    .command('api-resources')
    .description('Show the kinds of objects with their names and short names')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['wide', 'name']))
    .option('--namespaced <bool>', 'only kinds that live in a namespace (true), or that do not (false)')
    .option('--api-group <group>', 'only kinds of this group; "" is that of pods')
    .option('--verbs <verbs>', 'only kinds with all of these verbs, e.g. list,watch')
    .addOption(new Option('--sort-by <column>', 'in order of this column').choices(['name', 'kind']))
    .option('--no-headers', 'without headings')
    .action((flags: ApiResourcesFlags) => {
      process.stdout.write(printKinds(chooseKinds(knownKinds(), flags), flags));
    });
}

/** As kubectl's users choose them. */
export function chooseKinds(
  all: readonly Kind[],
  { namespaced, apiGroup, verbs: wanted = '', sortBy }: ApiResourcesFlags,
): Kind[] {
  if (namespaced !== undefined && namespaced !== 'true' && namespaced !== 'false')
    throw badRequest(`--namespaced is "true" or "false", not "${namespaced}"`);
  const hasVerbs = wanted.split(',').every((verb) => verb === '' || verbs.includes(verb));
  const chosen = all.filter(
    (kind) =>
      hasVerbs &&
      (namespaced === undefined || String(kind.namespaced) === namespaced) &&
      (apiGroup === undefined || groupOf(kind.apiVersion) === apiGroup),
  );
  if (sortBy === undefined) return chosen;
  const keyOf = (kind: Kind): string => (sortBy === 'name' ? kind.plural : kind.kind);
  return chosen.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The kinds as kubectl prints them: a table, or full names ("leases.coordination.k8s.io"). */
export function printKinds(chosen: readonly Kind[], { output, headers }: ApiResourcesFlags): string {
  if (output === 'name') return chosen.map((kind) => `${fullName(kind)}\n`).join('');
  const wide = output === 'wide';
  const headings = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', ...(wide ? ['VERBS'] : [])];
  const rows = chosen.map((kind) => [
    kind.plural,
    kind.shortNames.join(','),
    kind.apiVersion,
    String(kind.namespaced),
    kind.kind,
    ...(wide ? [verbs.join(',')] : []),
  ]);
  return plainTable(headers ? headings : undefined, rows);
}

function fullName(kind: Kind): string {
  const [group] = kind.apiVersion.split('/');
  return kind.apiVersion.includes('/') ? `${kind.plural}.${group}` : kind.plural;
}
