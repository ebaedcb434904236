import { isPermissionDenied } from '../../api/errors/index.ts';
import type { Explanation, LabelSelector } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { type Labels, labelSelectorMatches } from '../../api/meta/labels.ts';
import type { JsonObject, ObjectKey } from '../../client/index.ts';
import { readJobsOf } from '../describe/job.ts';
import { type Tree, text, tree } from '../describe/json.ts';
import { createLogTails, type LogTails } from '../describe/log-tails.ts';
import { compareEvents } from '../events/event-times.ts';
import { listAllJson } from '../get/listing.ts';
import { describeFailure } from '../program/failure.ts';
import type { Session } from '../session.ts';
import { type OwnedPods, readOwnedPods } from '../workload/owned-pods.ts';
import { readEventsOf } from '../workload/read-troubles.ts';
import { explainTroubles } from '../workload/trouble-tails.ts';
import { groupTroubles, type Trouble } from '../workload/troubles.ts';
import { autoscaler } from './autoscaler.ts';
import type { WorkloadFacts } from './workload-facts.ts';

/** The kinds that `why` explains, beside pods. */
export const explainedKinds: readonly string[] = [
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'ReplicationController', 'Job', 'CronJob', autoscaler],
];

/** A pod that has been on its way for so long is looked at more closely. */
const slowMs = 10_000;
/** Of so many troubles the events of a pod are read. */
const mostLookedAt = 5;

/** Reads all that an answer is made of. Throws NOT_FOUND; what only says more may be missing. */
export async function readWorkloadFacts(session: Session, kind: Kind, key: ObjectKey, now: number): Promise<WorkloadFacts> {
  const object = await session.client.objects.get(kindWord(kind), key);
  const reader = new FactReader(session, now);
  if (kind.kind === autoscaler) return await reader.autoscaler(object);
  return kind.kind === 'CronJob' ? await reader.cronJob(object) : await reader.workload(kind, object);
}

const withoutPods = { troubles: [], oldTroubles: [], pods: [], podEvents: new Map(), budgets: [] } as const;

class FactReader {
  readonly #session: Session;
  readonly #now: number;
  readonly #logTails: LogTails;

  constructor(session: Session, now: number) {
    this.#session = session;
    this.#now = now;
    this.#logTails = createLogTails(session.client.pods);
  }

  async workload(kind: Kind, object: JsonObject): Promise<WorkloadFacts> {
    const { objects } = this.#session.client;
    const owned = await readOwnedPods(objects, kind, object);
    const [about, budgets] = await Promise.all([this.#eventsOf([object, owned.newSet]), this.#budgetsOf(object)]);
    return { ...(await this.#ofPods(owned)), kind: kind.kind, object, events: about, budgets, now: this.#now };
  }

  /** Its last job says how it goes. */
  async cronJob(object: JsonObject): Promise<WorkloadFacts> {
    const { jobs } = await readJobsOf(this.#session.client.objects, object);
    const last = jobs.at(-1);
    const [events, lastJob] = await Promise.all([
      this.#eventsOf([object]),
      last === undefined ? undefined : this.workload(kindNamed('Job') as Kind, last),
    ]);
    return { ...withoutPods, kind: 'CronJob', object, events, lastJob, now: this.#now };
  }

  /** Its status says what it found of its target. */
  async autoscaler(object: JsonObject): Promise<WorkloadFacts> {
    return { ...withoutPods, kind: autoscaler, object, events: await this.#eventsOf([object]), now: this.#now };
  }

  async #ofPods({ pods, current }: OwnedPods) {
    const present = groupTroubles(current, this.#now);
    const before = groupTroubles(
      pods.filter((pod) => !current.includes(pod)),
      this.#now,
    ).filter(({ type }) => type !== 'starting');
    const [troubles, oldTroubles, podEvents, scheduling] = await Promise.all([
      explainTroubles(present, this.#logTails),
      explainTroubles(before, this.#logTails),
      this.#podEvents(present),
      this.#scheduling(present),
    ]);
    return { troubles, oldTroubles, pods: current, podEvents, scheduling };
  }

  async #eventsOf(of: readonly (Tree | undefined)[]): Promise<Tree[]> {
    const there = of.filter((each) => each !== undefined);
    return (await Promise.all(there.map((each) => this.#orNone(readEventsOf(this.#session.client.objects, each))))).flat();
  }

  /** Warnings that say more than a pod's status: which probe failed and how, which volume is not there. */
  async #podEvents(troubles: readonly Trouble[]): Promise<Map<string, readonly Tree[]>> {
    const looked = troubles.filter((trouble) => this.#saysMore(trouble)).slice(0, mostLookedAt);
    const found = await Promise.all(
      looked.map(async ({ key, type, pods }) => {
        const events = (await this.#eventsOf([pods[0]])).filter((event) => event.type === 'Warning');
        const wanted = type === 'starting' ? events : events.filter((event) => event.reason === 'Unhealthy');
        return [key, newestOfEach(wanted)] as const;
      }),
    );
    return new Map(found);
  }

  #saysMore({ type, since }: Trouble): boolean {
    return type === 'unready' || type === 'crash' || (type === 'starting' && this.#now - since > slowMs);
  }

  /** What the scheduler says of one pod that has no node. */
  async #scheduling(troubles: readonly Trouble[]): Promise<Explanation | { readonly silent: string } | undefined> {
    const unplaced = troubles
      .filter(({ type, since }) => type === 'unschedulable' || (type === 'starting' && this.#now - since > slowMs))
      .flatMap(({ pods }) => pods)
      .find((pod) => text(pod, 'spec', 'nodeName') === '');
    if (!unplaced) return undefined;
    const key = { namespace: text(unplaced, 'metadata', 'namespace'), name: text(unplaced, 'metadata', 'name') };
    try {
      return await this.#session.client.placements.why({ ...key, nodeLimit: 0 });
    } catch (error) {
      return { silent: describeFailure(error) };
    }
  }

  async #budgetsOf(object: Tree): Promise<JsonObject[]> {
    const labels = tree(object, 'spec', 'template', 'metadata', 'labels') as Labels;
    const scope = { namespace: text(object, 'metadata', 'namespace') };
    const all = await this.#orNone(listAllJson(this.#session.client.objects, kindNamed('PodDisruptionBudget'), scope));
    return all.filter((budget) => labelSelectorMatches(tree(budget, 'spec', 'selector') as LabelSelector, labels));
  }

  /** What the caller may not read is left out of the answer. */
  async #orNone<T>(reading: Promise<T[]>): Promise<T[]> {
    return await reading.catch((error: unknown) => {
      if (isPermissionDenied(error)) return [];
      throw error;
    });
  }
}

/** The newest event of each reason, and of each kind of probe ("Liveness probe failed: ..."), at most three. */
export function newestOfEach(events: readonly Tree[]): Tree[] {
  const newest = new Map<string, Tree>();
  for (const event of events.toSorted(compareEvents)) {
    const [probe] = text(event, 'reason') === 'Unhealthy' ? text(event, 'message').split(':') : [];
    const key = `${text(event, 'reason')} ${probe ?? ''}`;
    newest.delete(key);
    newest.set(key, event);
  }
  return [...newest.values()].slice(-3);
}
