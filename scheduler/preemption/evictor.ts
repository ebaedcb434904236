import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import type { Clock, InformerHandler, Logger, PodClient } from '../../client/index.ts';
import type { MakeRoom } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { Reporter } from '../reporter.ts';

/** Deletes the victims of preemption. */
export interface Evictor {
  /** True from the moment that it was decided until the pod is gone or its deletion has failed. */
  isLeaving(uid: string): boolean;
  /** Deletes all victims at once, each with its own time to end. False when one of them stays. */
  evict(preemptor: PodInfo, room: MakeRoom, signal: AbortSignal): Promise<boolean>;
  /** Hears which pods are gone. */
  readonly pods: InformerHandler<Pod>;
}

export interface EvictorOptions {
  /** Writes of one pod are carried out in the order in which they are asked for. */
  readonly pods: Pick<PodClient, 'patch' | 'delete'>;
  readonly reporter: Pick<Reporter, 'preempted'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createEvictor({ pods, reporter, clock, logger }: EvictorOptions): Evictor {
  const leaving = new Set<string>();

  const forget = ({ metadata }: Pod): void => void leaving.delete(metadata?.uid ?? '');

  async function remove({ pod, key, uid }: PodInfo, { schedulerName }: PodInfo, signal: AbortSignal): Promise<boolean> {
    const { namespace, name = '' } = pod.metadata ?? {};
    const target = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: `${schedulerName}: preempting to accommodate a higher priority pod`,
      lastTransitionTime: toRfc3339(secondsTimestamp(new Date(clock.now()))),
    };
    const told = pods
      .patch(
        { namespace, name, subresource: 'status', type: 'strategic' },
        { metadata: { uid }, status: { conditions: [target] } },
        {},
        { signal },
      )
      .catch(() => {});
    try {
      await pods.delete({ namespace, name }, { preconditions: { uid } }, { signal });
      return true;
    } catch (error) {
      // Gone, and perhaps another one of its name is there: there is nothing left to do.
      if (isNotFound(error) || isConflict(error)) return true;
      leaving.delete(uid);
      if (!signal.aborted) logger.warn({ pod: key, err: error }, 'deleting a victim failed, its preemptor will try again');
      return false;
    } finally {
      await told;
    }
  }

  return {
    isLeaving: (uid) => leaving.has(uid),
    pods: {
      name: 'scheduler victims',
      onUpdate: (next, old) => void (next.metadata?.uid !== old.metadata?.uid && forget(old)),
      onDelete: forget,
    },
    async evict(preemptor, { victims, againstBudget = [], nominatedNodeName: nodeName }, signal) {
      const staying = victims.filter(({ pod, uid }) => pod.metadata?.deletionTimestamp === undefined && !leaving.has(uid));
      for (const { uid } of staying) leaving.add(uid);
      const removals = staying.map((victim) => remove(victim, preemptor, signal));
      for (const victim of staying)
        reporter.preempted(victim, { preemptor, nodeName, isAgainstBudget: againstBudget.includes(victim) });
      return (await Promise.all(removals)).every(Boolean);
    },
  };
}
