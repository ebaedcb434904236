import type { Deployment, IntOrString, PodTemplateSpec, ReplicaSet, ReplicaSetStatus } from '../../api/generated/types.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';

export const template = (image: string): PodTemplateSpec => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }] },
});

export const percent = (text: string): IntOrString => ({ type: 1, strVal: text });
export const count = (value: number): IntOrString => ({ type: 0, intVal: value });

export interface DeploymentParts {
  readonly replicas?: number;
  readonly image?: string;
  readonly maxSurge?: IntOrString;
  readonly maxUnavailable?: IntOrString;
  readonly recreate?: boolean;
  readonly paused?: boolean;
  readonly annotations?: Record<string, string>;
  readonly historyLimit?: number;
  readonly status?: Deployment['status'];
}

/** A Deployment "web" as it is stored, of generation 1. */
export function deploymentOf({ replicas = 3, image = 'i:1', recreate, ...parts }: DeploymentParts = {}): Deployment {
  const { maxSurge = percent('25%'), maxUnavailable = percent('25%'), paused, annotations = {}, historyLimit = 10 } = parts;
  return {
    metadata: { namespace: 'a', name: 'web', uid: 'd1', generation: 1, annotations },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: template(image),
      strategy: recreate ? { type: 'Recreate' } : { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
      minReadySeconds: 0,
      revisionHistoryLimit: historyLimit,
      progressDeadlineSeconds: 600,
      ...(paused !== undefined && { paused }),
    },
    ...(parts.status && { status: parts.status }),
  };
}

export interface SetParts {
  readonly image?: string;
  readonly replicas?: number;
  /** How many pods it has; as many as it wants unless said. */
  readonly has?: number;
  readonly available?: number;
  readonly revision?: number;
  /** What the Deployment wanted when it was scaled last: replicas, and with the surge. */
  readonly noted?: readonly [desired: number, max: number];
  readonly createdAt?: number;
  readonly status?: ReplicaSetStatus;
}

/** A ReplicaSet of that Deployment. */
export function setOf(
  name: string,
  { image = 'i:1', replicas = 0, revision = 1, createdAt = 0, ...parts }: SetParts,
): ReplicaSet {
  const { has = replicas, available = has, noted } = parts;
  return {
    metadata: {
      namespace: 'a',
      name: `web-${name}`,
      uid: `s-${name}`,
      generation: 1,
      creationTimestamp: { seconds: createdAt },
      labels: { app: 'web', 'pod-template-hash': name },
      annotations: {
        [workloadAnnotations.revision]: String(revision),
        ...(noted && {
          [workloadAnnotations.desiredReplicas]: String(noted[0]),
          [workloadAnnotations.maxReplicas]: String(noted[1]),
        }),
      },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'd1', controller: true }],
    },
    spec: { replicas, template: { ...template(image), metadata: { labels: { app: 'web', 'pod-template-hash': name } } } },
    status: {
      replicas: has,
      readyReplicas: available,
      availableReplicas: available,
      observedGeneration: 1,
      ...parts.status,
    },
  };
}
