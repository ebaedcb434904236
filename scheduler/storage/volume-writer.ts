import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { compileNodeSelector } from '../../api/kinds/node/selector.ts';
import { selectedNode } from '../../api/kinds/storage.ts';
import { boundVolume, isBound } from '../../api/kinds/volume-matching.ts';
import { objectKey, splitKey } from '../../api/meta/key.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { linkAbort, onAbort } from '../../client/abort.ts';
import type { Client, Clock, InformerHandler } from '../../client/index.ts';
import type { Lister } from '../../client/informer/indexer.ts';
import { type Rejection, unresolvable } from '../framework/plugin.ts';
import type { Promised } from './promises.ts';

export interface VolumeWriterOptions {
  readonly client: Pick<Client, 'persistentVolumes' | 'persistentVolumeClaims'>;
  readonly claims: Pick<Lister<PersistentVolumeClaim>, 'get'>;
  readonly volumes: Pick<Lister<PersistentVolume>, 'get'>;
  readonly nodes: Pick<Lister<Node>, 'get'>;
  readonly clock: Clock;
}

/** Makes promises true. Called for many pods at once, for one claim also by several. */
export interface VolumeWriter {
  /**
   * Writes each claim's volume, or where it is to be made, and waits until the informers show the claims bound. A
   * rejection says what did not come true in time; throws what the API says, ABORTED when another writer was faster.
   */
  keep(promised: readonly Promised[], signal: AbortSignal): Promise<Rejection | undefined>;
  /** To be told of all that changes. */
  readonly watching: {
    readonly claims: InformerHandler<PersistentVolumeClaim>;
    readonly volumes: InformerHandler<PersistentVolume>;
  };
}

/**
 * Berth's own provisioner takes a fraction of this. One that takes longer is not waited for with a slot for bindings in
 * hand: the pod is tried again when its claim changes.
 */
export const volumeWaitMs = 10_000;

export const waitsForVolume = (reason: string): Rejection => unresolvable(reason, ['storage/changed', 'storage/class']);
const unreached = unresolvable('node(s) had volume node affinity conflict', ['node/labels', 'storage/changed']);

export function createVolumeWriter(options: VolumeWriterOptions): VolumeWriter {
  return new ClaimWriter(options);
}

class ClaimWriter implements VolumeWriter {
  readonly #options: VolumeWriterOptions;
  /** Listeners for changes of a claim, by the claim's key. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #tellOfClaim = (claim: PersistentVolumeClaim) => this.#tell(objectKey(claim));
  readonly #tellOfVolume = ({ spec }: PersistentVolume) =>
    this.#tell(`${spec?.claimRef?.namespace ?? ''}/${spec?.claimRef?.name ?? ''}`);
  readonly watching: {
    readonly claims: InformerHandler<PersistentVolumeClaim>;
    readonly volumes: InformerHandler<PersistentVolume>;
  };

  constructor(options: VolumeWriterOptions) {
    this.#options = options;
    this.watching = {
      claims: {
        name: 'scheduler volume writer',
        onAdd: this.#tellOfClaim,
        onUpdate: this.#tellOfClaim,
        onDelete: this.#tellOfClaim,
      },
      volumes: { name: 'scheduler volume writer', onAdd: this.#tellOfVolume, onUpdate: this.#tellOfVolume },
    };
  }

  async keep(promised: readonly Promised[], signal: AbortSignal): Promise<Rejection | undefined> {
    const own = linkAbort(signal);
    let refused: Rejection | undefined;
    const settle = async (each: Promised) => {
      const outcome = await this.#settled(each, own.signal);
      if (outcome === undefined || refused !== undefined) return;
      refused = outcome;
      own.abort();
    };
    try {
      // Before the first write: what comes of it may be there and gone again before its answer.
      const outcomes = promised.map(settle);
      await Promise.all(promised.map((each) => this.#write(each, signal)));
      await Promise.all(outcomes);
      return refused;
    } finally {
      own.abort();
      own.unlink();
    }
  }

  #tell(key: string): void {
    for (const look of [...(this.#waiting.get(key) ?? [])]) look();
  }

  async #write(promised: Promised, signal: AbortSignal): Promise<void> {
    const claim = this.#options.claims.get(promised.claim);
    if (!isSame(claim, promised)) return;
    if (promised.volume === undefined) return this.#select(claim, promised.nodeName, signal);
    const volume = this.#options.volumes.get(promised.volume);
    const change = volume && boundVolume(volume, claim);
    if (!change) return;
    const target = { name: promised.volume };
    await this.#options.client.persistentVolumes.patch(target, versionOf(volume, change), {}, { signal });
  }

  async #select(claim: PersistentVolumeClaim, nodeName: string, signal: AbortSignal): Promise<void> {
    if (isBound(claim) || selectedNode(claim) === nodeName) return;
    const { namespace, name = '' } = claim.metadata ?? {};
    const change = versionOf(claim, { metadata: { annotations: { [annotations.selectedNode]: nodeName } } });
    await this.#options.client.persistentVolumeClaims.patch({ namespace, name }, change, {}, { signal });
  }

  /** Undefined as long as it may still come true. */
  #judge(promised: Promised, wasSelected: boolean): 'kept' | Rejection | undefined {
    const claim = this.#options.claims.get(promised.claim);
    const name = splitKey(promised.claim).name;
    if (!isSame(claim, promised)) return waitsForVolume(`persistentvolumeclaim "${name}" not found`);
    if (claim.metadata?.deletionTimestamp !== undefined)
      return waitsForVolume(`persistentvolumeclaim "${name}" is being deleted`);
    if (isBound(claim)) {
      const volume = this.#options.volumes.get(claim.spec?.volumeName ?? '');
      return volume && (this.#isReached(volume, promised.nodeName) ? 'kept' : unreached);
    }
    if (wasSelected && selectedNode(claim) !== promised.nodeName)
      return waitsForVolume(`the volume of claim "${name}" cannot be made on the node; the claim's events say why`);
    return undefined;
  }

  #isReached({ spec }: PersistentVolume, nodeName: string): boolean {
    const { required } = spec?.nodeAffinity ?? {};
    const node = this.#options.nodes.get(nodeName);
    return required === undefined || (node !== undefined && compileNodeSelector(required)(node));
  }

  #settled(promised: Promised, signal: AbortSignal): Promise<Rejection | undefined> {
    if (signal.aborted) return Promise.resolve(tooLate(promised));
    return new Promise((resolve) => {
      let wasSelected = false;
      const finish = (outcome: Rejection | undefined) => {
        stopClock();
        unlink();
        const others = this.#waiting.get(promised.claim);
        others?.delete(look);
        if (others?.size === 0) this.#waiting.delete(promised.claim);
        resolve(outcome);
      };
      const look = () => {
        const outcome = this.#judge(promised, wasSelected);
        wasSelected ||= selectedNode(this.#options.claims.get(promised.claim)) === promised.nodeName;
        if (outcome !== undefined) finish(outcome === 'kept' ? undefined : outcome);
      };
      const late = () => finish(tooLate(promised));
      const stopClock = this.#options.clock.after(volumeWaitMs, late);
      const unlink = onAbort(signal, late);
      const listeners = this.#waiting.get(promised.claim) ?? new Set();
      this.#waiting.set(promised.claim, listeners.add(look));
      look();
    });
  }
}

function tooLate({ claim, volume }: Promised): Rejection {
  const { name } = splitKey(claim);
  const missing = volume === undefined ? 'its volume has not been created yet' : `volume "${volume}" is not bound to it yet`;
  return waitsForVolume(`claim "${name}" was waited for ${volumeWaitMs / 1000} s: ${missing}; its events may say why`);
}

function isSame(claim: PersistentVolumeClaim | undefined, { claimUid }: Promised): claim is PersistentVolumeClaim {
  return claim !== undefined && (claim.metadata?.uid ?? '') === claimUid;
}

/** A change of that very version: a decision on an older one meets a conflict. */
function versionOf({ metadata = {} }: PersistentVolume | PersistentVolumeClaim, change: object): object {
  const { uid, resourceVersion } = metadata;
  return { ...change, metadata: { ...('metadata' in change ? (change.metadata as object) : {}), uid, resourceVersion } };
}
