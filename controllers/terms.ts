import { setMaxListeners } from 'node:events';
import type { Kind } from '../api/kinds/kind.ts';
import type { Growing } from '../api/meta/growing-set.ts';
import type { LeaseTerm } from '../api/meta/lease-term.ts';
import { controllersLease } from '../api/meta/well-known.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import type { LinkedAbort } from '../client/abort.ts';
import {
  type Client,
  type Clock,
  createEventRecorder,
  type Logger,
  runLeaderElected,
  stderrLogger,
  systemClock,
} from '../client/index.ts';
import { runController } from './controller.ts';
import type { ControllerDefinition, ControllerSettings } from './definition.ts';
import { createInformers, type Informers } from './informers.ts';
import { createOutage } from './outage.ts';

/** How controllers find out which of several processes runs them. */
export interface ControllersElection {
  /** Of this process, and of no other that may run at the same time (default: the machine's name and a random part). */
  readonly identity?: string | undefined;
  /** Told of the term that this process leads, and that it leads no more: for the `leaseTerm` of the client. */
  readonly onTerm: (term: LeaseTerm | undefined) => void;
}

export interface RunControllersOptions extends ControllerSettings {
  readonly client: Client;
  /** Absent: the caller knows that no other process runs controllers. */
  readonly election?: ControllersElection | undefined;
  /** Names of controllers, "*" for all, "-NAME" for all but one (default: all). Throws RangeError for unknown names. */
  readonly select?: readonly string[] | undefined;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
  /**
   * Kinds that are neither Berth's own nor of a CustomResourceDefinition, as they come and go; they are owned, and own,
   * and go with their namespaces. Absent: there are none.
   */
  readonly otherKinds?: Growing<Kind>;
}

const defaultComponent = 'controllermanager';
/** Informers, queues, and calls under way, of which each worker may have hundreds at once; more would be a leak. */
export const mostListeners = 10_000;
/** A standby takes over at most 15 s after the last sign of life of the leader. */
const electionTimes = { leaseDurationMs: 10_000, renewDeadlineMs: 6_000, retryPeriodMs: 2_000 };

/** What all terms of a process share. */
export interface Room {
  readonly options: RunControllersOptions;
  readonly chosen: readonly ControllerDefinition[];
  readonly informers: Informers;
  readonly base: { readonly clock: Clock; readonly logger: Logger };
  leave(): void;
}

export function openRoom(chosen: readonly ControllerDefinition[], options: RunControllersOptions): Room {
  const { client, clock = systemClock, logger = stderrLogger, otherKinds } = options;
  const base = { clock, logger };
  const informers = createInformers(client, chosen, base);
  const leave = otherKinds?.follow(informers.add, informers.remove) ?? (() => {});
  return { options, chosen, informers, base, leave };
}

/**
 * Runs the controllers in terms, or, without an election, in one that lasts. `own` aborts when it ends by itself.
 */
export async function runTerms(room: Room, own: LinkedAbort): Promise<void> {
  const { election, client } = room.options;
  try {
    if (!election) return await runTerm(room, own.signal);
    const { identity, onTerm } = election;
    const candidate = { leases: client.leases, name: controllersLease, identity, isFenced: true, ...electionTimes, ...room.base };
    const lead = async (signal: AbortSignal, term: LeaseTerm): Promise<void> => {
      setMaxListeners(mostListeners, signal);
      onTerm(term);
      try {
        await room.informers.relist(signal);
        if (!signal.aborted) await runTerm(room, signal);
      } finally {
        onTerm(undefined);
      }
    };
    while (!own.signal.aborted) await runLeaderElected(candidate, lead, own.signal);
  } finally {
    own.abort();
  }
}

async function runTerm({ options, chosen, informers, base }: Room, signal: AbortSignal): Promise<void> {
  const { client, metrics } = options;
  const writer = client.bulkWriter({ answers: 'metadata' });
  const shared = {
    client,
    writer,
    outage: createOutage(base.clock),
    settings: options,
    informer: informers.of,
    scoped: informers.scoped,
    followed: informers.followed,
    ...base,
  };
  const recorders = chosen.map(({ component = defaultComponent }) =>
    createEventRecorder({ client: writer.resource('Event'), component, ...base }),
  );
  const controllers = chosen.flatMap((definition, at) => definition.create({ ...shared, events: recorders[at]! }) ?? []);
  await Promise.all(controllers.map((controller) => runController(controller, { ...base, metrics }, signal)));
  await Promise.all(recorders.map((events) => events.flush()));
  await writer.close();
}
