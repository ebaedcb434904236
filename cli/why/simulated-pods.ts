import type { CronJob, Job, PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
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
  const { name = '', namespace = '' } = object.metadata ?? {};
  const { metadata = {}, spec = {} } = templateOf(kind, object as never) as Pod;
  const templates = (kind.kind === 'StatefulSet' && (object as StatefulSet).spec?.volumeClaimTemplates) || [];
  const first = kind.kind === 'StatefulSet' ? ((object as StatefulSet).spec?.ordinals?.start ?? 0) : 1;
  const names = Array.from({ length: Math.min(countOf(kind, object), mostPods) }, (_, index) => `${name}-${first + index}`);
  const claimName = (template: PersistentVolumeClaim, pod: string) => `${template.metadata?.name}-${pod}`;
  const pods = names.map((pod): Pod => {
    const own = templates.map((each) => ({
      name: each.metadata?.name ?? '',
      persistentVolumeClaim: { claimName: claimName(each, pod) },
    }));
    const others = (spec.volumes ?? []).filter((volume) => !own.some((each) => each.name === volume.name));
    const volumes = [...own, ...others];
    return { metadata: { ...metadata, namespace, name: pod }, spec: { ...spec, ...(volumes.length > 0 && { volumes }) } };
  });
  const claims = names.flatMap((pod) =>
    templates.map((each) => ({ ...each, metadata: { ...each.metadata, namespace, name: claimName(each, pod) } })),
  );
  return { pods, claims };
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
