import type { LocalImage } from '../runtime/runtime.ts';
import type { PullRecord } from './pulled-images.ts';
import { canonicalReference } from './reference.ts';

/** The image garbage collection policy: the kubelet's names and defaults, and its scope. */
export interface CollectionPolicy {
  /** Percent of the disk in use from which on images are removed, until `lowPercent` is reached; 100 turns it off. */
  readonly highPercent: number;
  readonly lowPercent: number;
  /** An image that was seen for the first time more recently stays. */
  readonly minAgeMs: number;
  /** An image that was not used for so long goes, whatever the disk has left; 0 turns it off. */
  readonly maxAgeMs: number;
  /** What Berth pulled, or everything that no container uses. */
  readonly scope: 'pulled' | 'all';
  /** References that stay. */
  readonly pinned: readonly string[];
}

/**
 * Since when an image is known, and when a container was last seen with it. In milliseconds since 1970;
 * `-Infinity` for never.
 */
export interface ImageHistory {
  readonly firstSeenAt: number;
  readonly lastUsedAt: number;
}

export interface Disk {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** As the kubelet counts: what is reserved for root counts as used. */
export function usedPercent({ capacityBytes, availableBytes }: Disk): number {
  return capacityBytes <= 0 ? 0 : 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
}

/** How much has to become free to be at the low threshold; 0 while the high one is not reached. */
export function computeBytesToFree(disk: Disk, { highPercent, lowPercent }: CollectionPolicy): number {
  if (highPercent >= 100 || usedPercent(disk) < highPercent) return 0;
  return Math.max(0, Math.floor((disk.capacityBytes * (100 - lowPercent)) / 100) - disk.availableBytes);
}

/**
 * The history after a look at what there is. What the first look finds counts as old: it was there before this agent.
 */
export function computeHistory(
  before: ReadonlyMap<string, ImageHistory> | undefined,
  images: readonly LocalImage[],
  used: ReadonlySet<string>,
  nowMs: number,
): Map<string, ImageHistory> {
  return new Map(
    images.map(({ id }) => {
      const known = before?.get(id) ?? { firstSeenAt: before === undefined ? 0 : nowMs, lastUsedAt: Number.NEGATIVE_INFINITY };
      return [id, used.has(id) ? { ...known, lastUsedAt: nowMs } : known];
    }),
  );
}

export interface CollectionFacts {
  readonly images: readonly LocalImage[];
  readonly history: ReadonlyMap<string, ImageHistory>;
  /** Ids of the images of all containers of the engine. */
  readonly used: ReadonlySet<string>;
  /** References that pods of this node name. */
  readonly wanted: readonly string[];
  readonly nowMs: number;
  /** Since when this agent looks: nothing is known of the time before. */
  readonly sinceMs: number;
  record(imageId: string): PullRecord | undefined;
}

/** The images that may go, the one unused longest first; `expired` ones go even when there is room. Pure. */
export function decideCollection(policy: CollectionPolicy, facts: CollectionFacts): { image: LocalImage; expired: boolean }[] {
  const kept = new Set([...facts.wanted, ...policy.pinned].map((reference) => canonicalReference(reference) ?? reference));
  const { history, nowMs } = facts;
  const historyOf = ({ id }: LocalImage) => history.get(id) ?? { firstSeenAt: nowMs, lastUsedAt: nowMs };
  return facts.images
    .filter((image) => {
      if (facts.used.has(image.id) || isNamed(image, kept)) return false;
      // The label of an image that was pulled for a pod is its author's: it must not keep the disk full.
      return isOwn(image, facts.record(image.id)) || (policy.scope === 'all' && image.pinned !== true);
    })
    .map((image) => ({ image, ...historyOf(image) }))
    .filter(({ firstSeenAt }) => nowMs - firstSeenAt >= policy.minAgeMs)
    .toSorted((a, b) => compare(a.lastUsedAt, b.lastUsedAt) || compare(a.firstSeenAt, b.firstSeenAt))
    .map(({ image, firstSeenAt, lastUsedAt }) => ({
      image,
      expired: policy.maxAgeMs > 0 && nowMs - Math.max(firstSeenAt, lastUsedAt, facts.sinceMs) > policy.maxAgeMs,
    }));
}

/** Infinities compare too, where a difference would be none. */
function compare(a: number, b: number): number {
  return a < b ? -1 : Number(a > b);
}

function isNamed({ id, names }: LocalImage, references: ReadonlySet<string>): boolean {
  return [id, ...names].some((name) => references.has(canonicalReference(name) ?? name) || references.has(name));
}

/** Berth pulled it, and it has no other name. */
function isOwn({ names }: LocalImage, record: PullRecord | undefined): boolean {
  if (record === undefined || record.names.length === 0) return false;
  const known = new Set(record.names.map(canonicalReference));
  const repositories = new Set(record.names.map(repositoryOf));
  return names.every((name) => (name.includes('@') ? repositories.has(repositoryOf(name)) : known.has(canonicalReference(name))));
}

function repositoryOf(reference: string): string {
  return (canonicalReference(reference) ?? reference).replace(/@.*$|:[^/:]*$/, '');
}
