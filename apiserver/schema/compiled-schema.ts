import type { FieldViolation } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { SchemaNode } from './schema-node.ts';

export interface SchemaOptions {
  /** The path of the schema in its definition: "spec.versions[0].schema.openAPIV3Schema"; refusals start with it. */
  readonly path: string;
  /**
   * The schema was accepted before and comes out of the store: its defaults, patterns and rules are not checked again,
   * and compiled when an object first needs them. Reading 20 KB of schema takes well below a millisecond then.
   */
  readonly isStored?: boolean;
  /** Counts the rules of several versions of a kind together; absent: the schema is the only one. */
  readonly rules?: RuleCount;
}

/** The rules of a definition that were read so far. */
export interface RuleCount {
  count: number;
}

/** Either the compiled schema, or what is wrong with it: all of it, each with its path and what to do. */
export type SchemaResult =
  | { readonly schema: CompiledSchema; readonly violations?: undefined }
  | { readonly schema?: undefined; readonly violations: readonly FieldViolation[] };

/**
 * A structural schema, ready to judge objects of one version of a kind. Pure: no clock, no I/O; every method takes time
 * that is bounded by the object's size times the schema's, and none throws, whatever the object.
 *
 * The order on the way in, as Kubernetes has it: `prune`, `applyDefaults`, `validate`.
 *
 * The members apiVersion, kind and metadata of the object itself, and of embedded resources, are always known. The
 * caller validates the metadata of the object as it does for built-in kinds; here only what the schema says of
 * metadata.name and metadata.generateName is checked.
 */
export interface CompiledSchema {
  /** The structural schema as a tree: for server-side apply (list types and keys), columns, `explain`, OpenAPI. */
  readonly root: SchemaNode;
  /**
   * Sets what is missing and has a default, at all levels, in place. A null that is not nullable counts as missing:
   * without a default it is removed. Gives a violation, and stops, when it would write more values than an object may
   * have.
   */
  applyDefaults(object: JsonObject): FieldViolation[];
  /** Removes what the schema does not know, in place. Returns the paths of what was removed, at most 100 of them. */
  prune(object: JsonObject): string[];
  /** Numbers that JSON does not carry exactly, of an object that is not validated. */
  unkeptNumbers(object: JsonObject): FieldViolation[];
  /**
   * What breaks the schema or its rules; empty for a valid object. `before` is the stored object of an update: what was
   * invalid and has not changed passes (ratcheting), and transition rules see it as oldSelf.
   */
  validate(object: JsonObject, before?: JsonObject): FieldViolation[];
}
