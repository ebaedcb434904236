import type { Container, Pod, PodCondition, PodSpec, PodStatus, Toleration, Volume } from '../../api/generated/types.ts';
import { metadata, quantities, type Resources, setMetadata } from './metadata.ts';

/** Builds a pod step by step; every step gives a new builder, so that a half-built one can be shared. */
export interface PodBuilder {
  namespace(namespace: string): PodBuilder;
  uid(uid: string): PodBuilder;
  labels(labels: Record<string, string>): PodBuilder;
  annotations(annotations: Record<string, string>): PodBuilder;
  /** Bound to this node. */
  on(nodeName: string): PodBuilder;
  /** Requests of the first container. */
  requests(resources: Resources): PodBuilder;
  /** Limits of the first container. */
  limits(resources: Resources): PodBuilder;
  /** One more container; the first call replaces the container "main" that a pod starts with. */
  container(name: string, container?: Container): PodBuilder;
  initContainer(name: string, container?: Container): PodBuilder;
  volume(volume: Volume): PodBuilder;
  nodeSelector(labels: Record<string, string>): PodBuilder;
  toleration(toleration: Toleration): PodBuilder;
  priority(priority: number): PodBuilder;
  restartPolicy(policy: 'Always' | 'OnFailure' | 'Never'): PodBuilder;
  phase(phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'): PodBuilder;
  condition(condition: PodCondition): PodBuilder;
  ip(ip: string): PodBuilder;
  /** Created at this time (milliseconds since 1970). */
  createdAt(ms: number): PodBuilder;
  /** Marked for deletion at this time (milliseconds since 1970). */
  deleting(atMs: number, graceSeconds?: number): PodBuilder;
  spec(spec: PodSpec): PodBuilder;
  status(status: PodStatus): PodBuilder;
  /** A change that no other step makes. */
  with(change: (pod: Pod) => void): PodBuilder;
  build(): Pod;
}

const image = 'busybox:1.36';
const placeholder = 'main';

function addContainer(spec: PodSpec, name: string, container: Container): void {
  const others = (spec.containers ?? []).filter((other) => other.name !== placeholder);
  const resources = spec.containers?.find((other) => other.name === placeholder)?.resources;
  spec.containers = [...others, { name, image, ...(resources ? { resources } : {}), ...container }];
}

function setResources(spec: PodSpec, part: 'requests' | 'limits', resources: Resources): void {
  const first = spec.containers![0]!;
  first.resources = { ...first.resources, [part]: { ...first.resources?.[part], ...quantities(resources) } };
}

function builder(build: () => Pod): PodBuilder {
  const step = (change: (pod: Pod, spec: PodSpec, status: PodStatus) => void): PodBuilder =>
    builder(() => {
      const object = build();
      change(object, object.spec!, object.status!);
      return object;
    });
  const spec = (part: PodSpec) => step((object) => Object.assign(object.spec!, structuredClone(part)));
  const status = (part: PodStatus) => step((object) => Object.assign(object.status!, structuredClone(part)));
  return {
    spec,
    status,
    namespace: (namespace) => step((object) => Object.assign(object.metadata!, { namespace })),
    uid: (uid) => step((object) => Object.assign(object.metadata!, { uid })),
    labels: (labels) => step((object) => setMetadata(object, { labels: { ...object.metadata!.labels, ...labels } })),
    annotations: (annotations) =>
      step((object) => setMetadata(object, { annotations: { ...object.metadata!.annotations, ...annotations } })),
    on: (nodeName) => spec({ nodeName }),
    requests: (resources) => step((_object, own) => setResources(own, 'requests', resources)),
    limits: (resources) => step((_object, own) => setResources(own, 'limits', resources)),
    container: (name, container = {}) => step((_object, own) => addContainer(own, name, structuredClone(container))),
    initContainer: (name, container = {}) =>
      step((_object, own) =>
        Object.assign(own, { initContainers: [...(own.initContainers ?? []), { name, image, ...structuredClone(container) }] }),
      ),
    volume: (volume) =>
      step((_object, own) => Object.assign(own, { volumes: [...(own.volumes ?? []), structuredClone(volume)] })),
    nodeSelector: (labels) => spec({ nodeSelector: labels }),
    toleration: (toleration) =>
      step((_object, own) => Object.assign(own, { tolerations: [...(own.tolerations ?? []), { ...toleration }] })),
    priority: (priority) => spec({ priority }),
    restartPolicy: (restartPolicy) => spec({ restartPolicy }),
    phase: (phase) => status({ phase }),
    condition: (condition) =>
      step((_object, _spec, own) => {
        own.conditions = [...(own.conditions ?? []).filter((other) => other.type !== condition.type), { ...condition }];
      }),
    ip: (podIP) => status({ podIP, podIPs: [{ ip: podIP }] }),
    createdAt: (ms) =>
      step((object) => {
        object.metadata!.creationTimestamp = { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
      }),
    deleting: (atMs, graceSeconds = 30) =>
      step((object) => {
        object.metadata!.deletionTimestamp = { seconds: Math.floor(atMs / 1000) };
        object.metadata!.deletionGracePeriodSeconds = graceSeconds;
      }),
    with: (change) => step((object) => change(object)),
    build,
  };
}

/** A pending pod in namespace "default" with one container and the defaults that the server fills in. */
export function pod(name: string): PodBuilder {
  return builder(() => ({
    metadata: metadata({ name, namespace: 'default' }),
    spec: {
      containers: [{ name: placeholder, image }],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      schedulerName: 'default-scheduler',
    },
    status: { phase: 'Pending' },
  }));
}
