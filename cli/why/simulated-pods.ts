import type { CronJob, Job, PersistentVolumeClaim, Pod, PodTemplateSpec, StatefulSet } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { podOfTemplate } from '../../api/kinds/pod-template/pod-of-template.ts';
import { newClaims, newPod } from '../../api/kinds/stateful-set/new-pod.ts';
import { hasTemplate, templateOf } from '../workload/pod-spec.ts';

/** What a simulation asks about for one manifest. */
export interface SimulatedPods {
  readonly pods: readonly Pod[];
  /** The claims that the manifest makes for its pods. */
  readonly claims: readonly PersistentVolumeClaim[];
}

/** More pods of one workload are not simulated: the server takes 1,000 pods in all. */
const mostPods = 1_000;

/**
 * The pods of a manifest: the Pod itself, or those that the controllers would make of a workload, with names of their
 * own ("web-1"). Undefined for kinds without pods, and for a DaemonSet, which has one on each node that suits it.
 */
export function simulatedPods(kind: Kind, object: ApiObject): SimulatedPods | undefined {
  if (kind.kind === 'Pod') return { pods: [object as Pod], claims: [] };
  if (!hasTemplate(kind) || kind.kind === 'DaemonSet' || kind.kind === 'PodTemplate') return undefined;
  const template = templateOf(kind, object as never) as PodTemplateSpec;
  const numbers = Array.from({ length: Math.min(countOf(kind, object), mostPods) }, (_, index) => index);
  if (kind.kind === 'StatefulSet') return ofSet(object as StatefulSet, template, numbers);
  const pods = numbers.map((number): Pod => {
    const { metadata, spec } = withoutOwner(podOfTemplate(template, { kind, object }));
    return { metadata: { ...metadata, name: `${object.metadata?.name}-${number + 1}` }, spec: spec ?? {} };
  });
  return { pods, claims: [] };
}

function ofSet(set: StatefulSet, template: PodTemplateSpec, numbers: readonly number[]): SimulatedPods {
  const ordinals = numbers.map((number) => (set.spec?.ordinals?.start ?? 0) + number);
  return {
    pods: ordinals.map((ordinal) => withoutOwner(newPod(set, ordinal, { template, revision: '' }))),
    claims: ordinals.flatMap((ordinal) => newClaims(set, ordinal)),
  };
}

/** The workload of a manifest has no uid to refer to. */
function withoutOwner({ metadata: { generateName: _, ownerReferences: __, ...metadata } = {}, spec }: Pod): Pod {
  return { metadata, ...(spec && { spec }) };
}

/** How many pods a workload has at a time. */
function countOf({ kind }: Kind, object: ApiObject): number {
  if (kind === 'Job') return runningOf(object as Job);
  if (kind === 'CronJob') return runningOf((object as CronJob).spec?.jobTemplate ?? {});
  return (object as { spec?: { replicas?: number } }).spec?.replicas ?? 1;
}

function runningOf({ spec = {} }: Pick<Job, 'spec'>): number {
  const { parallelism = 1, completions = parallelism } = spec;
  return Math.min(parallelism, completions);
}
