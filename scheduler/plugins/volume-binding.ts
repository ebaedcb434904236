import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { compileNodeSelector, type NodePredicate } from '../../api/kinds/node/selector.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { Lister } from '../../client/indexer.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { definePlugin, type Plugin, proceed, type Rejection, skip, unresolvable, unschedulable } from '../framework/plugin.ts';

/** What the plugin reads of claims and volumes: what the informers know in this moment. */
export interface Storage {
  readonly claims: Pick<Lister<PersistentVolumeClaim>, 'get'>;
  readonly volumes: Pick<Lister<PersistentVolume>, 'get'>;
}

/** A scheduler that knows no claims: pods that use one wait. */
export const noStorage: Storage = { claims: { get: () => undefined }, volumes: { get: () => undefined } };

interface State {
  /** Nodes that reach the volumes. */
  readonly reached: readonly NodePredicate[];
  /** Where others use a volume that is for one node at a time; undefined when none is in use. */
  readonly inUseOn: ReadonlySet<number> | undefined;
}

const unreached = unresolvable('node(s) had volume node affinity conflict', ['node/added', 'node/labels', 'storage/changed']);
const elsewhere = unschedulable('node(s) had a ReadWriteOnce volume in use on another node', ['pod/removed', 'node/added']);
const podInUse = unschedulable('node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode', [
  'pod/removed',
  'storage/changed',
]);
const waitsForStorage = (reason: string): Rejection => unresolvable(reason, ['storage/changed']);

/**
 * Keeps a pod waiting until its claims are bound, on nodes that reach their volumes; a volume that is for one node at a time brings its pods
 * together, and one for a single pod lets no second one in. Claims are bound by a controller, not here.
 */
export function volumeBinding({ claims, volumes }: Storage): Plugin<State> {
  return definePlugin<State>({
    name: 'VolumeBinding',
    prepare({ pod, nodes }) {
      if (pod.claims.length === 0) return skip;
      const reached: NodePredicate[] = [];
      let inUseOn: Set<number> | undefined;
      for (const key of pod.claims) {
        const claim = claims.get(key);
        const problem = problemOf(key, claim, volumes);
        if (problem !== undefined) return waitsForStorage(problem);
        const volume = volumes.get(claim?.spec?.volumeName ?? '');
        const { required } = volume?.spec?.nodeAffinity ?? {};
        if (required) reached.push(compileNodeSelector(required));
        if (!isForOne(claim)) continue;
        const rows = rowsUsing(key, nodes);
        if (rows.size > 0 && claim?.spec?.accessModes?.includes('ReadWriteOncePod')) return podInUse;
        if (rows.size > 0) inUseOn = inUseOn === undefined ? rows : intersection(inUseOn, rows);
      }
      return proceed({ reached, inUseOn }, { filter: reached.length > 0 || inUseOn !== undefined, score: false });
    },
    filter({ reached, inUseOn }, nodes, row) {
      for (let i = 0; i < reached.length; i++) if (!reached[i]!(nodes.nodes[row]!)) return unreached;
      return inUseOn === undefined || inUseOn.has(row) ? undefined : elsewhere;
    },
    explain({ reached }, nodes, row) {
      const isReached = reached.every((matches) => matches(nodes.nodes[row]!));
      if (!isReached)
        return `labels ${JSON.stringify(nodes.nodes[row]?.metadata?.labels ?? {})} do not match the volume's nodeAffinity`;
      return 'another pod uses the volume on another node';
    },
    helps(pod, event) {
      if (event.kind === 'storage/changed') return pod.claims.includes(event.claim);
      if (event.kind === 'pod/removed') return event.pod.claims.some((key) => pod.claims.includes(key));
      return 'node' in event;
    },
  });
}

/** Why the pod waits, in Kubernetes' words; undefined when the claim has its volume. */
function problemOf(key: string, claim: PersistentVolumeClaim | undefined, volumes: Storage['volumes']): string | undefined {
  const name = key.slice(key.indexOf('/') + 1);
  if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
  if (claim.metadata?.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`;
  const { volumeName } = claim.spec ?? {};
  const isBound = volumeName && claim.metadata?.annotations?.[annotations.bindCompleted] === 'yes';
  if (!isBound) return 'pod has unbound immediate PersistentVolumeClaims';
  const isLost = claim.status?.phase === 'Lost' || volumes.get(volumeName) === undefined;
  return isLost ? `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${volumeName}"` : undefined;
}

/** Whether the volume may be used on one node only at a time. */
function isForOne(claim: PersistentVolumeClaim | undefined): boolean {
  return (claim?.spec?.accessModes ?? []).every((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

function rowsUsing(key: string, nodes: NodeTable): Set<number> {
  const rows = new Set<number>();
  if (nodes.sums.claimUses === 0) return rows;
  for (let row = 0; row < nodes.count; row++) if (nodes.columns.claimUses[row]! > 0 && nodes.claims[row]!.has(key)) rows.add(row);
  return rows;
}

function intersection(a: ReadonlySet<number>, b: ReadonlySet<number>): Set<number> {
  return new Set([...a].filter((row) => b.has(row)));
}
