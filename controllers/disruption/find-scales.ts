import { isNotFound } from '../../api/errors/index.ts';
import type {
  Deployment,
  OwnerReference,
  Pod,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from '../../api/generated/types.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { Client, Informer } from '../../client/index.ts';
import { isScalable, kindReferred, noMatchesMessage } from '../scalable-kinds.ts';
import type { ControllerScale, ControllerScales } from './decide.ts';

/** The kinds whose scales are read from informers; those of all others are asked for. */
export interface ScaleSources {
  readonly replicaSets: Pick<Informer<ReplicaSet>, 'lister'>;
  readonly deployments: Pick<Informer<Deployment>, 'lister'>;
  readonly statefulSets: Pick<Informer<StatefulSet>, 'lister'>;
  readonly replicationControllers: Pick<Informer<ReplicationController>, 'lister'>;
  /** All that there are. */
  readonly kinds: Iterable<{ readonly kind: Kind }>;
  readonly client: Pick<Client, 'resource'>;
}

/** What the controllers of pods want, as Kubernetes' disruption controller finds it. */
export async function findScales(sources: ScaleSources, pods: readonly Pod[], signal: AbortSignal): Promise<ControllerScales> {
  const scales = new Map<string, ControllerScale>();
  for (const pod of pods) {
    const controller = controllerOf(pod);
    if (!controller?.uid || scales.has(controller.uid)) continue;
    const found = await findScale(sources, controller, pod.metadata?.namespace ?? '', signal);
    if (found) scales.set(controller.uid, found);
  }
  return scales;
}

interface Scaled {
  readonly metadata?: { readonly uid?: string };
  readonly spec?: { readonly replicas?: number };
}

function scaleOf(object: Scaled | undefined, uid: string | undefined): ControllerScale | undefined {
  if (!object || object.metadata?.uid !== uid) return undefined;
  return { uid: object.metadata?.uid ?? '', replicas: object.spec?.replicas ?? 1 };
}

/** Undefined when there is no such object any more. */
async function findScale(
  sources: ScaleSources,
  reference: OwnerReference,
  namespace: string,
  signal: AbortSignal,
): Promise<ControllerScale | undefined> {
  const { uid, name = '' } = reference;
  const kind = kindReferred(sources.kinds, reference);
  if (!kind) return { problem: noMatchesMessage(reference) };
  const key = `${namespace}/${name}`;
  if (isKind(kind, 'ReplicaSet')) return scaleOfReplicaSet(sources, key, uid);
  if (isKind(kind, 'StatefulSet')) return scaleOf(sources.statefulSets.lister.get(key), uid);
  if (isKind(kind, 'ReplicationController')) return scaleOf(sources.replicationControllers.lister.get(key), uid);
  if (!isScalable(kind)) return { problem: `${resourceOf(kind)} does not implement the scale subresource` };
  try {
    const { metadata, spec } = await sources.client.resource(kind).scale({ namespace, name }, { signal });
    return scaleOf({ metadata: { uid: metadata?.uid ?? '' }, spec: { replicas: spec?.replicas ?? 0 } }, uid);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The scale of the Deployment of a ReplicaSet, where it has one: during a rollout several sets share its replicas. */
function scaleOfReplicaSet(
  { replicaSets, deployments }: ScaleSources,
  key: string,
  uid: string | undefined,
): ControllerScale | undefined {
  const set = replicaSets.lister.get(key);
  const owner = set && controllerOf(set);
  if (!set || set.metadata?.uid !== uid || owner?.kind !== 'Deployment') return scaleOf(set, uid);
  return scaleOf(deployments.lister.get(`${set.metadata?.namespace ?? ''}/${owner.name ?? ''}`), owner.uid);
}
