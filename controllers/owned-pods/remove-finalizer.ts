import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { ResourceWrites } from '../../client/index.ts';
import { type UntilAnsweredOptions, untilAnswered } from './until-answered.ts';

/**
 * Takes a finalizer off this very pod, whatever else changed of it meanwhile, and repeats that until it is answered.
 * Gives what the server answers, undefined where there is no such pod any more.
 */
export async function removeFinalizer(
  pods: Pick<ResourceWrites<Pod>, 'patch'>,
  { metadata = {} }: Pod,
  finalizer: string,
  options: UntilAnsweredOptions,
): Promise<Pod | undefined> {
  const { namespace, name = '', uid } = metadata;
  const patch = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [finalizer] } };
  const attempt = () => pods.patch({ namespace, name, type: 'strategic' }, patch, {}, { signal: options.signal });
  try {
    return await untilAnswered(attempt, options);
  } catch (error) {
    // A conflict: another pod has the name.
    if (isNotFound(error) || isConflict(error)) return undefined;
    throw error;
  }
}
