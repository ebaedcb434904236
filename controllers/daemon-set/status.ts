import { isDeepStrictEqual } from 'node:util';
import type { DaemonSetStatus } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { type DaemonView, isServing, isUpdated, placesOf } from './decide.ts';

/** The status as it should be; undefined when it is so. Of several pods on a node the first counts. */
export function computeStatus(view: DaemonView): DaemonSetStatus | undefined {
  const { metadata, status = {} } = view.set;
  const { places } = placesOf(view);
  const wanted = places.filter(({ eligibility }) => eligibility === 'run');
  const firsts = wanted.flatMap(({ pods }) => pods[0] ?? []);
  const ready = firsts.filter(isPodReady);
  const numberAvailable = ready.filter((pod) => isServing(pod, view)).length;
  const next: DaemonSetStatus = {
    observedGeneration: metadata?.generation ?? 0,
    desiredNumberScheduled: wanted.length,
    currentNumberScheduled: firsts.length,
    numberMisscheduled: places.filter(({ eligibility, pods }) => eligibility !== 'run' && pods.length > 0).length,
    numberReady: ready.length,
    updatedNumberScheduled: firsts.filter((pod) => isUpdated(pod, view)).length,
    numberAvailable,
    numberUnavailable: wanted.length - numberAvailable,
    ...(status.collisionCount !== undefined && { collisionCount: status.collisionCount }),
    conditions: status.conditions ?? [],
  };
  return isDeepStrictEqual(next, { ...status, conditions: status.conditions ?? [] }) ? undefined : next;
}
