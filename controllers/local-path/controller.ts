import { isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { selectedNode, storageClassOf } from '../../api/kinds/storage.ts';
import { isLocalPath } from '../../api/kinds/storage-class/local-path.ts';
import { objectKey } from '../../api/meta/key.ts';
import { annotations, finalizers } from '../../api/meta/well-known.ts';
import { type Client, type EventRecorder, type Informer, type Logger, referenceTo } from '../../client/index.ts';
import { createClaimTeller, type Note } from '../claim-teller.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule } from '../rules.ts';
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
 * Makes volumes that are folders of nodes, for claims whose pod has its node, and lets go of volumes of nodes that are
 * no more. The folders are the agents' work: made when a pod first uses them, removed when the volume is deleted
 * (agent/local-path/).
 */
export function createLocalPath(options: LocalPathOptions): Controller {
  return new LocalPathProvisioner(options);
}

class LocalPathProvisioner implements Controller {
  readonly #options: LocalPathOptions;
  readonly #tell: (claim: PersistentVolumeClaim, note: Note) => void;
  readonly name = 'local-path';
  readonly sources: readonly Source[];

  constructor(options: LocalPathOptions) {
    this.#options = options;
    this.#tell = createClaimTeller(options.events);
    this.sources = [
      changesOf(options.volumes, (volume) => this.#ofVolume(volume)),
      changesOf(options.claims, (claim) => this.#ofClaim(claim)),
      changesOf(options.classes, (storageClass) => this.#ofClass(storageClass)),
      changesOf(options.nodes, (node) => this.#ofNode(node), {
        matters: (next, old) => this.#folderOf(next) !== this.#folderOf(old),
      }),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<void> {
    const named = readStorageKey(key);
    if ('claim' in named) await this.#syncClaim(this.#options.claims.lister.get(named.claim), signal);
    else await this.#syncVolume(this.#options.volumes.lister.get(named.volume), signal);
  }

  async #syncClaim(claim: PersistentVolumeClaim | undefined, signal: AbortSignal): Promise<void> {
    if (!claim) return;
    const storageClass = this.#options.classes.lister.get(storageClassOf(claim));
    if (!isLocalPath(storageClass?.provisioner)) return;
    const nodeName = selectedNode(claim);
    const node = nodeName === undefined ? undefined : await this.#nodeNamed(nodeName, signal);
    const hasVolume = this.#options.volumes.lister
      .byIndex('claim', objectKey(claim))
      .some(({ spec }) => spec?.claimRef?.uid === claim.metadata?.uid);
    const decision = decideClaim(claim, { storageClass, node, hasVolume });
    if (decision.kind === 'none') return;
    if (decision.kind === 'make') return this.#make(claim, decision.volume, signal);
    this.#tell(claim, failed(decision.message));
    if (decision.kind === 'elsewhere') await this.#patchAnnotation(claim, signal);
  }

  async #make(claim: PersistentVolumeClaim, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, events, logger } = this.#options;
    const name = volume.metadata?.name ?? '';
    try {
      await client.persistentVolumes.create(volume, {}, { signal });
    } catch (error) {
      // By an earlier look at the same claim: the name has its uid.
      if (isAlreadyExists(error)) return;
      if (!signal.aborted) this.#tell(claim, failed(error instanceof Error ? error.message : String(error)));
      throw error;
    }
    events.event(referenceTo('PersistentVolumeClaim', claim), 'Normal', 'ProvisioningSucceeded', `made volume ${name}`);
    logger.info({ claim: objectKey(claim), volume: name }, 'made a volume');
  }

  /** Tells the scheduler that it has to choose again. */
  async #patchAnnotation({ metadata = {} }: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = metadata;
    const patch = { metadata: { uid, resourceVersion, annotations: { [annotations.selectedNode]: null } } };
    await this.#options.client.persistentVolumeClaims.patch({ namespace, name }, patch, {}, { signal });
  }

  /** The data of a node that is gone are gone, and no agent is left to report it. */
  async #syncVolume(volume: PersistentVolume | undefined, signal: AbortSignal): Promise<void> {
    const nodeName = volume && awaitedNode(volume);
    if (!volume || nodeName === undefined || (nodeName !== '' && (await this.#nodeNamed(nodeName, signal)))) return;
    const { name = '', uid, resourceVersion, finalizers: present = [] } = volume.metadata ?? {};
    const left = present.filter((each) => each !== finalizers.localPath);
    await this.#options.client.persistentVolumes.patch(
      { name },
      { metadata: { uid, resourceVersion, finalizers: left } },
      {},
      { signal },
    );
    this.#options.logger.info({ volume: name, node: nodeName }, 'let a volume go whose node is gone');
  }

  /** A node that the cache does not have is read from the server: the cache may be behind. */
  async #nodeNamed(name: string, signal: AbortSignal): Promise<Node | undefined> {
    const known = this.#options.nodes.lister.get(name);
    if (known) return known;
    try {
      return await this.#options.client.nodes.get({ name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #ofVolume(volume: PersistentVolume): string[] {
    return awaitedNode(volume) === undefined ? [] : [keyOfVolume(volume)];
  }

  #ofClaim(claim: PersistentVolumeClaim): string[] {
    return claim.spec?.volumeName ? [] : [keyOfClaim(objectKey(claim))];
  }

  #ofClass({ metadata }: StorageClass): string[] {
    return this.#options.claims.lister.byIndex('openClass', metadata?.name ?? '').map((claim) => keyOfClaim(objectKey(claim)));
  }

  #ofNode({ metadata }: Node): string[] {
    return [
      ...this.#options.claims.lister.byIndex('openNode', metadata?.name ?? '').map((claim) => keyOfClaim(objectKey(claim))),
      ...this.#options.volumes.lister.byIndex('awaitedNode', metadata?.name ?? '').map(keyOfVolume),
    ];
  }

  #folderOf({ metadata }: Node): string | undefined {
    return metadata?.annotations?.[annotations.localPathFolder];
  }
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
  name: 'local-path',
  component: 'local-path-provisioner',
  rules: [rule(['create'], '', 'persistentvolumes')],
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
