import { groupOf } from '../../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Identity } from '../authn/identity.ts';
import type { Attributes } from '../authz/attributes.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** What an object of a request is written as: of a subresource it may be another message than the kind's own. */
export type RequestForm = Pick<Kind, 'apiVersion' | 'kind' | 'message'>;

/** What the authorizer says of users. */
export interface RightsOfUsers {
  allows(identity: Identity, attributes: Attributes): boolean;
  mayPath(identity: Identity, verb: string, path: string): boolean;
}

/** Makes objects of one apiVersion those of another one. Throws INTERNAL with what the webhook did. */
export type ConvertObjects = (
  objects: readonly ApiObject[],
  versions: { readonly from: string; readonly to: string },
) => Promise<readonly ApiObject[]>;

/** The call behind a write, as dynamic admission knows it. */
export interface AdmittedCall {
  readonly identity: Identity;
  /** Decides what users may do; absent where rights cannot be checked. */
  readonly authorizer?: RightsOfUsers | undefined;
  /** Aborts when the caller is gone; absent: never. */
  readonly signal?: AbortSignal | undefined;
  /** The call's line in the audit log; absent: it has none. */
  readonly audited?: { annotate(key: string, value: string): void } | undefined;
  /** Tells the client a sentence with the answer. */
  warn(text: string): void;
}

/** A write that is about to be stored, or a call to a subresource. */
export interface AdmissionAttributes {
  readonly operation: Operation;
  /** The kind of the resource that the request names: built-in kinds as stored, custom ones in its version. */
  readonly kind: Kind;
  /** The apiVersion of the request, where that is converted into the stored one. */
  readonly requested?: string | undefined;
  /** Makes custom objects those of another version by their kind's webhook; absent: only the apiVersion differs. */
  readonly convert?: ConvertObjects | undefined;
  /** "" or "status", "scale", "binding", "eviction" ... */
  readonly subresource: string;
  /** How `object` and `previous` are written. */
  readonly form: RequestForm;
  readonly namespace: string;
  readonly name: string;
  /** As it will be stored; undefined for DELETE. Must not be changed: a mutation answers another one. */
  readonly object: ApiObject | undefined;
  /** As it is stored; undefined for CREATE and CONNECT. */
  readonly previous: ApiObject | undefined;
  readonly call: AdmittedCall;
  readonly manager: string;
  readonly dryRun: boolean;
}

/** Rules that users add while the server runs: policies, webhooks. */
export interface DynamicRules {
  /** Whether there is no rule now: read before every write, so it must cost nothing. */
  readonly isIdle: boolean;
  /** Whether a write of the kind may wait for a program outside: see `mayWait` of DynamicAdmission. Absent: never. */
  mayWait?(kind: Kind): boolean;
  /** Gives a changed copy of `attributes.object`, or undefined for no change. Throws an ApiError to refuse. */
  mutate?(attributes: AdmissionAttributes): Promise<ApiObject | undefined>;
  /** Judges what will be stored. Throws an ApiError to refuse. */
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
}

/** The group of the rules themselves: no rule is ever applied to these, so that a wrong one can be taken away. */
const RULES_GROUP = 'admissionregistration.k8s.io';

/**
 * Every dynamic rule of a server, in the order of `add`. The registry calls it once for each version that it is about
 * to store: `mutate` after the built-in admission and before validation, `validate` behind all of these. Calls may be
 * repeated when another write was faster.
 */
export class DynamicAdmission {
  readonly #rules: DynamicRules[] = [];

  add(rules: DynamicRules): void {
    this.#rules.push(rules);
  }

  /** Whether a write of the kind has nothing to pass here. Without a rule it costs a few comparisons. */
  isIdleFor(kind: Kind): boolean {
    for (const rules of this.#rules) if (!rules.isIdle) return groupOf(kind.apiVersion) === RULES_GROUP;
    return true;
  }

  /**
   * Whether a write of the kind may wait for a program outside. Other writers of the object do not wait behind it: it
   * is computed again when one of them was faster.
   */
  mayWait(kind: Kind): boolean {
    return !this.isIdleFor(kind) && this.#rules.some((rules) => !rules.isIdle && rules.mayWait?.(kind) === true);
  }

  /** The object as the rules change it, one after the other; undefined when none does. */
  async mutate(attributes: AdmissionAttributes): Promise<ApiObject | undefined> {
    let changed: ApiObject | undefined;
    for (const rules of this.#rules) {
      if (rules.isIdle || !rules.mutate) continue;
      changed = (await rules.mutate(changed ? { ...attributes, object: changed } : attributes)) ?? changed;
    }
    return changed;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const rules of this.#rules) {
      if (rules.isIdle || !rules.validate) continue;
      const judged = rules.validate(attributes);
      if (judged) await judged;
    }
  }
}
