import { kinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { bootstrapTokenType } from '../api/kinds/secret/bootstrap-token.ts';
import { volumeIndexers } from '../api/kinds/volume-matching.ts';
import { namespaces } from '../api/meta/well-known.ts';
import { type Client, createInformer, type Informer } from '../client/index.ts';
import type { ControllerEnvironment } from './controller.ts';
import { familyIndexers } from './dependents/family.ts';
import { awaitedNodeIndexers, openNodeIndexers } from './local-path/controller.ts';
import { contentIndexers } from './namespace/controller.ts';
import { outlineOf, podOutline } from './outline.ts';
import { podIndexers } from './pod-garbage/controller.ts';
import { claimIndexers } from './volume-binding/controller.ts';
import { claimUserIndexers } from './volume-protection/controller.ts';

/** One informer for each kind, which the controllers share: nodes, leases, storage and budgets whole, of everything else an outline. */
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
    indexers: { ...volumeIndexers, ...awaitedNodeIndexers, ...familyIndexers },
    ...named('persistentvolumes'),
  });
  const claims = createInformer({
    client: client.persistentVolumeClaims,
    indexers: { ...claimIndexers, ...openNodeIndexers, ...everyIndex },
    ...named('persistentvolumeclaims'),
  });
  const classes = createInformer({ client: client.storageClasses, indexers: familyIndexers, ...named('storageclasses') });
  const budgets = createInformer({ client: client.podDisruptionBudgets, indexers: everyIndex, ...named('poddisruptionbudgets') });
  const requests = createInformer({
    client: client.resource('CertificateSigningRequest'),
    indexers: familyIndexers,
    ...named('certificatesigningrequests'),
  });
  const joinTokens = createInformer({
    client: client.secrets,
    scope: { namespace: namespaces.system, fieldSelector: `type=${bootstrapTokenType}` },
    ...named('join tokens'),
  });
  const known: Readonly<Record<string, Informer<ApiObject>>> = {
    Node: nodes,
    Lease: leases,
    Pod: pods,
    PersistentVolume: volumes,
    PersistentVolumeClaim: claims,
    StorageClass: classes,
    PodDisruptionBudget: budgets,
    CertificateSigningRequest: requests,
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
  const allNamespaces = followed.find(({ kind }) => kind.kind === 'Namespace')!.informer;
  const accounts = followed.find(({ kind }) => kind.kind === 'ServiceAccount')!.informer;
  const configMaps = followed.find(({ kind }) => kind.kind === 'ConfigMap')!.informer;
  const contents = followed.filter(({ kind }) => kind.namespaced);
  const keptForNodes = followed.filter(({ kind }) => kind.kind === 'Lease' || kind.kind === 'NodeMetrics');
  return {
    nodes,
    leases,
    pods,
    volumes,
    claims,
    classes,
    budgets,
    followed,
    requests,
    joinTokens,
    namespaces: allNamespaces,
    accounts,
    configMaps,
    contents,
    keptForNodes,
    all: [...followed.map(({ informer }) => informer), joinTokens],
  };
}
