import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { podContainers } from './pod-containers.ts';
import type { PodRecord } from './pod-record.ts';
import { specHash } from './spec-hash.ts';

/** A changed image makes a new container, without the waiting reason of the old one. */
export function unblockChanged(record: PodRecord, before: Pod, after: Pod): void {
  if (record.blocked.size === 0) return;
  const hashes = new Map(podContainers(before).map(({ container }) => [container.name, specHash(container)]));
  for (const { container } of podContainers(after))
    if (hashes.get(container.name) !== specHash(container)) record.blocked.delete(container.name ?? '');
}

/**
 * Whether anything changed that a worker acts on. Of the status only the parts that other components write: the agent
 * writes the rest itself.
 */
export function wantsChanged(before: Pod, after: Pod): boolean {
  const [a, b] = [before.metadata ?? {}, after.metadata ?? {}];
  if (
    a.deletionTimestamp?.seconds !== b.deletionTimestamp?.seconds ||
    a.deletionGracePeriodSeconds !== b.deletionGracePeriodSeconds
  )
    return true;
  if (isFinished(before) !== isFinished(after)) return true;
  // The mirror of a static pod has come: what there is to say can be said now.
  if ((a.resourceVersion === undefined) !== (b.resourceVersion === undefined)) return true;
  if (gatesOf(before) !== gatesOf(after)) return true;
  return JSON.stringify(before.spec) !== JSON.stringify(after.spec);
}

/** What is said of the pod's readiness gates. */
function gatesOf({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  return gates.map(({ conditionType = '' }) => findCondition(status?.conditions, conditionType)?.status ?? '').join();
}

/** Whether the engine has something else than was thought. */
export function differs(known: ReadonlyMap<string, ObservedContainer>, seen: ReadonlyMap<string, ObservedContainer>): boolean {
  if (known.size !== seen.size) return true;
  for (const [id, container] of seen) if (known.get(id)?.state !== container.state) return true;
  return false;
}
