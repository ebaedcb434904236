import { type Clock, pause } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';
import type { PodInfo } from './framework/pod-info.ts';

/** How often placements that the API never showed are looked for. */
const expiryCheckMs = 5_000;

export interface ExpireOptions {
  readonly cache: Pick<Cache, 'expire'>;
  readonly clock: Clock;
  readonly askAgain: (pod: PodInfo) => void;
}

/** Takes placements back that the API has never shown, until aborted. */
export async function expire({ cache, clock, askAgain }: ExpireOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(expiryCheckMs, signal, clock);
    for (const pod of cache.expire()) askAgain(pod);
  }
}
