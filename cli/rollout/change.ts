import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import type { JsonObject } from '../../client/index.ts';
import { type Tree, text } from '../describe/json.ts';
import type { Target } from '../get/targets.ts';
import type { Session } from '../session.ts';
import { type WriteFlags, type WritePrinter, writeOptions } from '../write/write-options.ts';

/** What `rollout pause`, `resume` and `restart` do: pure. */
export interface RolloutChange {
  readonly done: string;
  /** Kinds that it is for; absent: all that are rolled out. */
  readonly kinds?: readonly string[];
  /** A strategic patch. Throws INVALID_ARGUMENT where it makes no sense; `subject` is for the message. */
  patch(object: Tree, subject: string): JsonObject;
}

export const pause: RolloutChange = {
  done: 'paused',
  kinds: ['Deployment'],
  patch(object, subject) {
    if (isPaused(object)) throw badRequest(`${subject} is already paused`);
    return { spec: { paused: true } };
  },
};

export const resume: RolloutChange = {
  done: 'resumed',
  kinds: ['Deployment'],
  patch(object, subject) {
    if (!isPaused(object)) throw badRequest(`${subject} is not paused`);
    return { spec: { paused: null } };
  },
};

/** Another annotation makes another template, of which new pods are made. */
export function restart(now: Date): RolloutChange {
  const at = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    done: 'restarted',
    patch(object, subject) {
      if (isPaused(object)) throw badRequest(`${subject} can't restart paused deployment (run rollout resume first)`);
      if (text(object, 'spec', 'template', 'metadata', 'annotations', workloadAnnotations.restartedAt) === at)
        throw badRequest(`${subject} was restarted within the past second already; wait before triggering another`);
      return { spec: { template: { metadata: { annotations: { [workloadAnnotations.restartedAt]: at } } } } };
    },
  };
}

const isPaused = (object: Tree): boolean => text(object, 'spec', 'paused') === 'true';

/** Carries a change out. Throws ApiError. */
export async function changeOne(
  { client: { objects } }: Session,
  { kind, key }: Target,
  change: RolloutChange,
  { flags, printer }: { readonly flags: WriteFlags; readonly printer: WritePrinter },
): Promise<void> {
  const before = await objects.get(kindWord(kind), key);
  const subject = `${resourceOf(kind)} "${key.name}"`;
  const patch = { metadata: { uid: text(before, 'metadata', 'uid') }, ...change.patch(before, subject) };
  if (flags.dryRun === 'client') {
    const { strategicMerge } = await import('../../api/codec/strategic-merge.ts');
    return await printer.print(kind, strategicMerge(kind.message, before, patch), change.done);
  }
  const after = await objects.patch(kindWord(kind), { ...key, type: 'strategic' }, patch, writeOptions(flags, 'berth-rollout'));
  await printer.print(kind, after, change.done);
}
