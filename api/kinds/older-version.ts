import type { FieldViolation } from '../errors/api-error.ts';
import type { FieldSupportTable } from './field-support.ts';
import type { ApiObject, Kind } from './kind.ts';

/** What an older version has of its own. What is absent is that of the stored version. */
interface OlderVersion<Stored extends ApiObject, Older extends ApiObject> {
  readonly apiVersion: string;
  /** Absent: the shape of the objects is the same. */
  readonly message?: string;
  /** Of another message: what Berth does with its fields. */
  readonly fields?: FieldSupportTable;
  /** The versions of Kubernetes that deprecate it and do not have it any more: every answer says so. */
  readonly deprecated?: readonly [since: string, goneIn: string];
  readonly toStored?: (object: Older) => Stored;
  readonly fromStored?: (object: Stored) => Older;
  readonly validateNew?: (stored: Stored) => FieldViolation[];
  /** By the name of a field in this version that a selector may name, that of the stored version. */
  readonly selectableFields?: Readonly<Record<string, string>>;
}

/**
 * A version of a kind that is served besides the stored one. Names, messages and fields are what it is read and written
 * by; defaults, rules and columns stay those of the stored version, into which objects are converted first.
 */
export function olderVersion<Stored extends ApiObject, Older extends ApiObject = Stored>(
  stored: Kind<Stored>,
  version: OlderVersion<Stored, Older>,
): Kind {
  const { apiVersion, message = stored.message, fields = stored.fields, deprecated, selectableFields } = version;
  const { toStored, fromStored, validateNew } = version as unknown as OlderVersion<ApiObject, ApiObject>;
  const deprecation =
    deprecated &&
    `${apiVersion} ${stored.kind} is deprecated in v${deprecated[0]}+, unavailable in v${deprecated[1]}+; use ${stored.apiVersion} ${stored.kind}`;
  const own = stored as unknown as Kind;
  return {
    ...own,
    apiVersion,
    message,
    fields,
    deprecation,
    conversion: {
      stored: own,
      toStored: (object) => toStored?.(object) ?? object,
      fromStored: (object) => fromStored?.(object) ?? object,
      validateNew: (object) => validateNew?.(object) ?? [],
      selectedField: (name) => (Object.hasOwn(selectableFields ?? {}, name) ? selectableFields?.[name] : undefined) ?? name,
    },
  };
}
