import type { PriorityLevelConfiguration } from '../../generated/types.ts';

/** Kubernetes' defaults. */
export function defaultPriorityLevel({ spec: { limited, exempt } = {} }: PriorityLevelConfiguration): void {
  if (exempt) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (!limited) return;
  limited.nominalConcurrencyShares ??= 30;
  limited.lendablePercent ??= 0;
  const { queuing } = limited.limitResponse ?? {};
  if (!queuing) return;
  queuing.queues ||= 64;
  queuing.handSize ||= 8;
  queuing.queueLengthLimit ||= 50;
}
