import { statfs } from 'node:fs/promises';
import { type Clock, pause } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events/events.ts';
import type { Logger } from '../../client/logger.ts';
import type { ContainerRuntime, ImageService, LocalImage } from '../runtime/runtime.ts';
import {
  type CollectionPolicy,
  computeBytesToFree,
  computeHistory,
  type Disk,
  decideCollection,
  type ImageHistory,
  usedPercent,
} from './decide-collection.ts';
import type { ImageHolds } from './image-holds.ts';
import { formatSize } from './pull-progress.ts';
import type { PullRecords } from './pulled-images.ts';

/** Removes unused images when the disk fills up, and those that were not used for long. */
export interface ImageCollector {
  /** Looks at the disk every 10 s, and at the images every 5 min, until aborted. Never throws. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ImageCollectorOptions {
  readonly images: Pick<ImageService, 'list' | 'remove' | 'usedByContainers'>;
  /** How full the file system is that holds the images. */
  readonly disk: () => Promise<Disk>;
  readonly records: Pick<PullRecords, 'get' | 'reconcile'>;
  readonly holds: ImageHolds;
  /** The references that pods of this node name. */
  wanted(): readonly string[];
  /** Told when images are gone. */
  onRemoved(): void;
  readonly policy: CollectionPolicy;
  readonly nodeName: string;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const diskMs = 10_000;
/** The kubelet's figure; also how long after one that did not free enough the next is tried. */
const collectionMs = 300_000;

export function createImageCollector(options: ImageCollectorOptions): ImageCollector {
  return new UnusedImageCollector(options);
}

class UnusedImageCollector implements ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #node: { kind: string; apiVersion: string; name: string; uid: string };
  #history: ReadonlyMap<string, ImageHistory> | undefined;
  #failures = 0;
  #sinceMs = Number.POSITIVE_INFINITY;

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
    this.#node = { kind: 'Node', apiVersion: 'v1', name: options.nodeName, uid: options.nodeName };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let collectedAt = Number.NEGATIVE_INFINITY;
    let isEnough = true;
    while (!signal.aborted) {
      const isDue = Math.abs(clock.now() - collectedAt) >= collectionMs;
      if (isDue || (isEnough && (await isTooFull(this.#options)))) {
        isEnough = await this.#collectAndTell(signal);
        collectedAt = clock.now();
      }
      await pause(diskMs, signal, clock);
    }
  }

  async #remove(image: LocalImage): Promise<boolean> {
    const removal = this.#options.holds.remove(image, async () => {
      // By each of its names, so that the engine refuses what a container has come to use meanwhile;
      // an image without a name goes by its id.
      for (const name of image.names.length === 0 ? [image.id] : image.names)
        if (!(await this.#options.images.remove(name))) return false;
      return true;
    });
    const isGone = (await removal) ?? false;
    if (isGone) this.#options.onRemoved();
    return isGone;
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const { records, images, clock, policy, logger } = this.#options;
    const found = await records.reconcile(() => images.list());
    const used = await images.usedByContainers();
    if (signal.aborted) return;
    const nowMs = clock.now();
    this.#sinceMs = Math.min(this.#sinceMs, nowMs);
    this.#history = computeHistory(this.#history, found, used, nowMs);
    const record = (imageId: string) => records.get(imageId);
    const candidates = decideCollection(policy, {
      images: found,
      history: this.#history,
      used,
      wanted: this.#options.wanted(),
      nowMs,
      sinceMs: this.#sinceMs,
      record,
    });
    const before = await this.#options.disk();
    const needed = computeBytesToFree(before, policy);
    let eligible = 0;
    let left = needed;
    for (const { image, expired } of candidates) {
      if (signal.aborted) return;
      if (left <= 0 && !expired) continue;
      const why = left > 0 ? `the disk is ${usedPercent(before)}% full` : 'it was not used for long';
      if (!(await this.#remove(image))) continue;
      eligible += image.sizeBytes;
      logger.info({ image: image.names[0] ?? image.id, size: formatSize(image.sizeBytes) }, `image removed: ${why}`);
      // Images share layers: only the disk knows what became free.
      left = needed - ((await this.#options.disk()).availableBytes - before.availableBytes);
    }
    if (needed > 0 && left > 0) throw new NotEnoughError(needed, eligible);
  }

  async #collectAndTell(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#collect(signal);
      this.#failures = 0;
      return true;
    } catch (err) {
      this.#failures++;
      this.#options.logger.warn({ node: this.#options.nodeName, err }, 'cannot collect images, will try again');
      const message = err instanceof Error ? err.message : String(err);
      if (err instanceof NotEnoughError) this.#options.events.event(this.#node, 'Warning', 'FreeDiskSpaceFailed', message);
      // As the kubelet: the first failure may be one of the start.
      if (this.#failures > 1) this.#options.events.event(this.#node, 'Warning', 'ImageGCFailed', message);
      return false;
    }
  }
}

async function isTooFull({ disk, policy }: ImageCollectorOptions): Promise<boolean> {
  // An unreadable disk is reported when a collection is due.
  return disk().then(
    (now) => computeBytesToFree(now, policy) > 0,
    () => false,
  );
}

class NotEnoughError extends Error {
  constructor(needed: number, eligible: number) {
    super(
      'Failed to garbage collect required amount of images. ' +
        `Attempted to free ${needed} bytes, but only found ${eligible} bytes eligible to free.`,
    );
  }
}

/** The file system that the engine keeps its images on. */
export function imageDisk(runtime: Pick<ContainerRuntime, 'version'>): () => Promise<Disk> {
  let rootDir: Promise<string> | undefined;
  return async () => {
    rootDir ??= runtime.version().then((version) => version.rootDir);
    // Retried when the engine is unavailable.
    rootDir.catch(() => {
      rootDir = undefined;
    });
    const { blocks, bavail, bsize } = await statfs(await rootDir);
    return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
  };
}
