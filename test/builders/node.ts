import type { Node, NodeSpec, NodeStatus, Taint } from '../../api/generated/types.ts';
import { metadata, quantities, type Resources, setMetadata } from './metadata.ts';

/** Builds a node step by step; every step gives a new builder, so that a half-built one can be shared. */
export interface NodeBuilder {
  labels(labels: Record<string, string>): NodeBuilder;
  annotations(annotations: Record<string, string>): NodeBuilder;
  /** Capacity, and allocatable with it; a later `allocatable` says otherwise. */
  capacity(resources: Resources): NodeBuilder;
  allocatable(resources: Resources): NodeBuilder;
  taint(key: string, effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute', value?: string): NodeBuilder;
  unschedulable(): NodeBuilder;
  /** The Ready condition; nodes are ready unless told otherwise. */
  ready(ready: boolean): NodeBuilder;
  /** What the machine uses now. */
  usage(usage: { cpu?: string; memory?: string }, at?: number): NodeBuilder;
  /** A change that no other step makes. */
  with(change: (node: Node) => void): NodeBuilder;
  build(): Node;
}

function builder(build: () => Node): NodeBuilder {
  const step = (change: (node: Node, spec: NodeSpec, status: NodeStatus) => void): NodeBuilder =>
    builder(() => {
      const object = build();
      change(object, object.spec!, object.status!);
      return object;
    });
  return {
    labels: (labels) => step((object) => setMetadata(object, { labels: { ...object.metadata!.labels, ...labels } })),
    annotations: (annotations) =>
      step((object) => setMetadata(object, { annotations: { ...object.metadata!.annotations, ...annotations } })),
    capacity: (resources) =>
      step((_object, _spec, status) => {
        status.capacity = { ...status.capacity, ...quantities(resources) };
        status.allocatable = { ...status.allocatable, ...quantities(resources) };
      }),
    allocatable: (resources) =>
      step((_object, _spec, status) => {
        status.allocatable = { ...status.allocatable, ...quantities(resources) };
      }),
    taint: (key, effect, value) =>
      step((_object, spec) => {
        const taint: Taint = { key, effect, ...(value === undefined ? {} : { value }) };
        spec.taints = [...(spec.taints ?? []), taint];
      }),
    unschedulable: () =>
      step((_object, spec) => {
        spec.unschedulable = true;
      }),
    ready: (ready) =>
      step((_object, _spec, status) => {
        status.conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
      }),
    usage: ({ cpu, memory }, at) =>
      step((_object, _spec, status) => {
        status.usage = {
          timestamp: { seconds: Math.floor((at ?? Date.UTC(2026, 0, 1)) / 1000) },
          ...(cpu === undefined ? {} : { cpu: { string: cpu } }),
          ...(memory === undefined ? {} : { memory: { string: memory } }),
        };
      }),
    with: (change) => step(change),
    build: () => build(),
  };
}

/** A ready node of 4 cores, 8 GiB and 110 pods with the labels that agents set. */
export function node(name: string): NodeBuilder {
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' };
  const size = { cpu: '4', memory: '8Gi', pods: '110' };
  return builder(() => ({
    metadata: metadata({ name, labels }),
    spec: {},
    status: { capacity: quantities(size), allocatable: quantities(size), conditions: [{ type: 'Ready', status: 'True' }] },
  }));
}
