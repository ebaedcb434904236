import type { Probe } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { CheckResult } from './check-result.ts';
import { type Count, countResult } from './count-result.ts';

export type ProbeKind = 'startup' | 'liveness' | 'readiness';

export interface ProbeWorkerOptions {
  readonly probe: Probe;
  /** What holds before the first result. */
  readonly verdict: boolean;
  /** How long to wait before the first time. */
  readonly firstInMs: number;
  /** Whether to look more often in the first period, for a success only: see `startProbe`. */
  readonly eager: boolean;
  readonly check: (timeoutMs: number, signal: AbortSignal) => Promise<CheckResult>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of each result, but for the failures of eager looks. */
  readonly onResult: (result: CheckResult, count: Count) => void;
}

/** Looks at one container in one way, over and over, until it is stopped. */
export interface ProbeWorker {
  stop(): void;
}

// Probes of containers that were started together drift apart, so that not all of them are due in one moment; on
// average it is the period.
const jitter = 0.1;
const firstEagerMs = 1_000;

/**
 * The first look comes after `firstInMs`, the next a period after the one before began; a check that takes longer than
 * the period is not overlapped, the next comes when it has ended. At most one timer or one check is under way.
 *
 * An eager worker fills its first period with looks after 1, 2, 4, ... seconds, so that what starts fast is noticed
 * soon. Their failures count for nothing and are not told: what is not up yet has its full number of periods, as in
 * Kubernetes, where the first probe comes somewhere in the first period.
 */
export function startProbe(options: ProbeWorkerOptions): ProbeWorker {
  const { probe, clock, random } = options;
  const periodMs = (probe.periodSeconds ?? 10) * 1000;
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  const abort = new AbortController();
  let count: Count = { last: undefined, inRow: 0, verdict: options.verdict };
  /** How long the next eager look waits; undefined when there are none any more. */
  let eagerMs = options.eager ? firstEagerMs : undefined;
  let eagerLeftMs = periodMs;
  let cancel = clock.after(options.firstInMs, () => void look());

  async function look(): Promise<void> {
    const beganAt = clock.now();
    const result = await options.check(timeoutMs, abort.signal);
    if (abort.signal.aborted) return;
    const tookMs = Math.max(0, clock.now() - beganAt);
    const waitMs = eagerMs !== undefined && result.outcome === 'failure' ? waitEagerly(eagerMs) : counted(result);
    if (abort.signal.aborted) return;
    cancel = clock.after(Math.max(0, waitMs - tookMs), () => void look());
  }

  function waitEagerly(ms: number): number {
    const waitMs = Math.min(ms, eagerLeftMs);
    eagerLeftMs -= waitMs;
    eagerMs = eagerLeftMs > 0 ? ms * 2 : undefined;
    return waitMs;
  }

  function counted(result: CheckResult): number {
    eagerMs = undefined;
    if (result.outcome !== 'error') count = countResult(count, result.outcome !== 'failure', probe);
    options.onResult(result, count);
    return periodMs * (1 + jitter * (random() - 0.5));
  }

  return {
    stop() {
      cancel();
      abort.abort();
    },
  };
}

/**
 * From now to the first time. A clock that was set back must not turn seconds into hours:
 * the wait is bounded by the delay itself.
 */
export function initialDelayMs({ initialDelaySeconds = 0 }: Probe, startedAtMs: number, nowMs: number): number {
  const delayMs = initialDelaySeconds * 1000;
  return Math.max(0, Math.min(delayMs, startedAtMs + delayMs - nowMs));
}
