import { isNotFound } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { timestamp } from '../../api/meta/time.ts';
import type { World } from './world.ts';

export interface PlayedNodesOptions {
  readonly names: readonly string[];
  /** Whether a pod ever becomes ready. */
  becomesReady(pod: Pod): boolean;
  /** How often, of all pods and steps, a running pod ends by itself; with this phase. */
  readonly ends?: { rate(): number; phase(pod: Pod): 'Succeeded' | 'Failed' };
}

/** Scheduler and agents in one: binds pods, runs them, and removes them when they are to go. */
export class PlayedNodes {
  readonly #world: World;
  readonly #options: PlayedNodesOptions;

  constructor(world: World, options: PlayedNodesOptions) {
    this.#world = world;
    this.#options = options;
  }

  async register(): Promise<void> {
    for (const name of this.#options.names) {
      const allocatable = { cpu: { string: '1000' }, memory: { string: '1000Gi' }, pods: { string: '10000' } };
      await this.#world.client.nodes.create({
        metadata: { name, labels: { 'kubernetes.io/hostname': name } },
        status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
      });
    }
  }

  /** One step: each pod goes on by at most one thing, or waits. */
  async step(): Promise<void> {
    const { chance } = this.#world;
    for (const pod of await this.#world.pods()) if (chance.next() < 0.5) await this.#advance(pod).catch(passOverGone);
  }

  async #advance(pod: Pod): Promise<void> {
    const { client, chance } = this.#world;
    const { namespace, name = '', uid = '' } = pod.metadata ?? {};
    const key = { namespace, name };
    const isLeaving = pod.metadata?.deletionTimestamp !== undefined;
    // What waits for a finalizer is seen to end, as agents say it before they let a pod go.
    if (isLeaving && pod.metadata?.finalizers?.length && pod.status?.phase === 'Running') await this.#end(pod, 'Failed');
    else if (isLeaving) await client.pods.delete(key, { gracePeriodSeconds: 0, preconditions: { uid } });
    else if (isFinished(pod)) return;
    else if (!pod.spec?.nodeName) await client.pods.bind(key, pinnedNode(pod) ?? chance.pick(this.#options.names));
    else if (pod.status?.phase !== 'Running') await this.#run(pod);
    else await this.#mayEnd(pod);
  }

  async #run(pod: Pod): Promise<void> {
    const isReady = this.#options.becomesReady(pod);
    await this.#patch(pod, {
      phase: 'Running',
      conditions: [this.#ready(isReady)],
      containerStatuses: [{ name: 'c', ready: isReady }],
    });
  }

  async #mayEnd(pod: Pod): Promise<void> {
    const { ends } = this.#options;
    if (ends && this.#world.chance.next() < ends.rate()) await this.#end(pod, ends.phase(pod));
    else if (!isPodReady(pod) && this.#options.becomesReady(pod)) await this.#run(pod);
  }

  async #end(pod: Pod, phase: 'Succeeded' | 'Failed'): Promise<void> {
    const terminated = { exitCode: phase === 'Failed' ? 1 : 0 };
    await this.#patch(pod, {
      phase,
      conditions: [this.#ready(false)],
      containerStatuses: [{ name: 'c', state: { terminated } }],
    });
  }

  #ready(isReady: boolean): object {
    const at = timestamp(new Date(this.#world.clock.now()));
    return {
      type: 'Ready',
      status: isReady ? 'True' : 'False',
      lastTransitionTime: new Date((at.seconds ?? 0) * 1000).toISOString(),
    };
  }

  async #patch({ metadata }: Pod, status: object): Promise<void> {
    const { namespace, name = '', uid } = metadata ?? {};
    const target = { namespace, name, subresource: 'status', type: 'strategic' } as const;
    await this.#world.client.pods.patch(target, { metadata: { uid }, status });
  }
}

/** The node that a pod's affinity names, as a DaemonSet's does. */
function pinnedNode({ spec }: Pod): string | undefined {
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms[0]?.matchFields?.[0]?.values?.[0];
}

function passOverGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
