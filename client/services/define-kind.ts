import { kindOfInfo } from '../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';

/** What a CustomResourceDefinition says of its kind. */
export interface KindNames {
  /** Group and version, "example.com/v1". */
  readonly apiVersion: string;
  /** "Website". */
  readonly kind: string;
  /** "websites". */
  readonly plural: string;
  /** False for scope Cluster (default true). */
  readonly namespaced?: boolean;
}

/**
 * A kind that a CustomResourceDefinition adds, for `client.resource` and `controllerReference`. `T` is the program's
 * own type of its objects: metadata in the form of messages, everything else as it stands in JSON. Throws RangeError
 * for an apiVersion without a group.
 */
export function defineKind<T extends ApiObject>({ apiVersion, kind, plural, namespaced = true }: KindNames): Kind<T> {
  if (groupOf(apiVersion) === '')
    throw new RangeError(`define the kind ${kind}: its apiVersion "${apiVersion}" has no group, as "example.com/v1" has`);
  return kindOfInfo({ apiVersion, kind, plural, singular: kind.toLowerCase(), namespaced, hasStatus: true }) as Kind as Kind<T>;
}
