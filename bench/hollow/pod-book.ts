import type { Pod } from '../../api/generated/types.ts';
import { resourceAmount } from '../../api/kinds/pod/resources.ts';
import type { Logger } from '../../client/logger.ts';
import type { PodClient } from '../../client/services/pod-client.ts';
import type { Page, WatchEvent } from '../../client/services/resource-client.ts';
import { type Behaviour, decideBehaviour } from './behaviour.ts';
import { hollowPod } from './hollow-pod.ts';
import type { CompleteHollowOptions } from './options.ts';

export interface ContainerRequests {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
}

/** What a hollow node knows of a pod besides what the agent asks of it. */
export interface BookedPod {
  readonly behaviour: Behaviour;
  /** Containers that run to their end before others begin. */
  readonly init: ReadonlySet<string>;
  readonly requests: ReadonlyMap<string, ContainerRequests>;
}

/** The pods of a node by uid, as its agent has last heard of them: no more than the agent holds itself. */
export interface PodBook {
  of(podUid: string): BookedPod | undefined;
  readonly size: number;
  /** The same client for the agent: pods that it lists and watches are booked, and become hollow. */
  reading(pods: PodClient): PodClient;
}

export function createPodBook(options: CompleteHollowOptions, logger: Logger): PodBook {
  const pods = new Map<string, BookedPod>();
  /** What the list that is under way has shown so far. */
  let listed = new Set<string>();

  function booked(pod: Pod): Pod {
    const uid = pod.metadata?.uid ?? '';
    const behaviour = decideBehaviour(pod, options);
    if (!pods.has(uid))
      for (const problem of behaviour.problems)
        logger.warn({ pod: pod.metadata?.name, namespace: pod.metadata?.namespace }, problem);
    pods.set(uid, { behaviour, init: initNames(pod), requests: requestsOf(pod) });
    return hollowPod(pod, behaviour);
  }

  function page({ metadata, items }: Page<Pod>, isFirst: boolean): Page<Pod> {
    if (isFirst) listed = new Set();
    for (const { metadata: of } of items) listed.add(of?.uid ?? '');
    const hollow = items.map(booked);
    if (!metadata.continue) for (const uid of pods.keys()) if (!listed.has(uid)) pods.delete(uid);
    return { metadata, items: hollow };
  }

  function event({ type, object }: WatchEvent<Pod>): WatchEvent<Pod> {
    if (type === 'ADDED' || type === 'MODIFIED') return { type, object: booked(object) };
    if (type === 'DELETED') pods.delete(object.metadata?.uid ?? '');
    return { type, object };
  }

  return {
    of: (podUid) => pods.get(podUid),
    get size() {
      return pods.size;
    },
    reading: (client) => ({
      ...client,
      list: async (scope, call) => page(await client.list(scope, call), !scope?.continue),
      async *watch(scope, call) {
        for await (const batch of client.watch(scope, call)) yield batch.map(event);
      },
    }),
  };
}

function initNames({ spec }: Pod): ReadonlySet<string> {
  const ending = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy !== 'Always');
  return ending.length === 0 ? none : new Set(ending.map(({ name = '' }) => name));
}

const none: ReadonlySet<string> = new Set();

function requestsOf({ spec }: Pod): ReadonlyMap<string, ContainerRequests> {
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return new Map(
    all.map(({ name = '', resources }) => [
      name,
      {
        cpuMilli: resourceAmount('cpu', resources?.requests?.cpu),
        memoryBytes: resourceAmount('memory', resources?.requests?.memory),
      },
    ]),
  );
}
