import { setTimeout as delay } from 'node:timers/promises';
import { isConflict, isNotFound } from '../../../api/errors/index.ts';
import { isFinished } from '../../../api/kinds/pod/lifecycle.ts';
import type { Client, Node, Pod } from '../../../client/index.ts';
import { node, pod } from '../../builders/index.ts';
import type { PlacementHistory } from '../../integration/placement-history.ts';
import { addNode, addPod } from '../../integration/scheduler-cluster.ts';
import type { Chance } from '../random.ts';

export interface Unrest {
  readonly client: Client;
  readonly history: PlacementHistory;
  readonly chance: Chance;
  readonly signal: AbortSignal;
}

const sizes = ['100m', '250m', '500m', '1', '1500m'];
const atOnce = 16;
/** Longer than the longest back-off. */
const longestLullMs = 15_000;

export const machine = (index: number): Node => node(`n${index}`).capacity({ cpu: '4', memory: '8Gi', pods: '12' }).build();

/** Creates so many pods of different sizes and importance, of the schedulers in turn. */
export async function createPods({ client, chance }: Unrest, count: number, schedulerNames: readonly string[]): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      const schedulerName = schedulerNames[i % schedulerNames.length]!;
      const priorityClassName = chance.below(20) === 0 ? 'important' : '';
      const spec = { schedulerName, priorityClassName, terminationGracePeriodSeconds: 0 };
      const requests = { cpu: chance.pick(sizes), memory: `${64 * (1 + chance.below(12))}Mi` };
      await addPod({ client }, pod(`p${i}`).requests(requests).spec(spec));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/**
 * What agents do to pods that were bound: most finish, some are refused by the agent, some are deleted.
 * Each pod has one fate.
 */
export async function runAgents({ client, history, chance, signal }: Unrest, count: (what: string) => void): Promise<void> {
  const judged = new Set<string>();
  const fates = {
    stays: async () => {},
    finishes: (each: Pod) => setPhase(client, each, { phase: 'Succeeded' }),
    rejected: (each: Pod) => setPhase(client, each, { phase: 'Failed', reason: 'OutOfcpu' }),
    deleted: (each: Pod) => remove(client, each),
  };
  while (!signal.aborted) {
    for (const each of [...history.pods.values()]) {
      const uid = each.metadata?.uid ?? '';
      if (!each.spec?.nodeName || judged.has(uid) || isFinished(each)) continue;
      judged.add(uid);
      const fate = chance.pick(['stays', 'finishes', 'finishes', 'rejected', 'deleted'] as const);
      count(fate);
      await ignoringRaces(() => fates[fate](each));
    }
    await delay(20);
  }
}

/**
 * Waits until so many more pods were bound: what disturbs by the clock leaves a slow machine no time to do anything.
 * With nothing to bind for a while it goes on, too.
 */
async function work({ history, signal }: Unrest, bindings: number): Promise<void> {
  const from = history.bindings;
  const isEnough = () => history.bindings >= from + bindings || signal.aborted;
  await history.until(isEnough, longestLullMs).catch(() => {});
}

/** Takes nodes away, and brings them back as new ones of the same name. */
export async function loseNodes(unrest: Unrest, nodes: number, count: (what: string) => void): Promise<void> {
  const { client, chance, signal } = unrest;
  while (!signal.aborted) {
    await work(unrest, 10 + chance.below(40));
    const index = chance.below(nodes);
    await ignoringRaces(() => client.nodes.delete({ name: `n${index}` }));
    count('nodes lost');
    await delay(chance.below(300));
    await addNode({ client }, machine(index));
  }
}

/** Deletes the pods of nodes that are gone, as the controllers do. */
export async function collectPods({ client, history, signal }: Pick<Unrest, 'client' | 'history' | 'signal'>): Promise<void> {
  while (!signal.aborted) {
    for (const each of [...history.pods.values()])
      if (each.spec?.nodeName && !history.nodes.has(each.spec.nodeName)) await ignoringRaces(() => remove(client, each));
    await delay(50);
  }
}

/** Starts a scheduler again and again, each time in the middle of its work. */
export async function restartScheduler(
  unrest: Unrest,
  start: () => () => Promise<void>,
  count: (what: string) => void,
): Promise<void> {
  const { chance, signal } = unrest;
  let stop = start();
  while (!signal.aborted) {
    await work(unrest, 20 + chance.below(150));
    await stop();
    count('restarts');
    stop = start();
  }
}

async function remove(client: Client, { metadata = {} }: Pod): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  await client.pods.delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
}

async function setPhase(client: Client, { metadata = {} }: Pod, status: object): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  await client.pods.patch({ namespace, name, subresource: 'status' }, { metadata: { uid }, status });
}

/** Another writer may have deleted it meanwhile. */
async function ignoringRaces(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
