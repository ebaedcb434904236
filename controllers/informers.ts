import { kinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { type Client, createInformer, type Informer } from '../client/index.ts';
import type { ControllerEnvironment } from './controller.ts';
import { familyIndexers } from './dependents/family.ts';
import { contentIndexers } from './namespace/controller.ts';
import { outlineOf, podOutline } from './outline.ts';
import { podIndexers } from './pod-garbage/controller.ts';
import { claimIndexers, volumeIndexers } from './volume-binding/controller.ts';
import { claimUserIndexers } from './volume-protection/controller.ts';

/** One informer for each kind, which the controllers share: nodes, leases, volumes, claims and budgets whole, of everything else an outline. */
export function createInformers(client: Client, base: ControllerEnvironment) {
  const named = (plural: string) => ({ name: `controllers ${plural}`, ...base });
  const everyIndex = { ...familyIndexers, ...contentIndexers };
  const nodes = createInformer({ client: client.nodes, indexers: familyIndexers, ...named('nodes') });
  const leases = createInformer({ client: client.leases, indexers: everyIndex, ...named('leases') });
  const pods = createInformer({
    client: client.pods,
    transform: podOutline,
    indexers: { ...podIndexers, ...claimUserIndexers, ...everyIndex },
    ...named('pods'),
  });
  const volumes = createInformer({
    client: client.persistentVolumes,
    indexers: { ...volumeIndexers, ...familyIndexers },
    ...named('persistentvolumes'),
  });
  const claims = createInformer({
    client: client.persistentVolumeClaims,
    indexers: { ...claimIndexers, ...everyIndex },
    ...named('persistentvolumeclaims'),
  });
  const budgets = createInformer({ client: client.podDisruptionBudgets, indexers: everyIndex, ...named('poddisruptionbudgets') });
  const known: Readonly<Record<string, Informer<ApiObject>>> = {
    Node: nodes,
    Lease: leases,
    Pod: pods,
    PersistentVolume: volumes,
    PersistentVolumeClaim: claims,
    PodDisruptionBudget: budgets,
  };
  const outlined = (kind: Kind) =>
    createInformer<ApiObject>({
      client: client.resource(kind),
      transform: outlineOf,
      indexers: everyIndex,
      ...named(kind.plural),
    });
  const followed = kinds
    .filter(({ unowned }) => !unowned)
    .map((kind) => ({ kind, client: client.resource(kind), informer: known[kind.kind] ?? outlined(kind) }));
  const namespaces = followed.find(({ kind }) => kind.kind === 'Namespace')!.informer;
  const contents = followed.filter(({ kind }) => kind.namespaced);
  const keptForNodes = followed.filter(({ kind }) => kind.kind === 'Lease' || kind.kind === 'NodeMetrics');
  return {
    nodes,
    leases,
    pods,
    volumes,
    claims,
    budgets,
    followed,
    namespaces,
    contents,
    keptForNodes,
    all: followed.map(({ informer }) => informer),
  };
}
