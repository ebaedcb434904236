import { join } from 'node:path/posix';
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { selectedNode } from '../../api/kinds/storage.ts';
import { isLocalPath, localPathProvisioner, nodeOfVolume, onlyOnNode } from '../../api/kinds/storage-class/local-path.ts';
import { waitsForConsumer } from '../../api/kinds/volume-matching.ts';
import { annotations, finalizers } from '../../api/meta/well-known.ts';

/** What a claim of a local-path class needs. */
export type ClaimDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'make'; readonly volume: PersistentVolume }
  /** Told, and looked at again when something changes. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Not on that node: told, and the scheduler looks for another one. */
  | { readonly kind: 'elsewhere'; readonly message: string };

export interface ClaimScene {
  readonly storageClass: StorageClass | undefined;
  /** The node that the claim's pod goes to, if it is there. */
  readonly node: Node | undefined;
  /** A volume is kept for it already. */
  readonly hasVolume: boolean;
}

const none: ClaimDecision = { kind: 'none' };

/** Decides about a claim. Pure. */
export function decideClaim(claim: PersistentVolumeClaim, { storageClass, node, hasVolume }: ClaimScene): ClaimDecision {
  const { metadata, spec } = claim;
  if (!storageClass || !isLocalPath(storageClass.provisioner)) return none;
  const isOpen = !spec?.volumeName && !hasVolume && metadata?.deletionTimestamp === undefined;
  // What is used is protected first.
  if (!isOpen || !metadata?.finalizers?.includes(finalizers.claimProtection)) return none;
  const problem = problemOf(claim, storageClass);
  if (problem !== undefined) return { kind: 'failed', message: problem };
  const nodeName = selectedNode(claim);
  if (nodeName === undefined) return none;
  const folder = node?.metadata?.annotations?.[annotations.localPathFolder];
  if (!node) return { kind: 'elsewhere', message: `node "${nodeName}", where its pod was to go, is gone` };
  if (!folder?.startsWith('/'))
    return {
      kind: 'elsewhere',
      message: `the agent of node "${nodeName}" has not said where it makes volumes: upgrade that agent`,
    };
  return { kind: 'make', volume: volumeFor(claim, { storageClass, nodeName, folder }) };
}

/** What keeps a volume from being made on any node. */
function problemOf({ spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  const name = storageClass.metadata?.name;
  const [parameter] = Object.keys(storageClass.parameters ?? {});
  if (!waitsForConsumer(storageClass))
    return `class "${name}" makes a folder on the node of the pod that uses it: it needs volumeBindingMode "WaitForFirstConsumer"`;
  if (parameter !== undefined)
    return `class "${name}" has the parameter "${parameter}", and ${localPathProvisioner} takes none; the folder is set on each node (localPathFolder in node.yaml)`;
  const mode = spec?.accessModes?.find((each) => each !== 'ReadWriteOnce' && each !== 'ReadWriteOncePod');
  if (mode !== undefined) return `access mode "${mode}" is not possible with a folder of one node; use "ReadWriteOnce"`;
  return spec?.selector ? 'a volume that is made for the claim has no labels that its selector could choose' : undefined;
}

interface Making {
  readonly storageClass: StorageClass;
  readonly nodeName: string;
  readonly folder: string;
}

/** The longest name that file systems take. */
const longestName = 255;

function volumeFor({ metadata, spec }: PersistentVolumeClaim, { storageClass, nodeName, folder }: Making): PersistentVolume {
  const { namespace = '', name = '', uid = '' } = metadata ?? {};
  const volumeName = `pvc-${uid}`;
  // The claim's name is for people who look; the uid alone tells folders apart.
  const path = join(folder, `${volumeName}_${namespace}_${name}`.slice(0, longestName));
  const storage = spec?.resources?.requests?.storage;
  return {
    metadata: {
      name: volumeName,
      annotations: { [annotations.provisionedBy]: storageClass.provisioner ?? '', [annotations.boundByController]: 'yes' },
      finalizers: [finalizers.volumeProtection, finalizers.localPath],
    },
    spec: {
      capacity: storage ? { storage } : {},
      accessModes: spec?.accessModes ?? [],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata?.name ?? '',
      volumeMode: 'Filesystem',
      claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid },
      nodeAffinity: onlyOnNode(nodeName),
      persistentVolumeSource: { local: { path } },
    },
  };
}

/** The node whose agent has to remove the data before the volume goes; undefined when there is nothing to remove. */
export function awaitedNode({ metadata, ...volume }: PersistentVolume): string | undefined {
  const isAwaited = metadata?.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizers.localPath);
  return isAwaited ? (nodeOfVolume(volume) ?? '') : undefined;
}
