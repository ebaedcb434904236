import type { Container } from '../../api/generated/types.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';

/** One thing to do. `why` is for the event that people read. */
export type Action =
  | {
      readonly type: 'stop-container';
      readonly container: ObservedContainer;
      readonly why: string;
      /** In place of the pod's. */
      readonly gracePeriodSeconds?: number;
    }
  | { readonly type: 'update-container'; readonly container: ObservedContainer; readonly to: Container }
  | { readonly type: 'remove-container'; readonly container: ObservedContainer }
  | { readonly type: 'run-sandbox'; readonly attempt: number }
  | { readonly type: 'run-container'; readonly name: string; readonly attempt: number; readonly restartsInRow: number };

/**
 * A container that ends with its pod: told to end when all those of earlier turns have ended. Sidecars come after the
 * others, the last one first.
 */
export interface StopInTurn {
  readonly container: ObservedContainer;
  readonly turn: number;
}

/**
 * What a pod needs now.
 *
 * - `sync`: walk the actions: stops first, all at once; then removals beside sandbox and containers. Look again at
 *   `wakeAt`.
 * - `finish`: the pod has ended; its containers stay for their logs, everything that runs is stopped, the surplus is
 *   removed.
 * - `kill`: the pod goes: stop every container in turn within the grace period, remove all, volumes, the API object.
 */
export type Plan =
  | { readonly type: 'sync'; readonly actions: readonly Action[]; readonly wakeAt: number | undefined }
  | { readonly type: 'finish'; readonly stop: readonly StopInTurn[]; readonly remove: readonly ObservedContainer[] }
  | { readonly type: 'kill'; readonly stop: readonly StopInTurn[]; readonly gracePeriodSeconds: number };
