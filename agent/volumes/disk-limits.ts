import { type Clock, pause } from '../../client/clock.ts';
import { isActive } from '../pod/pod-lifecycle.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { fileBytes, type StorageLimit, storageLimits, usedWords } from './storage-limits.ts';
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
  /** May be called again for a pod that is evicted already. */
  evict(podUid: string, eviction: Eviction): void;
  readonly clock: Clock;
  /** How many entries a look takes, all folders together. */
  readonly entriesOfLook?: number;
}

/** As often as Kubernetes looks. */
const lookMs = 10_000;
/**
 * Entries of one look, all folders together: about a tenth of a second of processor time.
 * A larger tree is measured over several looks.
 */
const mostEntries = 10_000;
/** Entries between two looks at what else there is to do. */
const entriesAtOnce = 250;
/** Kubernetes' grace of an eviction at once. */
const graceSeconds = 1;

/** What is known of one folder. */
interface Measured {
  /** Undefined before it was measured to its end once. */
  bytes: number | undefined;
  /** Whether that is not all. */
  isPartial: boolean;
  /** The look that ended its last measurement; -1 before that. */
  look: number;
  /** While it is being measured. */
  meter: TreeMeter | undefined;
}

/**
 * Evicts pods that hold more of the disk than their limits say: an emptyDir beyond its sizeLimit; a container's
 * writable layer and log beyond its limit of ephemeral-storage; all of that, with the emptyDirs, beyond the limits of a
 * pod's containers together. Nothing stops them at the limit itself: the disk is looked at now and then, and each look
 * is bounded, whatever the containers write. A folder counts once for all limits that it is part of.
 */
export function createDiskLimits({ records, podDir, evict, clock, entriesOfLook = mostEntries }: DiskLimitsOptions) {
  const folders = new Map<string, Measured>();
  let looks = 0;

  function limits(): StorageLimit[] {
    const active = [...records()].filter(({ life }) => isActive(life));
    return active.flatMap((record) => storageLimits(record, podDir(record.uid)));
  }

  /** One look: those that are begun are measured on, then those that waited longest. */
  async function look(): Promise<void> {
    const all = limits();
    const wanted = new Set(all.flatMap((limit) => limit.folders));
    for (const [path, { meter }] of folders) {
      if (wanted.has(path)) continue;
      meter?.close();
      folders.delete(path);
    }
    for (const path of wanted)
      if (!folders.has(path)) folders.set(path, { bytes: undefined, isPartial: false, look: -1, meter: undefined });
    const isBegun = ({ meter }: Measured): number => (meter === undefined ? 1 : 0);
    const turns = [...folders].sort(([, a], [, b]) => isBegun(a) - isBegun(b) || a.look - b.look);
    let left = entriesOfLook;
    looks++;
    for (const [path, folder] of turns) {
      if (left <= 0) break;
      left -= await measure(path, folder, left);
    }
    for (const limit of all) {
      const message = breachOf(limit, folders);
      if (message !== undefined) evict(limit.podUid, { reason: 'Evicted', message, gracePeriodSeconds: graceSeconds });
    }
  }

  async function measure(path: string, folder: Measured, most: number): Promise<number> {
    folder.meter ??= new TreeMeter(path);
    const { meter } = folder;
    let looked = 0;
    while (looked < most && !meter.isDone) {
      looked += meter.step(Math.min(entriesAtOnce, most - looked));
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (meter.isDone) Object.assign(folder, { bytes: meter.bytes, isPartial: meter.isPartial, look: looks, meter: undefined });
    return looked;
  }

  return {
    look,
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await pause(lookMs, signal, clock);
        if (!signal.aborted) await look();
      }
      for (const { meter } of folders.values()) meter?.close();
    },
  };
}

const uncountable = ' Not all of it can be counted: its directories are too many, or nested too deep.';

/** Why a pod is evicted for a limit; undefined where it is kept. What cannot be counted would be a way around it. */
function breachOf({ limitBytes, folders: parts, files, message }: StorageLimit, folders: ReadonlyMap<string, Measured>) {
  const known = parts.map((path) => folders.get(path));
  const isPartial = known.some((folder) => folder?.isPartial);
  const used = sum(known.map(bytesOf)) + sum(files.map(fileBytes));
  if (used <= limitBytes && !isPartial) return undefined;
  return message(usedWords(used)) + (isPartial ? uncountable : '');
}

/**
 * What is in a folder at the least, as far as it is known: a breach is seen before a large tree is measured to its end.
 */
function bytesOf(folder: Measured | undefined): number {
  return Math.max(folder?.bytes ?? 0, folder?.meter?.bytes ?? 0);
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
