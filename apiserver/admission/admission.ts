import type { KindName } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';

/** For a kind: the kinds whose objects a rule reads to judge a new object of it, besides its namespace. */
export type AdmissionReads = Readonly<Partial<Record<KindName, readonly KindName[]>>>;

/**
 * A rule about objects that needs to know more than the object. `create` is called once for each new one, after
 * defaults and before validation. May change the object; refuses by throwing an ApiError. Sentences given to `warn`
 * reach the writer. Returns undefined for kinds that the rule does not concern, which then costs a create no promise.
 */
export interface Admission {
  /** Absent: none. Items of a stream wait for earlier writes of what their admission reads. */
  readonly reads?: AdmissionReads;
  create(kind: Kind, object: ApiObject, warn?: (text: string) => void): Promise<void> | undefined;
  /**
   * The same for an object that an update or a patch changes; may be called several times for one. Refuses, and changes
   * nothing.
   */
  update?(kind: Kind, next: ApiObject, previous: ApiObject): Promise<void>;
}

/** Several rules as one, in order; the first that refuses ends it. */
export function composeAdmission(rules: readonly Admission[]): Admission {
  return {
    reads: mergeReads(rules.map(({ reads = {} }) => reads)),
    async create(kind, object, warn) {
      for (const rule of rules) {
        const judging = rule.create(kind, object, warn);
        if (judging) await judging;
      }
    },
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
