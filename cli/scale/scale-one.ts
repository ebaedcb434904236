import { badRequest, isConflict } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import { type Tree, text, tree } from '../describe/json.ts';
import type { Target } from '../get/targets.ts';

/** What must be true of an object before it is scaled. */
export interface Precondition {
  readonly currentReplicas?: number | undefined;
  readonly resourceVersion?: string | undefined;
}

type WriteOptions = NonNullable<Parameters<ObjectsClient['patch']>[3]>;

/** How often a write is tried again that another writer came before. */
const maxAttempts = 10;

/**
 * Sets how many pods an object should have, through its Scale. With a precondition only while that holds, through
 * changes by other writers: throws INVALID_ARGUMENT when it does not.
 */
export async function scaleOne(
  objects: ObjectsClient,
  { kind, key }: Target,
  replicas: number,
  precondition: Precondition,
  options: WriteOptions,
): Promise<void> {
  const target = { ...key, subresource: 'scale' };
  if (precondition.currentReplicas === undefined && precondition.resourceVersion === undefined) {
    await objects.patch(kindWord(kind), target, { spec: { replicas } }, options);
    return;
  }
  for (let attempt = 1; ; attempt++) {
    const scale = await objects.get(kindWord(kind), target);
    checkPrecondition(scale, precondition);
    try {
      const wanted = { ...scale, spec: { replicas } };
      await objects.update(kindWord(kind), wanted, { ...options, namespace: key.namespace, subresource: 'scale' });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
    }
  }
}

/** kubectl's sentences. Throws INVALID_ARGUMENT. */
export function checkPrecondition(scale: Tree, { currentReplicas, resourceVersion }: Precondition): void {
  const replicas = Number(text(scale, 'spec', 'replicas') || '0');
  if (currentReplicas !== undefined && replicas !== currentReplicas)
    throw badRequest(`Expected replicas to be ${currentReplicas}, was ${replicas}`);
  const version = text(scale, 'metadata', 'resourceVersion');
  if (resourceVersion !== undefined && version !== resourceVersion)
    throw badRequest(`Expected resource version to be ${resourceVersion}, was ${version}`);
}

/** Whether an object has as many pods as it was scaled to, or was scaled to another number since. */
export function isScaled(object: Tree, replicas: number): boolean {
  if (Number(text(object, 'spec', 'replicas') || '0') !== replicas) return true;
  const { observedGeneration = 0, replicas: there = 0 } = tree(object, 'status');
  return Number(there) === replicas && Number(observedGeneration) >= Number(text(object, 'metadata', 'generation') || '0');
}

/** The object as it would be. */
export function withReplicas(object: JsonObject, replicas: number): JsonObject {
  return { ...object, spec: { ...(object.spec as JsonObject | undefined), replicas } };
}
