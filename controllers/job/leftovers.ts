import { isNotFound } from '../../api/errors/index.ts';
import type { Job, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { objectKey } from '../../api/meta/key.ts';
import { createLru } from '../../api/meta/lru.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { jobTrackingFinalizer } from '../../api/meta/workload-names.ts';
import type { Clock, Informer, ResourceClient, ResourceWrites } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source, type Wake } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { namespaceIndexers, ownedIndexers, ownerKey } from '../owned-pods/pod-index.ts';
import { removeFinalizer } from '../owned-pods/remove-finalizer.ts';
import { endOf, isManagedElsewhere, isTracked } from './job-facts.ts';
import { jobPodIndexers, jobUidOf } from './pods-of-jobs.ts';

export interface LeftoversOptions {
  readonly jobs: Informer<Job>;
  /** With `jobPodIndexers`. */
  readonly pods: Informer<Pod>;
  /** Asked before pods of a Job that the informer does not know are let go: it may be behind. */
  readonly client: Pick<ResourceClient<Job>, 'get'>;
  readonly writes: Pick<ResourceWrites<Pod>, 'patch'>;
  readonly clock: Clock;
}

/** So many pods are let go at a time. */
const batch = 500;
const againMs = 100;
/** Jobs that are known to be gone; of more, the server is asked once more. */
const rememberedSize = 1_024;

/**
 * Lets pods go that no Job will count any more: their Job is gone or has ended, or they have no controller. Otherwise
 * the finalizer would keep them for ever. Keys: "pod/NAMESPACE/NAME" and "job/NAMESPACE/NAME/UID".
 */
export class JobLeftovers implements Controller {
  readonly name = 'job-leftovers';
  readonly sources: readonly Source[];
  readonly #options: LeftoversOptions;
  readonly #gone = createLru<true>(rememberedSize);

  constructor(options: LeftoversOptions) {
    const { jobs, pods } = options;
    this.#options = options;
    const endings: Source = {
      waitForSync: (signal) => jobs.waitForSync(signal),
      connect: (wake) => this.#connect(wake),
    };
    this.sources = [changesOf(pods, (pod) => this.#keysOf(pod)), endings];
  }

  /** Pods of a Job that goes on are the Job's. */
  #keysOf(pod: Pod): readonly string[] {
    if (!isTracked(pod)) return [];
    const { namespace = '' } = pod.metadata ?? {};
    const controller = controllerOf(pod);
    if (!controller) return [`pod/${objectKey(pod)}`];
    const uid = jobUidOf(pod);
    const job = this.#options.jobs.lister.get(`${namespace}/${controller.name}`);
    if (uid === undefined || (job?.metadata?.uid === uid && isCounting(job))) return [];
    return [`job/${namespace}/${controller.name}/${uid}`];
  }

  #connect(wake: Wake): () => void {
    const tell = (job: Job): void => {
      const { namespace, uid = '' } = job.metadata ?? {};
      if (this.#options.pods.lister.isInIndex('trackedJobUid', ownerKey(namespace, uid))) wake(`job/${objectKey(job)}/${uid}`);
    };
    const tellEnded = (job: Job): void => {
      if (!isCounting(job)) tell(job);
    };
    return this.#options.jobs.addHandler({ name: this.name, onAdd: tellEnded, onUpdate: tellEnded, onDelete: tell });
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const [type, namespace = '', name = '', uid = ''] = key.split('/');
    const { pods } = this.#options;
    if (type === 'pod') {
      const pod = pods.lister.get(`${namespace}/${name}`);
      if (pod && isTracked(pod) && !controllerOf(pod)) await this.#release([pod], signal);
      return undefined;
    }
    if (!(await this.#isOver({ namespace, name, uid }, signal))) return undefined;
    const left = pods.lister.byIndex('trackedJobUid', ownerKey(namespace, uid));
    await this.#release(left.slice(0, batch), signal);
    return left.length > batch ? { afterMs: againMs } : undefined;
  }

  /** Whether no controller counts pods for the Job of this uid. */
  async #isOver(
    at: { readonly namespace: string; readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { namespace, name, uid } = at;
    const { jobs, client } = this.#options;
    const known = jobs.lister.get(`${namespace}/${name}`);
    if (known?.metadata?.uid === uid) return !isCounting(known);
    if (this.#gone.get(ownerKey(namespace, uid))) return true;
    try {
      const present = await client.get({ namespace, name }, { signal });
      if (present.metadata?.uid === uid) return !isCounting(present);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#gone.set(ownerKey(namespace, uid), true);
    return true;
  }

  async #release(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { writes, clock } = this.#options;
    await Promise.all(pods.map((pod) => removeFinalizer(writes, pod, jobTrackingFinalizer, { clock, signal })));
  }
}

/** Whether pods of the Job are still to be counted; of one that another controller manages that is unknown. */
const isCounting = (job: Job): boolean => isManagedElsewhere(job) || endOf(job) === undefined;

export const jobLeftovers: ControllerDefinition = {
  name: 'job-leftovers',
  component: 'job-controller',
  watches: {
    Job: { whole: true, indexers: { ...ownedIndexers, ...namespaceIndexers } },
    Pod: { indexers: jobPodIndexers },
  },
  create: ({ informer, client, writer, clock }) =>
    new JobLeftovers({
      jobs: informer('Job'),
      pods: informer('Pod'),
      client: client.resource(kindNamed('Job')),
      writes: writer.resource('Pod'),
      clock,
    }),
};
