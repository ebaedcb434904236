import { isNotFound } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { ResourceWrites } from '../../client/index.ts';
import { type UntilAnsweredOptions, untilAnswered } from './until-answered.ts';

/**
 * Takes a finalizer off this very pod, whatever else changed of it meanwhile, and repeats that until it is answered.
 * Gives what the server answers, undefined where there is no pod of the name any more. A conflict is thrown: the write
 * lost against others, or another pod has the name, which shows when the pods are looked at again.
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
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
