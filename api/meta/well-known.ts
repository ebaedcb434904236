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
  /** When the agent saw the file first. */
  configSeen: 'kubernetes.io/config.seen',
  /** On what the API has of such a pod: its uid, which is its hash. */
  configMirror: 'kubernetes.io/config.mirror',
  defaultContainer: 'kubectl.kubernetes.io/default-container',
  /** On a pod: which requests and limits its containers got from limit ranges. */
  limitRanger: 'kubernetes.io/limit-ranger',
  /** On the lease of a node: which agent holds it. The others say it for messages. */
  holderIdentity: 'berth.io/holder-identity',
  holderHost: 'berth.io/holder-host',
  holderDataDir: 'berth.io/holder-data-dir',
  holderProcess: 'berth.io/holder-process',
  /** The older way to name the class of a volume or claim. */
  betaStorageClass: 'volume.beta.kubernetes.io/storage-class',
  /**
   * On a claim: its volume is its own for good. On a claim or volume: the controller chose the other side,
   * not a person.
   */
  bindCompleted: 'pv.kubernetes.io/bind-completed',
  boundByController: 'pv.kubernetes.io/bound-by-controller',
  /** On a class: claims that name none get it. The second is the older way to say so. */
  defaultClass: 'storageclass.kubernetes.io/is-default-class',
  betaDefaultClass: 'storageclass.beta.kubernetes.io/is-default-class',
  /** The same on an IngressClass, for Ingresses. */
  defaultIngressClass: 'ingressclass.kubernetes.io/is-default-class',
  /**
   * On a claim: where the pod goes that needs it, so that its volume is made there. Written by the scheduler;
   * taken away when that fails.
   */
  selectedNode: 'volume.kubernetes.io/selected-node',
  /** On a claim: who is to make its volume. The second is the older way to say so. */
  storageProvisioner: 'volume.kubernetes.io/storage-provisioner',
  betaStorageProvisioner: 'volume.beta.kubernetes.io/storage-provisioner',
  /** On a volume: who made it, and so who deletes it. */
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
  /** On a node: the folder in which its agent makes volumes. */
  localPathFolder: 'berth.io/local-path-folder',
  /** On the namespace kube-system: the default class was made once. Who deletes it does not want it back. */
  localPathClassMade: 'berth.io/local-path-class-made',
  /** On a request for a certificate: which version the API server is. */
  serverVersion: 'berth.io/server-version',
} as const;

/**
 * Finalizers that the API server adds: on a delete, for what becomes of the dependents (the controller of dependents
 * takes them off), and to the spec of every namespace (the controller of namespaces takes it off when nothing is left
 * inside). Those of volumes and claims are put on and taken off by the controller that protects what is in use.
 */
export const finalizers = {
  foregroundDeletion: 'foregroundDeletion',
  orphan: 'orphan',
  kubernetes: 'kubernetes',
  volumeProtection: 'kubernetes.io/pv-protection',
  claimProtection: 'kubernetes.io/pvc-protection',
  /** On a volume that an agent made a folder for: the agent takes it off once the data are gone, or are to stay. */
  localPath: 'berth.io/local-path',
  /** On a CustomResourceDefinition: its objects go first. */
  customResources: 'customresourcecleanup.apiextensions.k8s.io',
} as const;

export const namespaces = {
  default: 'default',
  system: 'kube-system',
  nodeLease: 'kube-node-lease',
  public: 'kube-public',
} as const;

/** The service account of pods that name none. */
export const defaultServiceAccount = 'default';

/** The ConfigMap in every namespace that has the certificates of the cluster's authorities, for programs in pods. */
export const rootCertificates = { configMap: 'kube-root-ca.crt', key: 'ca.crt' } as const;

/** The ConfigMap in kube-public that says where the API server is, and which authorities signed its certificate. */
export const clusterInfo = { configMap: 'cluster-info', key: 'kubeconfig' } as const;

/** The Lease in kube-system of the process that runs the controllers. */
export const controllersLease = 'berth-controllers';

export const defaultSchedulerName = 'default-scheduler';
