import type { ApiObject, Kind } from '../../api/kinds/kind.ts';

/**
 * A rule about new objects that needs to know more than the object: called once for each create, after defaults and before validation.
 * May change the object; refuses by throwing an ApiError.
 */
export interface Admission {
  create(kind: Kind, object: ApiObject): Promise<void>;
}

/** Several rules as one, in order; the first that refuses ends it. */
export function composeAdmission(rules: readonly Admission[]): Admission {
  return {
    async create(kind, object) {
      for (const rule of rules) await rule.create(kind, object);
    },
  };
}
