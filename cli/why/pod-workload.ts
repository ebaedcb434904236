import { isNotFound, isPermissionDenied } from '../../api/errors/index.ts';
import type { ObjectMeta, OwnerReference, Pod } from '../../api/generated/types.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { Session } from '../session.ts';

/** Kinds that own pods, and kinds that own these; "berth why" explains both. */
const ownKinds: readonly string[] = ['ReplicaSet', 'StatefulSet', 'DaemonSet', 'ReplicationController', 'Job'];
const kindsBehind: readonly string[] = ['Deployment', 'CronJob'];
const versions: readonly string[] = ['apps/v1', 'batch/v1', 'v1'];

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined for an object that is gone, or that the caller may not read. */
async function orNone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error) || isPermissionDenied(error)) return undefined;
    throw error;
  }
}

export const readPod = (client: Session['client'], key: Key): Promise<Pod | undefined> => orNone(client.pods.get(key));

/** What points from an object to its controller, "deployment/web". */
export const controlledBy = (controller: string): string =>
  `controlled by ${controller}: "berth why ${controller}" says how that stands`;

/** The controller of an object, if it is of one of these kinds; other groups have kinds of the same names. */
function ownerAmong(kinds: readonly string[], metadata: ObjectMeta | undefined): OwnerReference | undefined {
  const owner = controllerOf({ metadata });
  return kinds.includes(owner?.kind ?? '') && versions.includes(owner?.apiVersion ?? '') ? owner : undefined;
}

/**
 * The workload that controls a pod, as "deployment/web": behind a ReplicaSet or a Job the one that controls these, as
 * far as the caller may read them. Undefined for a pod without a controller, and for one whose controller "berth why"
 * does not explain.
 */
export async function workloadOf(client: Session['client'], { metadata }: Pod): Promise<string | undefined> {
  const owner = ownerAmong(ownKinds, metadata);
  if (!owner) return undefined;
  const key = { namespace: metadata?.namespace ?? '', name: owner.name ?? '' };
  const kept =
    owner.kind === 'ReplicaSet' ? client.replicaSets.get(key) : owner.kind === 'Job' ? client.jobs.get(key) : undefined;
  const behind = kept && ownerAmong(kindsBehind, (await orNone<{ metadata?: ObjectMeta }>(kept))?.metadata);
  const { kind = '', name = '' } = behind ?? owner;
  return `${kind.toLowerCase()}/${name}`;
}
