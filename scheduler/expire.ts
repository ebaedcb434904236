import type { Pod } from '../api/generated/types.ts';
import { type Clock, pause } from '../client/index.ts';
import type { Cache } from './cache/cache.ts';

/** How often placements that the API never showed are looked for. */
const expiryCheckMs = 5_000;

export interface ExpireOptions {
  readonly cache: Pick<Cache, 'expire'>;
  readonly clock: Clock;
  /** What the API shows, by namespace/name. */
  readonly find: (key: string) => Pod | undefined;
  readonly setPod: (pod: Pod) => void;
}

/** Takes placements back that the API has never shown, and lets the pods be looked at again, until aborted. */
export async function expire({ cache, clock, find, setPod }: ExpireOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(expiryCheckMs, signal, clock);
    for (const { key, uid } of cache.expire()) {
      const current = find(key);
      if (current?.metadata?.uid === uid) setPod(current);
    }
  }
}
