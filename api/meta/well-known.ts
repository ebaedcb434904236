/** Label keys with an agreed meaning. */
export const labels = {
  hostname: 'kubernetes.io/hostname',
  arch: 'kubernetes.io/arch',
  os: 'kubernetes.io/os',
  instanceType: 'node.kubernetes.io/instance-type',
  region: 'topology.kubernetes.io/region',
  zone: 'topology.kubernetes.io/zone',
  /** Prefix: the rest is the role that `get nodes` prints. */
  nodeRolePrefix: 'node-role.kubernetes.io/',
  /** The older way to name a role. */
  nodeRole: 'kubernetes.io/role',
  /** Every namespace carries its own name. */
  namespaceName: 'kubernetes.io/metadata.name',
} as const;

/** Taint keys that the node controllers set. */
export const taints = {
  notReady: 'node.kubernetes.io/not-ready',
  unreachable: 'node.kubernetes.io/unreachable',
  unschedulable: 'node.kubernetes.io/unschedulable',
  memoryPressure: 'node.kubernetes.io/memory-pressure',
  diskPressure: 'node.kubernetes.io/disk-pressure',
  pidPressure: 'node.kubernetes.io/pid-pressure',
  networkUnavailable: 'node.kubernetes.io/network-unavailable',
  outOfService: 'node.kubernetes.io/out-of-service',
} as const;

export const taintEffects = { noSchedule: 'NoSchedule', preferNoSchedule: 'PreferNoSchedule', noExecute: 'NoExecute' } as const;

export const annotations = {
  /** On the bookmark that ends the initial events of a watch. */
  initialEventsEnd: 'k8s.io/initial-events-end',
  /** What `apply` sent last: a copy of what stands in the object anyway, also of a secret. */
  lastApplied: 'kubectl.kubernetes.io/last-applied-configuration',
  /** On a pod made from a file on the node: where it came from. */
  configSource: 'kubernetes.io/config.source',
  configHash: 'kubernetes.io/config.hash',
  configMirror: 'kubernetes.io/config.mirror',
  defaultContainer: 'kubectl.kubernetes.io/default-container',
  /** On the lease of a node, for messages: which agent holds it. */
  holderHost: 'berth.io/holder-host',
  holderDataDir: 'berth.io/holder-data-dir',
  holderProcess: 'berth.io/holder-process',
} as const;

/**
 * Finalizers that the API server adds: on a delete, for what becomes of the dependents (the controller of dependents takes them off), and to the
 * spec of every namespace (the controller of namespaces takes it off when nothing is left inside).
 */
export const finalizers = { foregroundDeletion: 'foregroundDeletion', orphan: 'orphan', kubernetes: 'kubernetes' } as const;

export const namespaces = { default: 'default', system: 'kube-system', nodeLease: 'kube-node-lease' } as const;

export const defaultSchedulerName = 'default-scheduler';
