import { isNotFound } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { ResourceWrites } from '../../client/index.ts';
import { attemptEach } from '../attempt-each.ts';

/** The writes that make slices right; all empty when they are. */
export interface SlicePlan<S> {
  readonly create: readonly S[];
  /** Whole objects, with the version that was judged. */
  readonly update: readonly S[];
  readonly delete: readonly S[];
}

export interface SliceWriting<S extends ApiObject> {
  readonly writes: Pick<ResourceWrites<S>, 'create' | 'update' | 'delete'>;
  /** Is told what the server answered to each write. */
  note(written: S): void;
}

/** What is new is written before what it replaces goes: there is no moment without either. */
export async function writeSlices<S extends ApiObject>(
  plan: SlicePlan<S>,
  { writes, note }: SliceWriting<S>,
  signal: AbortSignal,
): Promise<void> {
  await attemptEach(plan.update, async (slice) => note(await writes.update(slice, {}, { signal })));
  await attemptEach(plan.create, async (slice) => note(await writes.create(slice, {}, { signal })));
  await attemptEach(plan.delete, async ({ metadata }) => {
    const { namespace, name = '', uid } = metadata ?? {};
    const options = { preconditions: { ...(uid && { uid }) } };
    await writes.delete({ namespace, name }, options, { signal }).then(note, (error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  });
}
