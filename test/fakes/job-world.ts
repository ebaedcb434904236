import { ApiError, alreadyExists, conflict, invalid, notFound, permissionDenied, unavailable } from '../../api/errors/index.ts';
import type { Job, JobSpec, ObjectMeta, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { labelsOfPods } from '../../api/kinds/job/labels.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { objectKey } from '../../api/meta/key.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { Clock, IndexFunction, Informer } from '../../client/index.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import { createRandom, type Random } from './random.ts';

interface Change {
  readonly revision: number;
  readonly kind: 'Job' | 'Pod';
  readonly key: string;
  readonly next: ApiObject | undefined;
}

/** What a test checks of each write, after it has been carried out. */
export interface WorldChecks {
  created?(pod: Pod): void;
  statusWritten?(next: Job, before: Job): void;
  finalizerOff?(pod: Pod): void;
}

/** What a process of the controllers has of the world: copies that may be behind, and calls until it dies. */
export interface Process {
  readonly signal: AbortSignal;
  readonly jobs: Informer<Job> & { advance(revision: number): void };
  readonly pods: Informer<Pod> & { advance(revision: number): void };
  readonly podWrites: ReturnType<JobWorld['podWritesOf']>;
  readonly jobWrites: ReturnType<JobWorld['jobWritesOf']>;
  kill(): void;
}

export const faultless = { kill: 0, unanswered: 0, away: 0, refused: 0 };

/**
 * An API server's store of one Job and its pods, in memory and without any waiting, for controllers that are called
 * step by step: copies that are behind, calls that fail before or after they are carried out, processes that die
 * between any two calls. The server's rules are the real ones where they matter: versions, deletion, finalizers, the
 * Job's status.
 */
export class JobWorld {
  readonly random: Random;
  readonly events: string[] = [];
  /** How often each method was carried out. */
  readonly calls = new Map<string, number>();
  /** How likely a call goes wrong, and how. */
  faults = faultless;
  now = Date.UTC(2026, 0, 1);
  revision = 0;
  readonly #checks: WorldChecks;
  readonly #log: Change[] = [];
  readonly #objects = new Map<string, ApiObject>();
  #uids = 0;

  constructor(seed: number, checks: WorldChecks = {}) {
    this.random = createRandom(seed);
    this.#checks = checks;
  }

  readonly clock: Clock = {
    now: () => this.now,
    after: (ms, callback) => {
      this.now += ms;
      queueMicrotask(callback);
      return () => {};
    },
  };

  addJob(spec: JobSpec): Job {
    const uid = `job-${++this.#uids}`;
    const labels = labelsOfPods({ uid, name: 'work' });
    const job: Job = {
      metadata: { namespace: 'a', name: 'work', uid, generation: 1, creationTimestamp: this.#time() },
      spec: {
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
        template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } },
        ...spec,
      },
    };
    kindNamed('Job').defaults(job);
    return this.#store('Job', job);
  }

  job(): Job {
    return this.#objects.get('Job a/work') as Job;
  }

  changeJob(change: (job: Job) => void): void {
    const job = structuredClone(this.job());
    change(job);
    this.#store('Job', job);
  }

  removeJob(): void {
    this.#remove('Job', 'a/work');
  }

  pods(): Pod[] {
    return [...this.#objects].filter(([key]) => key.startsWith('Pod ')).map(([, object]) => object as Pod);
  }

  /** An agent or a person changes a pod. */
  changePod(pod: Pod, change: (pod: Pod) => void): void {
    const next = structuredClone(pod);
    change(next);
    this.#store('Pod', next);
  }

  /** As the server deletes a pod. */
  deletePod(pod: Pod, graceSeconds?: number): Pod {
    const { metadata = {} } = pod;
    const given = !pod.spec?.nodeName || isFinished(pod) ? 0 : (graceSeconds ?? 30);
    const grace = Math.min(given, metadata.deletionTimestamp ? (metadata.deletionGracePeriodSeconds ?? 0) : given);
    if (grace === 0 && !metadata.finalizers?.length) return this.#remove('Pod', objectKey(pod)) as Pod;
    const deletionTimestamp = secondsTimestamp(new Date(this.now + grace * 1000));
    return this.#store('Pod', { ...pod, metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: grace } });
  }

  /** A process with fresh copies. */
  start(indexers: { readonly jobs: Indexers<Job>; readonly pods: Indexers<Pod> }): Process {
    const stop = new AbortController();
    return {
      signal: stop.signal,
      jobs: this.#copy('Job', indexers.jobs),
      pods: this.#copy('Pod', indexers.pods),
      podWrites: this.podWritesOf(stop),
      jobWrites: this.jobWritesOf(stop),
      kill: () => stop.abort(),
    };
  }

  podWritesOf(stop: AbortController) {
    const found = (key: string): Pod => {
      const pod = this.#objects.get(`Pod ${key}`);
      if (!pod) throw notFound({ kind: 'Pod', name: key });
      return pod as Pod;
    };
    const keyOf = ({ namespace, name }: { namespace?: string | undefined; name: string }): string => `${namespace}/${name}`;
    return {
      get: (key: { namespace?: string | undefined; name: string }) => this.#call(stop, 'get', () => found(keyOf(key))),
      create: (pod: Pod) =>
        this.#call(stop, 'create', () => {
          if (this.#objects.has(`Pod ${objectKey(pod)}`)) throw alreadyExists({ kind: 'Pod', name: objectKey(pod) });
          const metadata = { ...pod.metadata, uid: `pod-${++this.#uids}`, creationTimestamp: this.#time() };
          const made = this.#store('Pod', { ...pod, metadata, status: { phase: 'Pending' } });
          this.#checks.created?.(made);
          return made;
        }),
      patch: (target: { namespace?: string | undefined; name: string }, patch: object) =>
        this.#call(stop, 'patch', () => this.#patchPod(found(keyOf(target)), (patch as { metadata: PatchedMetadata }).metadata)),
      delete: (key: { namespace?: string | undefined; name: string }, options: { preconditions?: { uid?: string } } = {}) =>
        this.#call(stop, 'delete', () => {
          const pod = found(keyOf(key));
          if (options.preconditions?.uid && options.preconditions.uid !== pod.metadata?.uid)
            throw conflict(subjectOf(pod), 'another uid');
          return this.deletePod(pod);
        }),
    };
  }

  jobWritesOf(stop: AbortController) {
    return {
      get: () =>
        this.#call(stop, 'get', () => {
          const job = this.job();
          if (!job) throw notFound({ kind: 'Job', name: 'work' });
          return job;
        }),
      updateStatus: (job: Job) =>
        this.#call(stop, 'updateStatus', () => {
          const before = this.job();
          if (!before) throw notFound({ kind: 'Job', name: 'work' });
          if (before.metadata?.resourceVersion !== job.metadata?.resourceVersion) throw conflict(subjectOf(before), 'changed');
          const next = { ...before, ...(job.status && { status: structuredClone(job.status) }) };
          const violations = kindNamed('Job').validateStatusUpdate?.(next, before) ?? [];
          if (violations.length > 0) throw invalid(subjectOf(before), violations);
          const stored = this.#store('Job', next);
          this.#checks.statusWritten?.(stored, before);
          return stored;
        }),
    };
  }

  #patchPod(pod: Pod, { uid, resourceVersion, finalizers, ownerReferences, ...other }: PatchedMetadata): Pod {
    const { metadata = {} } = pod;
    if (uid !== undefined && uid !== metadata.uid) throw conflict(subjectOf(pod), 'another uid');
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) throw conflict(subjectOf(pod), 'changed');
    const off = other['$deleteFromPrimitiveList/finalizers'] ?? [];
    const left = (finalizers ?? metadata.finalizers ?? []).filter((each) => !off.includes(each));
    if (left.length < (metadata.finalizers?.length ?? 0)) this.#checks.finalizerOff?.(pod);
    const next = { ...pod, metadata: { ...metadata, finalizers: left, ...(ownerReferences && { ownerReferences }) } };
    if (metadata.deletionTimestamp && !metadata.deletionGracePeriodSeconds && left.length === 0) {
      this.#objects.set(`Pod ${objectKey(pod)}`, next);
      return this.#remove('Pod', objectKey(pod)) as Pod;
    }
    return this.#store('Pod', next);
  }

  /** One call of a process; it answers the metadata alone. */
  async #call<T extends ApiObject>(stop: AbortController, method: string, act: () => T): Promise<T> {
    await null;
    const isDead = (): boolean => {
      if (this.random.chance(this.faults.kill)) stop.abort();
      return stop.signal.aborted;
    };
    if (isDead()) throw new ApiError('CANCELLED', 'Cancelled', 'dead');
    if (this.random.chance(this.faults.away)) throw unavailable('away');
    if (this.random.chance(this.faults.refused)) throw permissionDenied('exceeded quota');
    const { metadata, ...rest } = act();
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    await null;
    if (isDead()) throw new ApiError('CANCELLED', 'Cancelled', 'dead');
    if (this.random.chance(this.faults.unanswered)) throw unavailable('the answer is lost');
    return (method === 'get' ? { metadata, ...rest } : { metadata }) as T;
  }

  #store<T extends ApiObject>(kind: 'Job' | 'Pod', object: T): T {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.revision) } };
    this.#objects.set(`${kind} ${objectKey(object)}`, stored);
    this.#log.push({ revision: this.revision, kind, key: objectKey(object), next: stored });
    return stored;
  }

  #remove(kind: 'Job' | 'Pod', key: string): ApiObject {
    const old = this.#objects.get(`${kind} ${key}`)!;
    this.#objects.delete(`${kind} ${key}`);
    this.#log.push({ revision: ++this.revision, kind, key, next: undefined });
    return { ...old, metadata: { ...old.metadata, resourceVersion: String(this.revision) } };
  }

  #copy<T extends ApiObject>(kind: 'Job' | 'Pod', indexers: Indexers<T>) {
    const lister = createIndexer<T>(indexers);
    let shown = 0;
    let read = 0;
    const advance = (revision: number): void => {
      for (; read < this.#log.length && this.#log[read]!.revision <= revision; read++) {
        const { kind: of, key, next } = this.#log[read]!;
        if (of !== kind) continue;
        if (next) lister.set(next as T);
        else lister.delete(key);
      }
      shown = Math.max(shown, Math.min(revision, this.revision));
    };
    advance(this.revision);
    const informer = {
      lister,
      advance,
      shows: (version: string) => Number(version) <= shown,
      addHandler: () => () => {},
      hasSynced: () => true,
      waitForSync: async () => {},
      relist: async () => {},
      run: async () => {},
    };
    return informer as Informer<T> & { advance(revision: number): void };
  }

  #time() {
    return secondsTimestamp(new Date(this.now));
  }
}

type Indexers<T> = Readonly<Record<string, IndexFunction<T>>>;
type PatchedMetadata = ObjectMeta & { '$deleteFromPrimitiveList/finalizers'?: string[] };

const subjectOf = ({ metadata }: ApiObject) => ({ kind: 'Object', name: metadata?.name ?? '' });
