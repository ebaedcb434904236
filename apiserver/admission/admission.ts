import type { KindName } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Eventually } from '../eventually.ts';

/** For a kind: the kinds whose objects a rule reads to judge a new object of it, besides its namespace. */
export type AdmissionReads = Readonly<Partial<Record<KindName, readonly KindName[]>>>;

/**
 * A rule about objects that needs to know more than the object. `create` is called once for each new one, after
 * defaults and before validation. May change the object; refuses with an ApiError, thrown or of its promise. Sentences
 * given to `warn` reach the writer. Returns a promise only where it must wait: each costs every create memory.
 */
export interface Admission {
  /** Absent: none. Items of a stream wait for earlier writes of what their admission reads. */
  readonly reads?: AdmissionReads;
  create(kind: Kind, object: ApiObject, warn?: (text: string) => void): Eventually<void>;
  /**
   * The same for an object that an update or a patch changes; may be called several times for one. Refuses, and changes
   * nothing.
   */
  update?(kind: Kind, next: ApiObject, previous: ApiObject): Promise<void>;
}

/** Several rules as one, in order; the first that refuses ends it. */
export function composeAdmission(rules: readonly Admission[]): Admission {
  const createFrom = (first: number, ...args: Parameters<Admission['create']>): Eventually<void> => {
    for (let i = first; i < rules.length; i++) {
      const judging = rules[i]!.create(...args);
      if (judging) return judging.then(() => createFrom(i + 1, ...args));
    }
    return undefined;
  };
  return {
    reads: mergeReads(rules.map(({ reads = {} }) => reads)),
    create: (kind, object, warn) => createFrom(0, kind, object, warn),
    async update(kind, next, previous) {
      for (const rule of rules) await rule.update?.(kind, next, previous);
    },
  };
}

function mergeReads(all: readonly AdmissionReads[]): AdmissionReads {
  const merged = new Map<KindName, Set<KindName>>();
  for (const reads of all)
    for (const [kind, read] of Object.entries(reads) as [KindName, readonly KindName[]][])
      merged.set(kind, new Set([...(merged.get(kind) ?? []), ...read]));
  return Object.fromEntries([...merged].map(([kind, read]) => [kind, [...read]]));
}
