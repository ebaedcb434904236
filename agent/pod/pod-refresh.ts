import type { Clock } from '../../client/clock.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { allSeenAt } from './own-clock.ts';
import { advance, type PodRecord } from './pod-record.ts';
import type { TerminationMessages } from './termination-messages.ts';

export interface RefreshOptions {
  readonly runtime: Pick<ContainerRuntime, 'list'>;
  readonly messages: Pick<TerminationMessages, 'collect'>;
  readonly clock: Clock;
}

/**
 * Lists a pod's containers anew and reads what those that ended left to say. Throws RuntimeError; the record stays
 * stale then.
 */
export type Refresh = (record: PodRecord) => Promise<void>;

export function createRefresh({ runtime, messages, clock }: RefreshOptions): Refresh {
  return async (record) => {
    advance(record, { type: 'list' });
    try {
      record.containers = allSeenAt(clock.now(), await runtime.list(record.uid), record.containers);
      await messages.collect(record);
    } catch (error) {
      advance(record, { type: 'hint' });
      throw error;
    }
  };
}
