import type { ApiObject, Kind } from '../../api/kinds/kind.ts';

/**
 * A rule about objects that needs to know more than the object. `create` is called once for each new one, after
 * defaults and before validation. May change the object; refuses by throwing an ApiError. What `warn` is told reaches
 * the writer.
 */
export interface Admission {
  create(kind: Kind, object: ApiObject, warn?: (text: string) => void): Promise<void>;
  /**
   * The same for an object that an update or a patch changes; may be called several times for one. Refuses, and changes
   * nothing.
   */
  update?(kind: Kind, next: ApiObject, previous: ApiObject): Promise<void>;
}

/** Several rules as one, in order; the first that refuses ends it. */
export function composeAdmission(rules: readonly Admission[]): Admission {
  return {
    async create(kind, object, warn) {
      for (const rule of rules) await rule.create(kind, object, warn);
    },
    async update(kind, next, previous) {
      for (const rule of rules) await rule.update?.(kind, next, previous);
    },
  };
}
