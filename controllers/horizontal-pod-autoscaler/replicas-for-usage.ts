import type { Pod } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { quantityMilli } from '../../api/meta/quantity.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { Figure, FigureName, Figures } from './usage.ts';

/** For this long after a pod's start, its CPU usage may be no measure of its load. Kubernetes' figure. */
export const cpuInitializationMs = 5 * 60_000;
/** A pod that became unready within this time of its start, and stayed so, was never ready. Kubernetes' figure. */
export const initialReadinessDelayMs = 30_000;

/** By how much the usage may be off before the number of pods changes: 0.1 is 10 %. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

export interface Need {
  readonly replicas: number;
  /** Of one pod, on average, in thousandths. */
  readonly averageMilli: number;
  /** In percent of what is requested, where that is the target. */
  readonly utilization?: number;
}

interface NeedInput {
  readonly pods: readonly Pod[];
  readonly figures: Figures;
  readonly figure: FigureName;
  /** How many pods are wanted now. */
  readonly current: number;
  readonly tolerances: Tolerances;
}

/** What every pod uses in relation to the target, and what pods that were not measured are taken to use. */
interface Measure {
  ratio(figures: Figures): { readonly ratio: number; readonly averageMilli: number; readonly utilization?: number };
  /** What a pod without a figure counts when the others say that there are too many pods. */
  assumedDown(uid: string): number;
}

/** How many pods use `target` percent of what they request. Throws Error, in Kubernetes' words, when it cannot tell. */
export function replicasForUtilization(input: NeedInput, target: number): Need {
  return replicasFor(input, () => {
    const requests = requestsOf(input.pods, input.figure);
    return {
      ratio(figures) {
        let [used, requested, count] = [0, 0, 0];
        for (const [uid, { milli }] of figures) {
          const request = requests.get(uid);
          if (request === undefined) continue;
          used += milli;
          requested += request;
          count++;
        }
        if (requested === 0) throw new Error('no metrics returned matched known pods');
        const utilization = Math.floor((used * 100) / requested);
        return { ratio: utilization / target, averageMilli: Math.floor(used / count), utilization };
      },
      assumedDown: (uid) => Math.floor(((requests.get(uid) ?? 0) * Math.max(100, target)) / 100),
    };
  });
}

/** How many pods use `targetMilli` each. Throws Error as `replicasForUtilization` does. */
export function replicasForAverage(input: NeedInput, targetMilli: number): Need {
  return replicasFor(input, () => ({
    ratio(figures) {
      const used = [...figures.values()].reduce((sum, { milli }) => sum + milli, 0);
      const averageMilli = Math.floor(used / figures.size);
      return { ratio: averageMilli / targetMilli, averageMilli };
    },
    assumedDown: () => targetMilli,
  }));
}

function replicasFor({ pods, figures, figure, current, tolerances }: NeedInput, measureBy: () => Measure): Need {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
  const { ready, unready, missing } = groupPods(pods, figures, figure.resource);
  if (ready.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const measure = measureBy();
  const { ratio, ...measured } = measure.ratio(ready);
  const isWithin = (each: number): boolean => 1 - tolerances.down <= each && each <= 1 + tolerances.up;
  const countsUnready = unready.length > 0 && ratio > 1;
  if (!countsUnready && missing.length === 0)
    return { replicas: isWithin(ratio) ? current : Math.ceil(ratio * ready.size), ...measured };
  const all = new Map(ready);
  const assume = (uid: string, milli: number) => all.set(uid, { milli, readAtMs: 0, windowMs: 0 });
  // Whatever is not known counts against the change.
  if (ratio !== 1) for (const uid of missing) assume(uid, ratio < 1 ? measure.assumedDown(uid) : 0);
  if (countsUnready) for (const uid of unready) assume(uid, 0);
  const { ratio: next } = measure.ratio(all);
  const turns = (ratio < 1 && next > 1) || (ratio > 1 && next < 1);
  const replicas = Math.ceil(next * all.size);
  const isContrary = (next < 1 && replicas > current) || (next > 1 && replicas < current);
  return { replicas: isWithin(next) || turns || isContrary ? current : replicas, ...measured };
}

interface Groups {
  readonly ready: ReadonlyMap<string, Figure>;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
}

/** Pods that are on their way out, or failed, are in none. */
function groupPods(pods: readonly Pod[], figures: Figures, resource: string): Groups {
  const ready = new Map<string, Figure>();
  const [unready, missing]: [string[], string[]] = [[], []];
  for (const pod of pods) {
    const { uid = '', deletionTimestamp } = pod.metadata ?? {};
    const phase = pod.status?.phase ?? 'Pending';
    if (deletionTimestamp || phase === 'Failed') continue;
    const figure = figures.get(uid);
    if (phase === 'Pending') unready.push(uid);
    else if (!figure) missing.push(uid);
    else if (resource === 'cpu' && isWarmingUp(pod, figure)) unready.push(uid);
    else ready.set(uid, figure);
  }
  return { ready, unready, missing };
}

/**
 * Whether the CPU that a pod uses is that of its start. All times are of the pod's node; the time of the figure is the
 * present.
 */
function isWarmingUp({ status }: Pod, { readAtMs, windowMs }: Figure): boolean {
  const condition = findCondition(status?.conditions, 'Ready');
  if (!condition || !status?.startTime) return true;
  const startedAt = toMillis(status.startTime);
  const changedAt = condition.lastTransitionTime ? toMillis(condition.lastTransitionTime) : 0;
  const isUnready = condition.status === 'False';
  if (startedAt + cpuInitializationMs > readAtMs) return isUnready || readAtMs < changedAt + windowMs;
  return isUnready && startedAt + initialReadinessDelayMs > changedAt;
}

/** Throws Error when a container requests nothing: then there is no percentage. */
function requestsOf(pods: readonly Pod[], { resource, container }: FigureName): ReadonlyMap<string, number> {
  return new Map(pods.map((pod) => [pod.metadata?.uid ?? '', requestOf(pod, resource, container)]));
}

function requestOf({ metadata, spec = {} }: Pod, resource: string, container: string | undefined): number {
  const whole = spec.resources?.requests?.[resource];
  if (whole && container === undefined) return quantityMilli(whole);
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  let sum = 0;
  for (const { name = '', resources } of [...(spec.containers ?? []), ...sidecars]) {
    if (container !== undefined && container !== name) continue;
    const request = resources?.requests?.[resource];
    if (!request) throw new Error(`missing request for ${resource} in container ${name} of Pod ${metadata?.name ?? ''}`);
    sum += quantityMilli(request);
  }
  return sum;
}
