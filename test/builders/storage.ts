import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { onlyOnNode } from '../../api/kinds/storage-class/local-path.ts';
import { metadata, setMetadata } from './metadata.ts';

/** Builds a volume step by step; every step gives a new builder. */
export interface VolumeBuilder {
  size(storage: string): VolumeBuilder;
  modes(...modes: string[]): VolumeBuilder;
  storageClass(name: string): VolumeBuilder;
  labelled(labels: Record<string, string>): VolumeBuilder;
  phase(phase: string): VolumeBuilder;
  /** A claimRef to "namespace/name". */
  keptFor(claim: string, uid?: string): VolumeBuilder;
  chosenByController(): VolumeBuilder;
  reclaim(policy: string): VolumeBuilder;
  /** A folder of the nodes with this host name, and of no other. */
  onHost(hostname: string): VolumeBuilder;
  /** A folder that the agent of this node made for a claim. */
  madeOn(nodeName: string): VolumeBuilder;
  leaving(): VolumeBuilder;
  unprotected(): VolumeBuilder;
  with(change: (volume: PersistentVolume) => void): VolumeBuilder;
  build(): PersistentVolume;
}

function volumeBuilder(build: () => PersistentVolume): VolumeBuilder {
  const step = (change: (volume: PersistentVolume) => void): VolumeBuilder =>
    volumeBuilder(() => {
      const made = build();
      change(made);
      return made;
    });
  const spec = (more: PersistentVolume['spec']) =>
    step((made) => {
      made.spec = { ...made.spec, ...more };
    });
  const meta = (more: PersistentVolume['metadata']) => step((made) => setMetadata(made, more ?? {}));
  return {
    size: (storage) => spec({ capacity: { storage: { string: storage } } }),
    modes: (...accessModes) => spec({ accessModes }),
    storageClass: (storageClassName) => spec({ storageClassName }),
    labelled: (labels) => meta({ labels }),
    phase: (phase) =>
      step((made) => {
        made.status = { phase };
      }),
    keptFor(claim, uid) {
      const [namespace, name] = claim.split('/');
      return spec({ claimRef: { namespace: namespace!, name: name!, ...(uid !== undefined && { uid }) } });
    },
    chosenByController: () => meta({ annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } }),
    reclaim: (persistentVolumeReclaimPolicy) => spec({ persistentVolumeReclaimPolicy }),
    onHost(hostname) {
      const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [hostname] }];
      return spec({ nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } });
    },
    madeOn: (nodeName) =>
      step((made) => {
        const annotations = { 'pv.kubernetes.io/provisioned-by': 'berth.io/local-path' };
        setMetadata(made, { annotations, finalizers: ['kubernetes.io/pv-protection', 'berth.io/local-path'] });
        made.spec!.persistentVolumeSource = { local: { path: `/data/${made.metadata?.name}` } };
        made.spec!.nodeAffinity = onlyOnNode(nodeName);
      }),
    leaving: () => meta({ deletionTimestamp: { seconds: 1 } }),
    unprotected: () => meta({ finalizers: [] }),
    with: step,
    build,
  };
}

/** An available, protected folder of 1 GiB for one node at a time. */
export function volume(name: string): VolumeBuilder {
  return volumeBuilder(() => {
    const { namespace: _, ...ofCluster } = metadata({ name });
    return {
      metadata: { ...ofCluster, finalizers: ['kubernetes.io/pv-protection'] },
      spec: {
        capacity: { storage: { string: '1Gi' } },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
        persistentVolumeSource: { hostPath: { path: `/srv/${name}`, type: '' } },
      },
      status: { phase: 'Available' },
    };
  });
}

/** Builds a claim step by step; every step gives a new builder. */
export interface ClaimBuilder {
  size(storage: string): ClaimBuilder;
  modes(...modes: string[]): ClaimBuilder;
  storageClass(name: string): ClaimBuilder;
  selecting(matchLabels: Record<string, string>): ClaimBuilder;
  /** Names its volume. */
  on(volumeName: string): ClaimBuilder;
  /** The controller has finished with it. */
  bound(): ClaimBuilder;
  leaving(): ClaimBuilder;
  unprotected(): ClaimBuilder;
  /** Its pod goes to this node. */
  selected(nodeName: string): ClaimBuilder;
  uid(uid: string): ClaimBuilder;
  build(): PersistentVolumeClaim;
}

function claimBuilder(build: () => PersistentVolumeClaim): ClaimBuilder {
  const step = (change: (claim: PersistentVolumeClaim) => void): ClaimBuilder =>
    claimBuilder(() => {
      const made = build();
      change(made);
      return made;
    });
  const spec = (more: PersistentVolumeClaim['spec']) =>
    step((made) => {
      made.spec = { ...made.spec, ...more };
    });
  const meta = (more: PersistentVolumeClaim['metadata']) => step((made) => setMetadata(made, more ?? {}));
  return {
    size: (storage) => spec({ resources: { requests: { storage: { string: storage } } } }),
    modes: (...accessModes) => spec({ accessModes }),
    storageClass: (storageClassName) => spec({ storageClassName }),
    selecting: (matchLabels) => spec({ selector: { matchLabels } }),
    on: (volumeName) => spec({ volumeName }),
    bound: () =>
      step((made) => {
        made.metadata = { ...made.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } };
        made.status = { phase: 'Bound' };
      }),
    leaving: () => meta({ deletionTimestamp: { seconds: 1 } }),
    unprotected: () => meta({ finalizers: [] }),
    uid: (uid) => meta({ uid }),
    selected: (nodeName) => meta({ annotations: { 'volume.kubernetes.io/selected-node': nodeName } }),
    build,
  };
}

/** A protected claim on 1 GiB for one node at a time, without a volume. */
export function claim(name: string, namespace = 'default'): ClaimBuilder {
  return claimBuilder(() => ({
    metadata: { ...metadata({ name, namespace }), finalizers: ['kubernetes.io/pvc-protection'] },
    spec: {
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      resources: { requests: { storage: { string: '1Gi' } } },
    },
    status: { phase: 'Pending' },
  }));
}

/** Builds a storage class step by step; every step gives a new builder. */
export interface StorageClassBuilder {
  provisioner(name: string): StorageClassBuilder;
  /** Volumes are chosen and made when a pod needs them. */
  waiting(): StorageClassBuilder;
  byDefault(): StorageClassBuilder;
  with(change: (storageClass: StorageClass) => void): StorageClassBuilder;
  build(): StorageClass;
}

function storageClassBuilder(build: () => StorageClass): StorageClassBuilder {
  const step = (change: (storageClass: StorageClass) => void): StorageClassBuilder =>
    storageClassBuilder(() => {
      const made = build();
      change(made);
      return made;
    });
  return {
    provisioner: (provisioner) => step((made) => void Object.assign(made, { provisioner })),
    waiting: () => step((made) => void Object.assign(made, { volumeBindingMode: 'WaitForFirstConsumer' })),
    byDefault: () =>
      step((made) => setMetadata(made, { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } })),
    with: step,
    build,
  };
}

/** A class whose volumes people make, bound at once. */
export function storageClass(name: string): StorageClassBuilder {
  return storageClassBuilder(() => {
    const { namespace: _, ...ofCluster } = metadata({ name });
    return {
      metadata: ofCluster,
      provisioner: 'kubernetes.io/no-provisioner',
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
    };
  });
}
