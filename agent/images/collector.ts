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
  const { images, records, holds, policy, nodeName, clock, logger } = options;
  const node = { kind: 'Node', apiVersion: 'v1', name: nodeName, uid: nodeName };
  let history: ReadonlyMap<string, ImageHistory> | undefined;
  let failures = 0;
  let sinceMs = Number.POSITIVE_INFINITY;

  async function remove(image: LocalImage): Promise<boolean> {
    const removal = holds.remove(image, async () => {
      // By each of its names, so that the engine refuses what a container has come to use meanwhile; an image without a name goes by its id.
      for (const name of image.names.length === 0 ? [image.id] : image.names) if (!(await images.remove(name))) return false;
      return true;
    });
    const isGone = (await removal) ?? false;
    if (isGone) options.onRemoved();
    return isGone;
  }

  async function collect(signal: AbortSignal): Promise<void> {
    const found = await records.reconcile(images.list);
    const used = await images.usedByContainers();
    if (signal.aborted) return;
    const nowMs = clock.now();
    sinceMs = Math.min(sinceMs, nowMs);
    history = computeHistory(history, found, used, nowMs);
    const record = (imageId: string) => records.get(imageId);
    const candidates = decideCollection(policy, {
      images: found,
      history,
      used,
      wanted: options.wanted(),
      nowMs,
      sinceMs,
      record,
    });
    const before = await options.disk();
    const needed = computeBytesToFree(before, policy);
    let eligible = 0;
    let left = needed;
    for (const { image, expired } of candidates) {
      if (signal.aborted) return;
      if (left <= 0 && !expired) continue;
      const why = left > 0 ? `the disk is ${usedPercent(before)}% full` : 'it was not used for long';
      if (!(await remove(image))) continue;
      eligible += image.sizeBytes;
      logger.info({ image: image.names[0] ?? image.id, size: formatSize(image.sizeBytes) }, `image removed: ${why}`);
      // Images share layers: only the disk knows what became free.
      left = needed - ((await options.disk()).availableBytes - before.availableBytes);
    }
    if (needed > 0 && left > 0) throw new NotEnoughError(needed, eligible);
  }

  async function collectAndTell(signal: AbortSignal): Promise<boolean> {
    try {
      await collect(signal);
      failures = 0;
      return true;
    } catch (err) {
      failures++;
      logger.warn({ node: nodeName, err }, 'cannot collect images, will try again');
      const message = err instanceof Error ? err.message : String(err);
      if (err instanceof NotEnoughError) options.events.event(node, 'Warning', 'FreeDiskSpaceFailed', message);
      // As the kubelet: the first failure may be one of the start.
      if (failures > 1) options.events.event(node, 'Warning', 'ImageGCFailed', message);
      return false;
    }
  }

  return {
    async run(signal) {
      let collectedAt = Number.NEGATIVE_INFINITY;
      let isEnough = true;
      while (!signal.aborted) {
        const isDue = Math.abs(clock.now() - collectedAt) >= collectionMs;
        if (isDue || (isEnough && (await isTooFull(options)))) {
          isEnough = await collectAndTell(signal);
          collectedAt = clock.now();
        }
        await pause(diskMs, signal, clock);
      }
    },
  };
}

async function isTooFull({ disk, policy }: ImageCollectorOptions): Promise<boolean> {
  // A disk that cannot be read is told about when a collection is due.
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
    // An engine that is away is asked again.
    rootDir.catch(() => {
      rootDir = undefined;
    });
    const { blocks, bavail, bsize } = await statfs(await rootDir);
    return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
  };
}
