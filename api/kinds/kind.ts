import type { MapType } from '../apply/field-type.ts';
import type { FieldViolation } from '../errors/api-error.ts';
import type { ObjectMeta, Timestamp } from '../generated/types.ts';
import type { ConditionNeed } from './conditions.ts';
import type { FieldSupportTable } from './field-support.ts';

/**
 * What every object has. In memory an object is its message as proto-loader reads it: absent is absent, nothing is a
 * class.
 */
export interface ApiObject {
  metadata?: ObjectMeta;
}

/**
 * How a write of the kind reaches the disk: synced before it is acknowledged, or relaxed (no sync of its own, no
 * history).
 */
export type Durability = 'synced' | 'relaxed';

/**
 * A column of the kind's table. `date` cells are RFC 3339; the printer turns them into ages. Priority 1 shows with `-o
 * wide`.
 */
export interface Column<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly priority: 0 | 1;
  /** What it shows, for programs. */
  readonly description?: string;
  /** An OpenAPI format of it, for programs. */
  readonly format?: string;
  cell(object: T, now: Date): string;
}

/**
 * What a kind may do on the way in, beyond defaults and validation. Every hook is pure and gets objects that it may
 * change.
 */
export interface Lifecycle<T> {
  /** After defaults, before validation: e.g. a new pod starts as Pending. A client-sent status was already dropped. */
  prepareForCreate?(object: T): void;
  /** Before validation of an update: copies what this write must not change from `previous`. */
  prepareForUpdate?(next: T, previous: T): void;
  /** The same of an update of the status. */
  prepareForStatusUpdate?(next: T, previous: T): void;
  /** Sets the times that the server writes, of any change, when everything else of it is decided. */
  stamp?(next: T, previous: T, now: Timestamp): void;
  /**
   * What a delete does: undefined removes at once; a number of seconds sets deletionTimestamp and waits for the agent.
   */
  gracePeriodSeconds?(object: T, requested: number | undefined): number | undefined;
}

/** A part of the objects' spec with a subresource of its own, as the status has. Pure. */
export interface Subresource<T> {
  /** The typed method that replaces it, e.g. "UpdateResize". */
  readonly method: string;
  /** Takes what clients may change of the metadata, too, as the status does. */
  readonly takesMetadata?: true;
  /**
   * What the subresource takes of an object that was sent: the next version, before its defaults. Both may be changed.
   */
  take(sent: T, previous: T): T;
  /** Every rule that the change breaks; the kind's own `validate` has run as well. */
  validate(next: T, previous: T): FieldViolation[];
}

/**
 * What the server needs to know to work out once what many new objects of one spec share: what is read and completed of
 * it, its warnings and violations, and what is stored of it. Pure.
 */
export interface Repeats<T extends ApiObject> {
  /** Whether warnings, defaults and violations of an object with this metadata follow from its spec alone. */
  isPlainMetadata(metadata: ObjectMeta): boolean;
  /** Whether objects of this spec, as it was sent, may share it: no step changes it by the rest of the object. */
  isPlainSpec(spec: SpecOf<T>): boolean;
  /** A copy of a completed spec. Its parts that admission does not change in place are shared. */
  copySpec(spec: SpecOf<T>): SpecOf<T>;
  /** How a text begins that is drawn for each object, and that stands in the spec by admission. */
  readonly drawnPrefix: string;
  /** The drawn text of an admitted spec. Drawn texts of one length are equally valid. */
  drawnText(spec: SpecOf<T>): string | undefined;
}

type SpecOf<T> = T extends { spec?: infer S } ? NonNullable<S> : object;

/** What the Scale of an object says. */
export interface ScaleParts {
  /** How many pods it should have. */
  readonly replicas: number;
  /** How many it had when its controller looked last. */
  readonly current: number;
  /** Its pods, as the text of a label selector. */
  readonly selector: string;
}

/** How objects of a kind are scaled, by themselves or through the subresource "scale". Pure. */
export interface Scaling<T> {
  read(object: T): ScaleParts;
  /** Sets how many pods the object should have, in place. */
  write(object: T, replicas: number): void;
}

/** Reads one field as text. Written as a method's type, so that a Kind<Pod> is a Kind wherever kinds are only data. */
export type FieldReader<T> = { read(object: T): string }['read'];

/**
 * Everything the generic machinery (registry, services, client, command line, tests) needs to know of a kind. One value
 * per kind, in api/kinds/<kind>/kind.ts, listed once in api/kinds/index.ts. Pure data and pure functions.
 */
export interface Kind<T extends ApiObject = ApiObject> {
  /** e.g. "Pod". */
  readonly kind: string;
  /** Kubernetes' group and version, e.g. "v1", "coordination.k8s.io/v1". */
  readonly apiVersion: string;
  /** e.g. "pods"; also the first part of the storage key. */
  readonly plural: string;
  /** e.g. "pod". */
  readonly singular: string;
  /** e.g. ["po"]. */
  readonly shortNames: readonly string[];
  /** Groups of kinds that a command line may name at once: "all" is what a user runs. Absent: none. */
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** The message, e.g. "berth.core.v1.Pod"; its List, WriteRequest and WatchResponse are named after it. */
  readonly message: string;
  /** The typed service, e.g. "berth.core.v1.Pods". */
  readonly service: string;
  readonly durability: Durability;
  /**
   * Of a relaxed kind: whether this write has to be on the disk before it is acknowledged. `previous` is absent for a
   * new object.
   */
  awaitsDisk?(next: T, previous: T | undefined): boolean;
  /**
   * A write is acknowledged when the watch cache shows it: what the API server itself decides by holds from then on,
   * and no longer.
   */
  readonly shownBeforeAcknowledged?: true;
  /**
   * When an object was last of interest, as far as it says. Objects of such a kind expire; those of all others stay
   * until they are deleted.
   */
  readonly expiresAfter?: { lastSeen(object: T): Timestamp | undefined }['lastSeen'];
  /**
   * The most bytes of an object, encoded, where clients may make many that no namespace counts. Absent: those of any
   * object.
   */
  readonly maxBytes?: number;
  /** The most objects, for the same reason. Absent: no bound. */
  readonly maxObjects?: number;
  /** The most bytes of all objects, encoded; likewise. */
  readonly maxTotalBytes?: number;
  /** Stands outside ownership: its ownerReferences are not followed, and a delete of it waits for no dependents. */
  readonly unowned?: true;
  /** What is in it never appears in messages about mistakes, which end up in logs. */
  readonly confidential?: true;
  /** Whether status is a subresource with a writer of its own. */
  readonly hasStatus: boolean;
  /** What each of the status' conditions must have. */
  readonly conditionsNeed?: readonly ConditionNeed[];
  /**
   * The object, and its status, is replaced only by a writer that names the version which it is based on (Kubernetes:
   * AllowUnconditionalUpdate is false).
   */
  readonly updateNeedsVersion?: true;
  /** A PUT of Kubernetes' API makes an object that is missing (Kubernetes: AllowCreateOnUpdate is true). */
  readonly isCreatedByPut?: true;
  /**
   * What `metadata.generation` counts the changes of. "nothing": objects have none; "birth": it stays 1;
   * "spec changes": new objects have none. Absent: of the spec, where the kind has one.
   */
  readonly generation?: 'nothing' | 'birth' | 'spec changes' | 'spec and annotations' | 'content';
  /**
   * A new object keeps the status that it is sent with when its maker may write that; of all other kinds it is dropped.
   */
  readonly isCreatedWithStatus?: true;
  /** The subresources besides the status, by name. */
  readonly subresources?: { readonly [name: string]: Subresource<T> };
  /** Of kinds whose number of pods can be changed: the subresource "scale". */
  readonly scale?: Scaling<T>;
  /**
   * How a name must look: "subdomain" (dots allowed, 253 characters), "label" (63 characters), "path" (what can stand
   * between two slashes, e.g. "system:node"), "ip" (an IP address).
   */
  readonly nameRule: 'subdomain' | 'label' | 'path' | 'ip';
  /**
   * Removes the fields that objects of the kind do not have, in place, and gives their paths. Absent: the codec refuses
   * those.
   */
  prune?(object: T): string[];
  /** Numbers of an object that JSON does not carry exactly, where it is stored without being validated. */
  unkeptNumbers?(object: T): FieldViolation[];
  /** How server-side apply merges the fields. Absent: as the message says. */
  fieldType?(): MapType;
  /** Fills in every default, in place. Runs once, on the way in. Idempotent. */
  defaults(object: T): void;
  /** Every rule that the object breaks, all at once; metadata is checked by the registry. */
  validate(object: T): FieldViolation[];
  /** The rules that hold for new objects only. */
  validateCreate?(object: T): FieldViolation[];
  /** Every rule that the change breaks (immutable fields, impossible transitions); `validate` has run as well. */
  validateUpdate(next: T, previous: T): FieldViolation[];
  /** The same for a change of the status. */
  validateStatusUpdate?(next: T, previous: T): FieldViolation[];
  /** Whether Berth acts on each field, accepts it with a warning, or refuses it: for `explain` and the documents. */
  readonly fields: FieldSupportTable;
  /** What a client should be told of an accepted object: one sentence for each field that Berth does not act on. */
  warnings?(object: T): string[];
  /** Why users should use another version; absent: they need not. Told with each answer, but not with watches. */
  readonly deprecation?: string | undefined;
  /** The fields that a field selector may name, besides metadata.name and metadata.namespace. Absent reads as "". */
  readonly selectableFields: Readonly<Record<string, FieldReader<T>>>;
  readonly columns: readonly Column<T>[];
  /** The `date` column that lists are shown in order of, the oldest first; absent: in order of names. */
  readonly shownInOrderOf?: string;
  readonly lifecycle?: Lifecycle<T>;
  /** Of kinds that are created by the thousand with one spec, whose steps are then done once. */
  readonly repeats?: Repeats<T>;
  /** Of a version that is served and not stored: what it becomes, and is made of. See older-version.ts. */
  readonly conversion?: Conversion;
}

/** How objects of one version of a kind become those of the stored version, and back. Pure; changes no argument. */
export interface Conversion {
  /** The version that is stored. */
  readonly stored: Kind;
  /** Throws INVALID_ARGUMENT for what only this version can get wrong, as an annotation that holds no metrics. */
  toStored(object: ApiObject): ApiObject;
  fromStored(object: ApiObject): ApiObject;
  /** The rules for new objects that hold in this version only. Gets them as they will be stored, before defaults. */
  validateNew(stored: ApiObject): FieldViolation[];
  /** The stored version's name of a field that a selector names; the same where the versions agree. */
  selectedField(name: string): string;
}

/** A kind whose name is known to the compiler, which the index makes KindMap of. */
export type NamedKind<T extends ApiObject, Name extends string> = Kind<T> & { readonly kind: Name };

/** The object of a kind: `ObjectOf<typeof pod>` is Pod. */
export type ObjectOf<K> = K extends Kind<infer T> ? T : never;

/**
 * Checks a kind against its object's type and keeps its name: `export const pod = defineKind<Pod>()({ kind: 'Pod', ...
 * })`.
 */
export function defineKind<T extends ApiObject>() {
  return <const Name extends string>(kind: NamedKind<T, Name>): NamedKind<T, Name> => kind;
}
