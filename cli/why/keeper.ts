import { isNotFound, isPermissionDenied } from '../../api/errors/index.ts';
import type { ObjectMeta, Pod } from '../../api/generated/types.ts';
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

/**
 * The workload that keeps a pod, as "deployment/web": behind a ReplicaSet or a Job the one that keeps these, as far as
 * the caller may read them. Undefined for a pod of its own, and one whose keeper "berth why" does not explain.
 */
export async function keeperOf(client: Session['client'], { metadata }: Pod): Promise<string | undefined> {
  const owner = controllerOf(metadata);
  if (!owner || !ownKinds.includes(owner.kind)) return undefined;
  const key = { namespace: metadata?.namespace ?? '', name: owner.name };
  const kept =
    owner.kind === 'ReplicaSet' ? client.replicaSets.get(key) : owner.kind === 'Job' ? client.jobs.get(key) : undefined;
  const behind = kept && controllerOf((await orNone<{ metadata?: ObjectMeta }>(kept))?.metadata);
  const { kind, name } = behind && kindsBehind.includes(behind.kind) ? behind : owner;
  return `${kind.toLowerCase()}/${name}`;
}

function controllerOf(metadata: ObjectMeta | undefined): { readonly kind: string; readonly name: string } | undefined {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  // Other groups have kinds of the same names.
  return owner && versions.includes(owner.apiVersion ?? '') ? { kind: owner.kind ?? '', name: owner.name ?? '' } : undefined;
}
