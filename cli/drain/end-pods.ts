import { asApiError, isConflict, isNotFound, isUnavailable } from '../../api/errors/index.ts';
import type { DeleteOptions, Pod } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { Client, Clock, Informer } from '../../client/index.ts';
import { pause } from '../../client/index.ts';

export interface EndPodsOptions {
  readonly client: { readonly pods: Pick<Client['pods'], 'evict' | 'delete'> };
  /** The pods of the node, followed. */
  readonly pods: Pick<Informer<Pod>, 'addHandler' | 'lister'>;
  /** Deletes them, whatever budgets say. */
  readonly disableEviction: boolean;
  readonly deleteOptions: DeleteOptions;
  readonly clock: Clock;
  readonly report: EndReport;
}

/** What a drain tells of each pod while it goes on. */
export interface EndReport {
  begins(pod: Pod): void;
  /** It cannot be ended now, and why; it is tried again. Once for each reason. */
  waits(pod: Pod, why: string): void;
  ended(pod: Pod): void;
  /** It cannot be ended at all. */
  failed(pod: Pod, error: unknown): void;
}

/** Between two attempts at a pod whose budget allows no eviction now: kubectl's figure. */
const retryMs = 5_000;

/**
 * Ends the pods side by side, each as soon as its budget allows, and waits until they are gone. Resolves with those
 * that are not when the signal aborts, or that cannot be ended; never rejects.
 */
export async function endPods(victims: readonly Pod[], options: EndPodsOptions, signal: AbortSignal): Promise<Pod[]> {
  const gone = followEnds(options.pods);
  try {
    const left = await Promise.all(victims.map(async (pod) => ((await endOne(pod)) ? undefined : pod)));
    return left.filter((pod) => pod !== undefined);
  } finally {
    gone.stop();
  }

  async function endOne(pod: Pod): Promise<boolean> {
    const { report } = options;
    report.begins(pod);
    if (!(await askUntilTaken(pod))) return false;
    if (!(await gone.wait(pod, signal))) return false;
    report.ended(pod);
    return true;
  }

  async function askUntilTaken(pod: Pod): Promise<boolean> {
    let told: string | undefined;
    while (!signal.aborted) {
      try {
        await ask(pod);
        return true;
      } catch (error) {
        if (isNotFound(error) || isConflict(error)) return true;
        if (signal.aborted) return false;
        if (asApiError(error)?.reason !== 'DisruptionBudget' && !isUnavailable(error)) {
          options.report.failed(pod, error);
          return false;
        }
        const why = asApiError(error)?.message ?? '';
        if (why !== told) options.report.waits(pod, why);
        told = why;
        await pause(retryMs, signal, options.clock);
      }
    }
    return false;
  }

  async function ask({ metadata = {} }: Pod): Promise<void> {
    const { namespace, name = '', uid } = metadata;
    const { client, deleteOptions, disableEviction } = options;
    const { pods } = client;
    if (disableEviction) await pods.delete({ namespace, name }, { ...deleteOptions, preconditions: { uid } }, { signal });
    else await pods.evict({ namespace, name, uid }, deleteOptions, { signal });
  }
}

/** Tells of pods when they are gone; another one of the name is another. */
function followEnds(pods: EndPodsOptions['pods']) {
  const waiting = new Map<string, () => void>();
  const tell = ({ metadata }: Pod): void => waiting.get(metadata?.uid ?? '')?.();
  const onUpdate = (next: Pod, old: Pod): void => {
    if (next.metadata?.uid !== old.metadata?.uid) tell(old);
  };
  const stop = pods.addHandler({ name: 'drain', onUpdate, onDelete: tell });
  return {
    stop,
    async wait(pod: Pod, signal: AbortSignal): Promise<boolean> {
      const { uid = '' } = pod.metadata ?? {};
      const isThere = () => pods.lister.get(objectKey(pod))?.metadata?.uid === uid;
      if (!isThere()) return true;
      if (signal.aborted) return false;
      await new Promise<void>((resolve) => {
        const finish = (): void => {
          signal.removeEventListener('abort', finish);
          waiting.delete(uid);
          resolve();
        };
        waiting.set(uid, finish);
        signal.addEventListener('abort', finish);
      });
      return !isThere();
    },
  };
}
