import type { ObjectMeta } from '../../api/generated/types.ts';

/** How many removed objects are remembered: far more than can be under way in a watch at one time. */
const maximumRemoved = 8_192;

/**
 * Tells news from echoes, so that doubled or late events change nothing: a version older than the one already known is
 * an echo, and so is anything about an identity that was removed. Versions are compared as the store's revision
 * numbers; what carries none is news.
 */
export interface Seen {
  isNews(metadata: ObjectMeta | undefined): boolean;
  /** Remembers the object as gone for good: later news of it is ignored. */
  remove(metadata: ObjectMeta | undefined): void;
}

export function createSeen(): Seen {
  const versions = new Map<string, number>();
  const removed = new Set<string>();
  return {
    isNews(metadata) {
      const uid = metadata?.uid ?? '';
      if (removed.has(uid)) return false;
      const version = Number(metadata?.resourceVersion || Number.NaN);
      if (version <= (versions.get(uid) ?? Number.NEGATIVE_INFINITY)) return false;
      if (!Number.isNaN(version)) versions.set(uid, version);
      return true;
    },
    remove(metadata) {
      const uid = metadata?.uid ?? '';
      versions.delete(uid);
      removed.add(uid);
      if (removed.size <= maximumRemoved) return;
      for (const oldest of removed) {
        removed.delete(oldest);
        break;
      }
    },
  };
}
