import { isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { selectedNode, storageClassOf } from '../../api/kinds/storage.ts';
import { isLocalPath } from '../../api/kinds/storage-class/local-path.ts';
import { objectKey } from '../../api/meta/key.ts';
import { annotations, finalizers } from '../../api/meta/well-known.ts';
import { type Client, type EventRecorder, type Informer, type Logger, referenceTo } from '../../client/index.ts';
import { createClaimTeller, type Note } from '../claim-teller.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { keyOfClaim, keyOfVolume, readStorageKey } from '../storage-keys.ts';
import { awaitedNode, decideClaim } from './decide.ts';

export interface LocalPathOptions {
  readonly client: Pick<Client, 'persistentVolumes' | 'persistentVolumeClaims' | 'nodes'>;
  /** With the indexes of `volume-binding`. */
  readonly volumes: Informer<PersistentVolume>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly classes: Informer<StorageClass>;
  readonly nodes: Informer<Node>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly logger: Logger;
}

/**
 * Makes volumes that are folders of nodes, for claims whose pod has its node, and lets go of volumes of nodes that are no more. The folders are the
 * agents' work: made when a pod first uses them, removed when the volume is deleted (agent/local-path/).
 */
export function createLocalPath(options: LocalPathOptions): Controller {
  const { client, volumes, claims, classes, nodes, events, logger } = options;
  const tell = createClaimTeller(events);

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const named = readStorageKey(key);
    if ('claim' in named) await syncClaim(claims.lister.get(named.claim), signal);
    else await syncVolume(volumes.lister.get(named.volume), signal);
  }

  async function syncClaim(claim: PersistentVolumeClaim | undefined, signal: AbortSignal): Promise<void> {
    if (!claim) return;
    const storageClass = classes.lister.get(storageClassOf(claim));
    if (!isLocalPath(storageClass?.provisioner)) return;
    const nodeName = selectedNode(claim);
    const node = nodeName === undefined ? undefined : await nodeNamed(nodeName, signal);
    const hasVolume = volumes.lister
      .byIndex('claim', objectKey(claim))
      .some(({ spec }) => spec?.claimRef?.uid === claim.metadata?.uid);
    const decision = decideClaim(claim, { storageClass, node, hasVolume });
    if (decision.kind === 'none') return;
    if (decision.kind === 'make') return make(claim, decision.volume, signal);
    tell(claim, failed(decision.message));
    if (decision.kind === 'elsewhere') await patchAnnotation(claim, signal);
  }

  async function make(claim: PersistentVolumeClaim, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const name = volume.metadata?.name ?? '';
    try {
      await client.persistentVolumes.create(volume, {}, { signal });
    } catch (error) {
      // By an earlier look at the same claim: the name has its uid.
      if (isAlreadyExists(error)) return;
      if (!signal.aborted) tell(claim, failed(error instanceof Error ? error.message : String(error)));
      throw error;
    }
    events.event(referenceTo('PersistentVolumeClaim', claim), 'Normal', 'ProvisioningSucceeded', `made volume ${name}`);
    logger.info({ claim: objectKey(claim), volume: name }, 'made a volume');
  }

  /** Tells the scheduler that it has to choose again. */
  async function patchAnnotation({ metadata = {} }: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = metadata;
    const patch = { metadata: { uid, resourceVersion, annotations: { [annotations.selectedNode]: null } } };
    await client.persistentVolumeClaims.patch({ namespace, name }, patch, {}, { signal });
  }

  /** The data of a node that is gone are gone, and no agent is left to report it. */
  async function syncVolume(volume: PersistentVolume | undefined, signal: AbortSignal): Promise<void> {
    const nodeName = volume && awaitedNode(volume);
    if (!volume || nodeName === undefined || (nodeName !== '' && (await nodeNamed(nodeName, signal)))) return;
    const { name = '', uid, resourceVersion, finalizers: present = [] } = volume.metadata ?? {};
    const left = present.filter((each) => each !== finalizers.localPath);
    await client.persistentVolumes.patch({ name }, { metadata: { uid, resourceVersion, finalizers: left } }, {}, { signal });
    logger.info({ volume: name, node: nodeName }, 'let a volume go whose node is gone');
  }

  /** That a node is gone is not believed of a copy that may be late. */
  async function nodeNamed(name: string, signal: AbortSignal): Promise<Node | undefined> {
    const known = nodes.lister.get(name);
    if (known) return known;
    try {
      return await client.nodes.get({ name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  const ofVolume = (volume: PersistentVolume) => (awaitedNode(volume) === undefined ? [] : [keyOfVolume(volume)]);
  const ofClaim = (claim: PersistentVolumeClaim) => (claim.spec?.volumeName ? [] : [keyOfClaim(objectKey(claim))]);
  const ofClass = ({ metadata }: StorageClass) =>
    claims.lister.byIndex('openClass', metadata?.name ?? '').map((claim) => keyOfClaim(objectKey(claim)));
  const ofNode = ({ metadata }: Node) => [
    ...claims.lister.byIndex('openNode', metadata?.name ?? '').map((claim) => keyOfClaim(objectKey(claim))),
    ...volumes.lister.byIndex('awaitedNode', metadata?.name ?? '').map(keyOfVolume),
  ];
  const folderOf = ({ metadata }: Node) => metadata?.annotations?.[annotations.localPathFolder];
  return {
    name: 'local-path',
    sources: [
      changesOf(volumes, ofVolume),
      changesOf(claims, ofClaim),
      changesOf(classes, ofClass),
      changesOf(nodes, ofNode, { matters: (next, old) => folderOf(next) !== folderOf(old) }),
    ],
    reconcile,
  };
}

/** Claims that wait for a volume on a node, and volumes that wait for the node's agent. */
export const openNodeIndexers = {
  openNode: (claim: PersistentVolumeClaim): readonly string[] => {
    const nodeName = selectedNode(claim);
    return nodeName === undefined || claim.spec?.volumeName ? [] : [nodeName];
  },
};
export const awaitedNodeIndexers = {
  awaitedNode: (volume: PersistentVolume): readonly string[] => {
    const nodeName = awaitedNode(volume);
    return nodeName === undefined ? [] : [nodeName];
  },
};

const failed = (message: string): Note => ({ type: 'Warning', reason: 'ProvisioningFailed', message });

export const localPath: ControllerDefinition = {
  component: 'local-path-provisioner',
  watches: {
    PersistentVolume: { whole: true, indexers: awaitedNodeIndexers },
    PersistentVolumeClaim: { whole: true, indexers: openNodeIndexers },
    StorageClass: { whole: true },
    Node: { whole: true },
  },
  create: ({ informer, ...context }) =>
    createLocalPath({
      ...context,
      volumes: informer('PersistentVolume'),
      claims: informer('PersistentVolumeClaim'),
      classes: informer('StorageClass'),
      nodes: informer('Node'),
    }),
};
