import { defaultSchedulerName } from '../api/meta/well-known.ts';
import type { AnyPlugin, ClusterEvent, QueueOrdering } from './framework/plugin.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { defaultPreemption, type PreemptionSource } from './plugins/default-preemption.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { interPodAffinity } from './plugins/inter-pod-affinity.ts';
import { nodeAffinity } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import { nodeReady } from './plugins/node-ready.ts';
import { nodeResourcesBalanced } from './plugins/node-resources-balanced.ts';
import { nodeResourcesFit } from './plugins/node-resources-fit.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { nodeUsage } from './plugins/node-usage.ts';
import { podTopologySpread } from './plugins/pod-topology-spread.ts';
import { prioritySort } from './plugins/priority-sort.ts';
import { taintToleration } from './plugins/taint-toleration.ts';
import { noStorage, type Storage, volumeBinding } from './plugins/volume-binding.ts';

/** Which plugins place a scheduler's pods. Order is the order of filters; a weight of 0 switches a plugin's score off. */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly ProfileEntry[];
}

export interface ProfileEntry {
  readonly plugin: AnyPlugin;
  readonly weight: number;
}

/** What plugins read of the cluster besides nodes and pods. */
export interface ProfileSources {
  readonly storage?: Storage;
  readonly preemption?: PreemptionSource;
}

/**
 * The profile of a scheduler that is not configured. `bind` is last and comes from the scheduler itself, because it needs the API.
 * Weights: taints, affinities and spreading are wishes that a person wrote down, so they outweigh balance (Kubernetes' 3 and 2); requests, usage,
 * balance and images at hand count alike.
 */
export function defaultProfile(
  bind: AnyPlugin,
  schedulerName = defaultSchedulerName,
  { storage = noStorage, preemption }: ProfileSources = {},
): Profile {
  return {
    schedulerName,
    plugins: [
      { plugin: prioritySort, weight: 0 },
      { plugin: nodeName, weight: 0 },
      { plugin: nodeUnschedulable, weight: 0 },
      { plugin: nodeReady, weight: 0 },
      { plugin: taintToleration, weight: 3 },
      { plugin: nodeAffinity, weight: 2 },
      { plugin: nodePorts, weight: 0 },
      { plugin: volumeBinding(storage), weight: 0 },
      { plugin: nodeResourcesFit(), weight: 1 },
      { plugin: nodeUsage(), weight: 1 },
      { plugin: podTopologySpread(), weight: 2 },
      { plugin: interPodAffinity(), weight: 2 },
      { plugin: nodeResourcesBalanced, weight: 1 },
      { plugin: imageLocality, weight: 1 },
      { plugin: defaultPreemption(preemption), weight: 0 },
      { plugin: bind, weight: 0 },
    ],
  };
}

/** How the one plugin that orders the queue orders it. Throws unless there is exactly one. */
export function queueOrderOf({ plugins }: Profile): QueueOrdering['queueOrder'] {
  const ordering = plugins.filter(({ plugin }) => plugin.queueOrder);
  if (ordering.length !== 1) throw new Error(`profile: ${ordering.length} plugins order the queue; list exactly one`);
  const { plugin } = ordering[0]!;
  return (a, b) => plugin.queueOrder!(a, b);
}

/** What the plugins say of events that may help a pod. A hint that throws counts as yes: the cost is one attempt. */
export function helpsBy({ plugins }: Profile): (plugin: string, pod: PodInfo, event: ClusterEvent) => boolean {
  const byName = new Map(plugins.map(({ plugin }) => [plugin.name, plugin]));
  return (name, pod, event) => {
    try {
      return byName.get(name)?.helps?.(pod, event) ?? true;
    } catch {
      return true;
    }
  };
}
