import { defaultSchedulerName } from '../api/meta/well-known.ts';
import type { AnyPlugin } from './framework/plugin.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { nodeAffinity } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import { nodeReady } from './plugins/node-ready.ts';
import { nodeResourcesBalanced } from './plugins/node-resources-balanced.ts';
import { nodeResourcesFit } from './plugins/node-resources-fit.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { nodeUsage } from './plugins/node-usage.ts';
import { prioritySort } from './plugins/priority-sort.ts';
import { taintToleration } from './plugins/taint-toleration.ts';

/** Which plugins place a scheduler's pods. Order is the order of filters; a weight of 0 switches a plugin's score off. */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly ProfileEntry[];
}

export interface ProfileEntry {
  readonly plugin: AnyPlugin;
  readonly weight: number;
}

/**
 * The profile of a scheduler that is not configured. `bind` is last and comes from the scheduler itself, because it needs the API.
 * Weights: taints and affinity are wishes that a person wrote down, so they outweigh balance (Kubernetes' 3 and 2); requests, usage, balance and
 * images at hand count alike.
 */
export function defaultProfile(bind: AnyPlugin, schedulerName = defaultSchedulerName): Profile {
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
      { plugin: nodeResourcesFit, weight: 1 },
      { plugin: nodeUsage(), weight: 1 },
      { plugin: nodeResourcesBalanced, weight: 1 },
      { plugin: imageLocality, weight: 1 },
      { plugin: bind, weight: 0 },
    ],
  };
}
