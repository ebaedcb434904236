import type { DeleteOptions, KindInfo, ListMeta, Table, WriteOptions } from '../api/generated/types.ts';
import type { JsonObject } from '../api/meta/merge-patch.ts';
import type { CallOptions, ObjectKey, PatchTarget, Scope, WatchEventType } from './resource-client.ts';

/** A page in JSON form, or as a table. */
export interface ObjectPage {
  readonly metadata: ListMeta;
  readonly items: JsonObject[];
}

export interface TablePage {
  readonly metadata: ListMeta;
  readonly table: Table;
}

export interface ObjectChange {
  readonly type: WatchEventType;
  readonly object: JsonObject;
}

/** One row as it is now; for BOOKMARK the table is absent. The columns stand in the first change of a stream only. */
export interface TableChange {
  readonly type: WatchEventType;
  readonly table: Table | undefined;
}

/**
 * The generic door, for tools: any kind by its name ("Pod"), objects in their JSON form, or as a table of what a person would look at.
 * Every method throws ApiError and nothing else.
 */
export interface ObjectsClient {
  kinds(call?: CallOptions): Promise<KindInfo[]>;
  /** `namespace` is where the object goes when it names none itself. */
  create(kind: string, object: JsonObject, options?: ObjectWriteOptions, call?: CallOptions): Promise<JsonObject>;
  get(kind: string, key: ObjectKey, call?: CallOptions): Promise<JsonObject>;
  getTable(kind: string, key: ObjectKey, call?: CallOptions): Promise<Table>;
  list(kind: string, scope?: Scope, call?: CallOptions): Promise<ObjectPage>;
  listTable(kind: string, scope?: Scope, call?: CallOptions): Promise<TablePage>;
  /** As ResourceClient.watch. */
  watch(kind: string, scope: Scope, call: CallOptions): AsyncIterable<ObjectChange[]>;
  watchTable(kind: string, scope: Scope, call: CallOptions): AsyncIterable<TableChange[]>;
  update(kind: string, object: JsonObject, options?: ObjectWriteOptions, call?: CallOptions): Promise<JsonObject>;
  updateStatus(kind: string, object: JsonObject, options?: ObjectWriteOptions, call?: CallOptions): Promise<JsonObject>;
  /** A JSON merge patch. */
  patch(kind: string, target: PatchTarget, patch: object, options?: WriteOptions, call?: CallOptions): Promise<JsonObject>;
  delete(kind: string, key: ObjectKey, options?: DeleteOptions, call?: CallOptions): Promise<JsonObject>;
  /** Deletes what the selectors choose; gives how many were deleted or marked for deletion. */
  deleteCollection(kind: string, scope: Scope, options?: DeleteOptions, call?: CallOptions): Promise<number>;
}

export interface ObjectWriteOptions extends WriteOptions {
  readonly namespace?: string | undefined;
}
