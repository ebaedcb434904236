import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '../../../api/generated/types.ts';
import { keyPrefixOf } from '../../../api/kinds/identity.ts';
import { type Entry, placeOf } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';

/** A policy that bindings put in force. */
export interface BoundPolicy {
  readonly name: string;
  /** Another one for each version of the policy. */
  readonly version: string;
  readonly policy: ValidatingAdmissionPolicy;
  /** In the order of their names. */
  readonly bindings: readonly ValidatingAdmissionPolicyBinding[];
}

/**
 * Which policies are in force, from the watch caches: computed anew when it is read after a change. Policies and
 * bindings are acknowledged when the caches show them, so the next request is judged by them.
 */
export class PolicyIndex {
  readonly #policies: KindCache;
  readonly #bindings: KindCache;
  #bound: readonly BoundPolicy[] = [];
  #isStale = true;

  constructor(policies: KindCache, bindings: KindCache) {
    this.#policies = policies;
    this.#bindings = bindings;
  }

  /** Begins to follow the caches; the returned function ends it. */
  observe(): () => void {
    const stale = (): void => {
      this.#isStale = true;
    };
    const ends = [this.#policies, this.#bindings].map((cache) => cache.observe({ reset: stale, event: stale }));
    return () => {
      for (const end of ends) end();
    };
  }

  /** In the order of their names. */
  get bound(): readonly BoundPolicy[] {
    if (this.#isStale) {
      this.#bound = this.#compute();
      this.#isStale = false;
    }
    return this.#bound;
  }

  #compute(): BoundPolicy[] {
    const byPolicy = new Map<string, ValidatingAdmissionPolicyBinding[]>();
    for (const entry of entriesOf(this.#bindings)) {
      const binding = decode<ValidatingAdmissionPolicyBinding>(this.#bindings, entry);
      const name = binding?.spec?.policyName ?? '';
      if (binding) byPolicy.set(name, [...(byPolicy.get(name) ?? []), binding]);
    }
    if (byPolicy.size === 0) return [];
    return entriesOf(this.#policies).flatMap((entry) => {
      const { name } = placeOf(entry.key);
      const bindings = byPolicy.get(name);
      const policy = bindings && decode<ValidatingAdmissionPolicy>(this.#policies, entry);
      return policy && bindings ? [{ name, version: `${name} ${entry.revision}`, policy, bindings }] : [];
    });
  }
}

function entriesOf(cache: KindCache): readonly Entry[] {
  return cache.range(keyPrefixOf(cache.kind));
}

/** Undefined for what cannot be decoded, which the log tells of elsewhere. */
function decode<T>(cache: KindCache, entry: Entry): T | undefined {
  return cache.attempt(entry.key, () => cache.decoder.decode(entry)) as T | undefined;
}
