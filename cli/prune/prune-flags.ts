import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { kindOf, kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { knownKinds } from '../args/other-kinds.ts';
import { collect } from '../generators/pairs.ts';

/** What `apply` is to delete, beside what it writes. */
export interface PruneFlags {
  readonly prune?: boolean;
  readonly selector?: string;
  readonly all?: boolean;
  readonly pruneAllowlist?: readonly string[];
  readonly applyset?: string;
}

/** Which objects are looked at: those of kinds, by their labels, or the members of a set. */
export type PruneChoice =
  | {
      readonly by: 'labels';
      readonly selector: string | undefined;
      readonly kinds: readonly Kind[];
      readonly kindsGiven: boolean;
    }
  | { readonly by: 'set'; readonly parent: { readonly kind: Kind; readonly name: string } };

/** What kubectl prunes without an allowlist. */
const usualKinds = [
  ...['ConfigMap', 'Endpoints', 'PersistentVolumeClaim', 'Pod', 'ReplicationController', 'Secret', 'Service'],
  ...['Job', 'CronJob', 'Ingress', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet', 'PersistentVolume', 'Namespace'],
];

/** Adds --prune and what goes with it, -l among them. */
export function withPruneFlags(command: Command): Command {
  return command
    .option('-l, --selector <selector>', 'only the objects of the manifests with these labels, e.g. app=web')
    .option('--prune', 'delete applied objects that are no longer in the manifests: with -l, --all or --applyset')
    .option('--all', 'with --prune: among all applied objects of the namespaces of the manifests')
    .option('--prune-allowlist <kind>', 'with --prune: only this kind, as core/v1/ConfigMap; may be given several times', collect)
    .option('--applyset <parent>', 'with --prune: the set of objects that [secret/ or configmap/]NAME keeps');
}

/** Undefined: nothing is pruned. Throws INVALID_ARGUMENT for flags that do not go together. */
export function readPruneFlags({ prune, selector, all, pruneAllowlist, applyset }: PruneFlags): PruneChoice | undefined {
  if (applyset !== undefined) {
    const other = selector ? '--selector' : all ? '--all' : pruneAllowlist?.length ? '--prune-allowlist' : undefined;
    if (other) throw badRequest(`--applyset chooses the objects to prune by their set; ${other} does not go with it`);
    if (!prune) throw badRequest('--applyset goes with --prune');
    return { by: 'set', parent: parseParent(applyset) };
  }
  if (!prune) {
    const alone = all ? '--all' : pruneAllowlist?.length ? '--prune-allowlist' : undefined;
    if (alone) throw badRequest(`${alone} goes with --prune`);
    return undefined;
  }
  if (all && selector) throw badRequest('--all and --selector cannot be given together');
  if (!all && !selector)
    throw badRequest('say which objects may be pruned: -l LABELS, --applyset NAME, or --all for every applied one');
  const given = pruneAllowlist ?? [];
  const chosen =
    given.length > 0 ? given.map(parseKind) : usualKinds.flatMap((name) => kinds.find(({ kind }) => kind === name) ?? []);
  return { by: 'labels', selector, kinds: chosen, kindsGiven: given.length > 0 };
}

/** A kind as "group/version/Kind"; "core" is the group of pods. */
function parseKind(text: string): Kind {
  const [group, version, name, more] = text.split('/');
  if (!group || !version || !name || more !== undefined)
    throw badRequest(`--prune-allowlist takes GROUP/VERSION/KIND, e.g. core/v1/ConfigMap or apps/v1/Deployment, not "${text}"`);
  const apiVersion = group === 'core' ? version : `${group}/${version}`;
  const found = knownKinds().find((kind) => kind.kind === name && kind.apiVersion === apiVersion);
  if (!found) throw badRequest(`--prune-allowlist: Berth has no kind "${text}"; "berth api-resources" lists what it has`);
  return found;
}

function parseParent(text: string): { readonly kind: Kind; readonly name: string } {
  const [name = '', type = 'secret', more] = text.split('/').reverse();
  const kind = kindOf(type);
  if (
    name === '' ||
    more !== undefined ||
    !kind ||
    groupOf(kind.apiVersion) !== '' ||
    !['Secret', 'ConfigMap'].includes(kind.kind)
  )
    throw badRequest(
      `--applyset takes NAME, secret/NAME or configmap/NAME, not "${text}": one of these keeps what is in the set`,
    );
  return { kind, name };
}
