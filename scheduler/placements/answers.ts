import type { Client, Clock, Logger } from '../../client/index.ts';
import type { Cache } from '../cache/cache.ts';
import type { Profile } from '../profile.ts';
import { createExplainer, type ExplainerOptions } from './explainer.ts';
import { createPlacementLog, type PlacementLog } from './placement-log.ts';
import { servePlacements } from './serve.ts';

export interface AnswersOptions extends Pick<ExplainerOptions, 'find' | 'waitingSince'> {
  readonly profiles: readonly Profile[];
  readonly cache: Cache;
  readonly client: Pick<Client, 'placements'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What people ask, for each profile under its name: the API server hands a question on to the one that the pod asks
 * for.
 */
export interface Answers extends Pick<PlacementLog, 'add'> {
  /** Until aborted. */
  serve(signal: AbortSignal): Promise<void>;
}

export function createAnswers({ profiles, cache, find, waitingSince, client, clock, logger }: AnswersOptions): Answers {
  const logs = new Map(profiles.map(({ schedulerName }) => [schedulerName, createPlacementLog()]));
  const explainers = profiles.map((profile) => {
    const placements = logs.get(profile.schedulerName)!;
    return { profile, explainer: createExplainer({ profile, cache, placements, find, waitingSince, now: clock.now }) };
  });
  return {
    add: (pod, placement) => logs.get(pod.schedulerName)?.add(pod, placement),
    async serve(signal) {
      await Promise.all(
        explainers.map(({ profile: { schedulerName }, explainer }) =>
          servePlacements({ client, schedulerName, explainer, clock, logger }, signal),
        ),
      );
    },
  };
}
