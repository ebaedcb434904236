import type { MetricsRegistry } from '../api/metrics/index.ts';
import type { Client, Clock, Logger } from '../client/index.ts';
import type { SchedulerElection } from './leadership.ts';
import type { ProfilePlan } from './profile.ts';

/** What `runScheduler` works with. */
export interface RunSchedulerOptions {
  readonly client: Client;
  /** Pods with this `spec.schedulerName` are placed. Default "default-scheduler". */
  readonly schedulerName?: string;
  /** Instead of the usual profile under that name: those of a configuration, see readSchedulerConfig. At least one. */
  readonly profiles?: readonly ProfilePlan[] | undefined;
  /** From 0 (included) to 1 (excluded): chooses among equally good nodes. */
  readonly random?: () => number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
  /**
   * For several of which one works: the others follow the cluster and take over. Absent: it works at once,
   * without leader election.
   */
  readonly leaderElection?: SchedulerElection | undefined;
  /** Called whenever it begins to place pods. */
  readonly started?: () => void;
}
