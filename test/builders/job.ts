import type { Job, JobSpec, JobStatus, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { jobTrackingFinalizer, workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';

/** A Job "a/work", complete as the server stores it. */
export function makeJob(spec: JobSpec = {}, status?: JobStatus): Job {
  const labels = { [workloadLabels.controllerUid]: 'u1' };
  const job: Job = {
    metadata: { namespace: 'a', name: 'work', uid: 'u1' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } },
      ...spec,
    },
    ...(status && { status }),
  };
  kindNamed('Job').defaults(job);
  return job;
}

export interface JobPodOptions {
  readonly phase?: string;
  readonly index?: number;
  /** Failures of the index before. */
  readonly failures?: number;
  readonly exitCode?: number;
  readonly restarts?: number;
  readonly ready?: boolean;
  /** Being deleted with so many seconds of grace. */
  readonly deleting?: number;
  /** Without the finalizer. */
  readonly free?: boolean;
  /** When its container ended, in seconds since 1970. */
  readonly endedAt?: number;
  readonly condition?: string;
}

/** A pod of that Job; its uid is its name. */
export function jobPod(name: string, options: JobPodOptions = {}): Pod {
  const { phase = 'Running', index, failures, exitCode, restarts, ready, deleting, free, endedAt, condition } = options;
  const finishedAt = endedAt === undefined ? undefined : { seconds: endedAt };
  const terminated = { ...(exitCode !== undefined && { exitCode }), ...(finishedAt && { finishedAt }) };
  const isEnded = exitCode !== undefined || endedAt !== undefined;
  return {
    metadata: {
      namespace: 'a',
      name,
      uid: name,
      labels: { [workloadLabels.controllerUid]: 'u1' },
      finalizers: free ? [] : [jobTrackingFinalizer],
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'work', uid: 'u1', controller: true }],
      annotations: {
        ...(index !== undefined && { [workloadAnnotations.completionIndex]: String(index) }),
        ...(failures !== undefined && { [workloadAnnotations.indexFailureCount]: String(failures) }),
      },
      ...(deleting !== undefined && { deletionTimestamp: { seconds: 1 }, deletionGracePeriodSeconds: deleting }),
    },
    spec: { nodeName: 'n1' },
    status: {
      phase,
      conditions: [
        ...(ready ? [{ type: 'Ready', status: 'True' }] : []),
        ...(condition === undefined ? [] : [{ type: condition, status: 'True' }]),
      ],
      containerStatuses: [
        {
          name: 'main',
          ...(restarts !== undefined && { restartCount: restarts }),
          ...(isEnded && { state: { terminated } }),
        },
      ],
    },
  };
}
