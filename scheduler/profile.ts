import { defaultSchedulerName } from '../api/meta/well-known.ts';
import type { Logger } from '../client/index.ts';
import type { AnyPlugin, ClusterEvent, QueueOrdering } from './framework/plugin.ts';
import { guard } from './framework/plugin-fault.ts';
import type { PluginFactory } from './framework/plugin-module.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { defaultPreemption, type PreemptionSource } from './plugins/default-preemption.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { type InterPodAffinityArguments, interPodAffinity, interPodAffinityArguments } from './plugins/inter-pod-affinity.ts';
import { nodeAffinity } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import { nodeReady } from './plugins/node-ready.ts';
import { nodeResourcesBalanced } from './plugins/node-resources-balanced.ts';
import { type NodeResourcesFitArguments, nodeResourcesFit, nodeResourcesFitArguments } from './plugins/node-resources-fit.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { type NodeUsageArguments, nodeUsage, nodeUsageArguments } from './plugins/node-usage.ts';
import { type PodTopologySpreadArguments, podTopologySpread, podTopologySpreadArguments } from './plugins/pod-topology-spread.ts';
import { prioritySort } from './plugins/priority-sort.ts';
import { taintToleration } from './plugins/taint-toleration.ts';
import { noStorage, type Storage, volumeBinding } from './plugins/volume-binding.ts';

/**
 * Which plugins place the pods of a schedulerName. Order is the order of filters;
 * a weight of 0 switches a plugin's score off.
 */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly ProfileEntry[];
}

export interface ProfileEntry {
  readonly plugin: AnyPlugin;
  readonly weight: number;
}

/** What Berth's own plugins are given. */
export interface ProfileSources {
  /** Comes from the scheduler itself, because it needs the API. */
  readonly bind: AnyPlugin;
  /** What plugins read of the cluster besides nodes and pods. */
  readonly storage?: Storage;
  readonly preemption?: PreemptionSource;
}

/** A plugin that a profile names, or one that can be named. */
export type ProfileFactory = PluginFactory<unknown, ProfileSources>;

const own = <A>(factory: PluginFactory<A, ProfileSources>): ProfileFactory => factory;

/**
 * Berth's own plugins: all of them make up the profile of a scheduler that is not configured, in this order.
 * Weights: taints, affinities and spreading are wishes that a person wrote down, so they outweigh balance
 * (Kubernetes' 3 and 2); requests, usage, balance and images at hand count alike.
 */
export const ownPlugins: readonly ProfileFactory[] = [
  { name: 'PrioritySort', create: () => prioritySort },
  { name: 'NodeName', create: () => nodeName },
  { name: 'NodeUnschedulable', create: () => nodeUnschedulable },
  { name: 'NodeReady', create: () => nodeReady },
  { name: 'TaintToleration', weight: 3, create: () => taintToleration },
  { name: 'NodeAffinity', weight: 2, create: () => nodeAffinity },
  { name: 'NodePorts', create: () => nodePorts },
  { name: 'VolumeBinding', create: (_, { storage = noStorage }) => volumeBinding(storage) },
  own<NodeResourcesFitArguments>({ name: 'NodeResourcesFit', args: nodeResourcesFitArguments, create: nodeResourcesFit }),
  own<NodeUsageArguments>({ name: 'NodeUsage', args: nodeUsageArguments, create: nodeUsage }),
  own<PodTopologySpreadArguments>({
    name: 'PodTopologySpread',
    weight: 2,
    args: podTopologySpreadArguments,
    create: podTopologySpread,
  }),
  own<InterPodAffinityArguments>({
    name: 'InterPodAffinity',
    weight: 2,
    args: interPodAffinityArguments,
    create: interPodAffinity,
  }),
  { name: 'NodeResourcesBalanced', create: () => nodeResourcesBalanced },
  { name: 'ImageLocality', create: () => imageLocality },
  { name: 'DefaultPreemption', create: (_, { preemption }) => defaultPreemption(preemption) },
  { name: 'DefaultBinder', create: (_, { bind }) => bind },
];

/** Sums of scores stay exact far beyond it. */
export const mostWeight = 1_000_000;

/** A plugin of a profile before it is made. */
export interface PlannedPlugin {
  readonly factory: ProfileFactory;
  /** As the factory's form of arguments gives them. */
  readonly args?: unknown;
  /** Undefined: the plugin's usual one. */
  readonly weight?: number | undefined;
}

/** A profile before its plugins are created, as a configuration is compiled to. */
export interface ProfilePlan {
  readonly schedulerName: string;
  readonly plugins: readonly PlannedPlugin[];
}

export function defaultPlan(schedulerName = defaultSchedulerName): ProfilePlan {
  return { schedulerName, plugins: ownPlugins.map((factory) => ({ factory })) };
}

/** Throws what a factory throws; those of Berth's own do not. */
export function makeProfile({ schedulerName, plugins }: ProfilePlan, sources: ProfileSources): Profile {
  const entries = plugins.map(({ factory, args = factory.args && {}, weight = factory.weight }): ProfileEntry => {
    const plugin = factory.create(args, sources);
    return { plugin, weight: weight ?? (plugin.score ? 1 : 0) };
  });
  return { schedulerName, plugins: entries };
}

/** The profile of a scheduler that is not configured. */
export function defaultProfile(bind: AnyPlugin, schedulerName?: string, sources: Omit<ProfileSources, 'bind'> = {}): Profile {
  return makeProfile(defaultPlan(schedulerName), { ...sources, bind });
}

/**
 * How the one plugin that orders the queue orders it. Where a user's fails, which is logged the first time, the pod
 * that came first goes first. Throws unless there is exactly one such plugin.
 */
export function queueOrderOf({ plugins }: Profile, logger: Pick<Logger, 'error'>): QueueOrdering['queueOrder'] {
  const ordering = plugins.filter(({ plugin }) => plugin.queueOrder);
  if (ordering.length !== 1) throw new Error(`profile: ${ordering.length} plugins order the queue; list exactly one`);
  const { plugin } = ordering[0]!;
  if (plugin.callLimitMs === undefined) return (a, b) => plugin.queueOrder!(a, b);
  let isTold = false;
  return (a, b) => {
    try {
      return guard(plugin, 'queueOrder', () => numberOf(plugin.queueOrder!(a, b)));
    } catch (err) {
      if (!isTold) logger.error({ err }, 'the queue is not in the order of its plugin, which fails');
      isTold = true;
      return a.sequence - b.sequence;
    }
  };
}

function numberOf(answer: unknown): number {
  if (typeof answer === 'number' && !Number.isNaN(answer)) return answer;
  throw new Error(`answered ${String(answer)}, which is no number`);
}

/**
 * What the plugins of a pod's own profile say of events that may help it. A hint that throws or does not end counts as
 * yes: the cost is one attempt.
 */
export function helpsBy(profiles: readonly Profile[]): (plugin: string, pod: PodInfo, event: ClusterEvent) => boolean {
  const bySchedulerName = new Map(
    profiles.map(({ schedulerName, plugins }) => [schedulerName, new Map(plugins.map(({ plugin }) => [plugin.name, plugin]))]),
  );
  return (name, pod, event) => {
    const plugin = bySchedulerName.get(pod.schedulerName)?.get(name);
    if (!plugin?.helps) return true;
    try {
      return Boolean(guard(plugin, 'helps', () => plugin.helps!(pod, event)));
    } catch {
      return true;
    }
  };
}
