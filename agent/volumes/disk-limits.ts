import { join } from 'node:path';
import type { Pod } from '../../api/generated/types.ts';
import { quantityValue } from '../../api/meta/quantity.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { TreeMeter } from './tree-meter.ts';

/** Why the agent ends a pod; Kubernetes' words. */
export interface Eviction {
  readonly reason: 'Evicted';
  readonly message: string;
  readonly gracePeriodSeconds: number;
}

export interface DiskLimitsOptions {
  records(): Iterable<PodRecord>;
  podDir(podUid: string): string;
  evict(podUid: string, eviction: Eviction): void;
  readonly clock: Clock;
  /** How many entries a look takes, all volumes together. */
  readonly entriesOfLook?: number;
}

/** As often as Kubernetes looks. */
const lookMs = 10_000;
/** Entries of one look, all volumes together: about a tenth of a second of processor time. A larger tree is measured over several looks. */
const mostEntries = 10_000;
/** Entries between two looks at what else there is to do. */
const entriesAtOnce = 250;
/** Kubernetes' grace of an eviction at once. */
const graceSeconds = 1;

interface LimitedVolume {
  readonly podUid: string;
  readonly name: string;
  readonly path: string;
  readonly limitBytes: number;
  readonly limit: string;
}

/** The volumes of a pod on the disk that have a limit. A limit of 0 is none, as in Kubernetes. */
export function limitedVolumes(pod: Pod, podDir: string): LimitedVolume[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name = '', volumeSource }) => {
    const { medium = '', sizeLimit } = volumeSource?.emptyDir ?? {};
    const limitBytes = quantityValue(sizeLimit);
    if (medium !== '' || sizeLimit === undefined || limitBytes <= 0) return [];
    const path = join(podDir, 'volumes', 'emptyDir', name);
    return [{ podUid: pod.metadata?.uid ?? '', name, path, limitBytes, limit: sizeLimit.string ?? '' }];
  });
}

/**
 * Ends pods whose emptyDir on the disk holds more than its sizeLimit. Nothing stops them at the limit itself: the disk is looked at now and
 * then, and each look is bounded, whatever the containers write.
 */
export function createDiskLimits({ records, podDir, evict, clock, entriesOfLook = mostEntries }: DiskLimitsOptions) {
  const meters = new Map<string, TreeMeter>();

  function limited(): LimitedVolume[] {
    const active = [...records()].filter((record) => record.kill === undefined && record.ended === undefined && record.admitted);
    return active.flatMap(({ uid, pod }) => (pod === undefined ? [] : limitedVolumes(pod, podDir(uid))));
  }

  /** One look; the volumes that waited longest come first. */
  async function look(): Promise<void> {
    const volumes = new Map(limited().map((volume) => [volume.path, volume]));
    for (const [path, meter] of meters) if (!volumes.has(path)) drop(path, meter);
    const begun = [...meters.keys()].flatMap((path) => volumes.get(path) ?? []);
    const fresh = [...volumes.values()].filter(({ path }) => !meters.has(path));
    let left = entriesOfLook;
    for (const volume of [...begun, ...fresh]) {
      if (left <= 0) return;
      left -= await measure(volume, left);
    }
  }

  async function measure(volume: LimitedVolume, most: number): Promise<number> {
    const meter = meters.get(volume.path) ?? new TreeMeter(volume.path);
    meters.set(volume.path, meter);
    let looked = 0;
    while (looked < most && !meter.isDone && meter.bytes <= volume.limitBytes) {
      looked += meter.step(Math.min(entriesAtOnce, most - looked));
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (meter.bytes > volume.limitBytes) {
      const message = `Usage of EmptyDir volume "${volume.name}" exceeds the limit "${volume.limit}".`;
      evict(volume.podUid, { reason: 'Evicted', message, gracePeriodSeconds: graceSeconds });
    }
    // Measured anew by the next look, behind those that still wait.
    if (meter.isDone || meter.bytes > volume.limitBytes) drop(volume.path, meter);
    return looked;
  }

  function drop(path: string, meter: TreeMeter): void {
    meter.close();
    meters.delete(path);
  }

  return {
    look,
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await pause(lookMs, signal, clock);
        if (!signal.aborted) await look();
      }
      for (const [path, meter] of meters) drop(path, meter);
    },
  };
}
