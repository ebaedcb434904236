import { internal } from '../../api/errors/index.ts';
import type {
  DeleteCollectionResponse,
  DeleteOptions,
  FindVersionRequest,
  FindVersionResponse,
  KindInfo,
  KindsResponse,
  ListMeta,
  ObjectHistoryResponse,
  ObjectListResponse,
  ObjectResponse,
  ObjectWatchResponse,
  ObjectWriteRequest,
  Revision,
  Table,
  Timestamp,
  WriteOptions,
} from '../../api/generated/types.ts';
import { referenceOf } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { type BulkCodec, type BulkResult, type BulkWrite, openBulk, runBulk } from './bulk.ts';
import { applyTarget, deleteRequest, getRequest, listRequest, patchRequest } from './kind-client.ts';
import type {
  CallOptions,
  ObjectApplyOptions,
  ObjectKey,
  ObjectWriteOptions,
  PatchTarget,
  Scope,
  VersionedKey,
  WatchEventType,
} from './resource-client.ts';

/** How answers are encoded. */
type Accept = 'json' | 'table';

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
 * The generic service, for tools: any kind by its name ("Pod"), objects in their JSON form, or as a table of what a
 * person would look at. Every method throws ApiError and nothing else.
 */
export interface ObjectsClient {
  kinds(call?: CallOptions): Promise<KindInfo[]>;
  /** `namespace` is where the object goes when it names none itself. */
  create(kind: string, object: JsonObject, options?: ObjectWriteOptions, call?: CallOptions): Promise<JsonObject>;
  /** With the subresource "scale" the Scale of the object. */
  get(kind: string, key: PartKey, call?: CallOptions): Promise<JsonObject>;
  getTable(kind: string, key: TableKey, call?: CallOptions): Promise<Table>;
  list(kind: string, scope?: Scope, call?: CallOptions): Promise<ObjectPage>;
  listTable(kind: string, scope?: TableScope, call?: CallOptions): Promise<TablePage>;
  /**
   * A page of the versions that an object has had, the newest first, also when it is deleted;
   * `continue` asks for the next.
   */
  history(kind: string, key: ObjectKey, options?: HistoryOptions, call?: CallOptions): Promise<ObjectHistory>;
  /**
   * The version that the store had at a time; lists and gets with it and "Exact" show that state. OUT_OF_RANGE:
   * too long ago.
   */
  findVersion(at: FindVersionRequest, call?: CallOptions): Promise<FindVersionResponse>;
  /** As ResourceClient.watch. */
  watch(kind: string, scope: Scope, call: CallOptions): AsyncIterable<ObjectChange[]>;
  watchTable(kind: string, scope: Scope, call: CallOptions): AsyncIterable<TableChange[]>;
  update(kind: string, object: JsonObject, options?: ObjectWriteOptions, call?: CallOptions): Promise<JsonObject>;
  updateStatus(kind: string, object: JsonObject, options?: ObjectWriteOptions, call?: CallOptions): Promise<JsonObject>;
  /** A JSON merge patch, or what the target says. */
  patch(kind: string, target: PatchTarget, patch: object, options?: WriteOptions, call?: CallOptions): Promise<JsonObject>;
  /** As ResourceClient.apply; `namespace` is where the object is when it names none itself. */
  apply(kind: string, config: JsonObject, options: ObjectApplyOptions, call?: CallOptions): Promise<JsonObject>;
  delete(kind: string, key: ObjectKey, options?: DeleteOptions, call?: CallOptions): Promise<JsonObject>;
  /**
   * Carries out many writes over one stream; yields a result for each, as they come. Takes the writes as it goes, at
   * most 1,000 ahead of the results. Writes of one object are carried out in their order, and those in a namespace
   * behind that of the namespace itself; everything else side by side. Never throws for a write, also not when the
   * connection breaks: its result says so. `timeoutMs` is for each write.
   */
  bulk<W extends BulkWrite>(writes: Iterable<W> | AsyncIterable<W>, call?: CallOptions): AsyncIterable<BulkResult<W>>;
  /** Deletes what the selectors choose; gives how many were deleted or marked for deletion. */
  deleteCollection(kind: string, scope: Scope, options?: DeleteOptions, call?: CallOptions): Promise<number>;
}

/** Ages in the table count up to this time instead of now. */
export interface AsOf {
  readonly asOf?: Timestamp | undefined;
}

/** An object, or a subresource of it that is read by itself ("scale"). */
export interface PartKey extends VersionedKey {
  readonly subresource?: string | undefined;
}

export interface TableKey extends PartKey, AsOf {}
export interface TableScope extends Scope, AsOf {}

export interface HistoryOptions {
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  /** Values of up to 64 KiB, not only their beginnings. */
  readonly wholeValues?: boolean | undefined;
}

export interface ObjectHistory {
  readonly revisions: readonly Revision[];
  readonly continue: string | undefined;
  /** A watch from it hears of everything that is newer. */
  readonly resourceVersion: string;
}

const service = 'berth.meta.v1.Objects';

function method(name: string, request: string, response = 'ObjectResponse'): Method {
  return { path: `/${service}/${name}`, request: `berth.meta.v1.${request}`, response: `berth.meta.v1.${response}` };
}

const methods = {
  kinds: method('Kinds', 'KindsRequest', 'KindsResponse'),
  create: method('Create', 'ObjectWriteRequest'),
  get: method('Get', 'ObjectGetRequest'),
  history: method('History', 'ObjectHistoryRequest', 'ObjectHistoryResponse'),
  findVersion: method('FindVersion', 'FindVersionRequest', 'FindVersionResponse'),
  list: method('List', 'ObjectListRequest', 'ObjectListResponse'),
  watch: method('Watch', 'ObjectListRequest', 'ObjectWatchResponse'),
  update: method('Update', 'ObjectWriteRequest'),
  updateStatus: method('UpdateStatus', 'ObjectWriteRequest'),
  patch: method('Patch', 'ObjectPatchRequest'),
  delete: method('Delete', 'ObjectDeleteRequest'),
  deleteCollection: method('DeleteCollection', 'ObjectDeleteCollectionRequest', 'DeleteCollectionResponse'),
};

function readJson(bytes: Uint8Array | undefined): JsonObject {
  try {
    return JSON.parse(Buffer.from(bytes ?? []).toString('utf8')) as JsonObject;
  } catch (cause) {
    throw internal('read an object: the server sent no JSON', cause);
  }
}

function writeRequest(kind: string, object: JsonObject, options: ObjectWriteOptions = {}): ObjectWriteRequest {
  const { namespace, subresource, ...rest } = options;
  return {
    kind: referenceOf(kind),
    ...(namespace && { namespace }),
    ...(subresource && { subresource }),
    format: 'json',
    object: Buffer.from(JSON.stringify(object)),
    options: rest,
    accept: 'json',
  };
}

/** Writes in JSON form, as the requests that carry them. */
const json: BulkCodec = {
  request(write) {
    const { kind, options } = write;
    if (write.verb === 'patch')
      return { kind: referenceOf(kind), patch: patchRequest(write.target, write.patch, options ?? {}), accept: 'json' };
    if (write.verb === 'delete')
      return { kind: referenceOf(kind), delete: deleteRequest(write.key, write.options ?? {}), accept: 'json' };
    return writeRequest(kind, write.object, write.options);
  },
  read: (response) => readJson(response.object),
};

export function createObjectsClient(connection: Connection): ObjectsClient {
  const write = async (write: BulkWrite, call?: CallOptions) =>
    json.read(await connection.unary<ObjectResponse>(methods[write.verb], json.request(write), call));
  const get = (kind: string, { asOf, subresource, ...key }: TableKey, accept: Accept, call?: CallOptions) =>
    connection.unary<ObjectResponse>(
      methods.get,
      { kind: referenceOf(kind), get: getRequest(key), accept, asOf, subresource },
      call,
    );
  const list = (kind: string, { asOf, ...scope }: TableScope, accept: Accept, call?: CallOptions) =>
    connection.unary<ObjectListResponse>(methods.list, { kind: referenceOf(kind), ...listRequest(scope), accept, asOf }, call);
  const watch = (kind: string, scope: Scope, accept: Accept, call: CallOptions) =>
    connection.stream<ObjectWatchResponse>(methods.watch, { kind: referenceOf(kind), ...listRequest(scope), accept }, call);

  return {
    create: (kind, object, options, call) => write({ verb: 'create', kind, object, options }, call),
    update: (kind, object, options, call) => write({ verb: 'update', kind, object, options }, call),
    updateStatus: (kind, object, options, call) => write({ verb: 'updateStatus', kind, object, options }, call),
    patch: (kind, target, patch, options, call) => write({ verb: 'patch', kind, target, patch, options }, call),
    apply: (kind, config, { namespace, subresource, ...options }, call) =>
      write({ verb: 'patch', kind, target: applyTarget(config, { namespace, subresource }), patch: config, options }, call),
    delete: (kind, key, options, call) => write({ verb: 'delete', kind, key, options }, call),
    bulk: (writes, call) => runBulk(openBulk(connection, call), writes, json),
    kinds: async (call) => (await connection.unary<KindsResponse>(methods.kinds, {}, call)).kinds ?? [],
    get: async (kind, key, call) => readJson((await get(kind, key, 'json', call)).object),
    getTable: async (kind, key, call) => (await get(kind, key, 'table', call)).table ?? {},
    async list(kind, scope = {}, call) {
      const { metadata = {}, items = [] } = await list(kind, scope, 'json', call);
      return { metadata, items: items.map(readJson) };
    },
    async listTable(kind, scope = {}, call) {
      const { metadata = {}, table = {} } = await list(kind, scope, 'table', call);
      return { metadata, table };
    },
    async history(kind, { namespace, name }, options = {}, call) {
      const request = { kind: referenceOf(kind), namespace, name, ...options };
      const page = await connection.unary<ObjectHistoryResponse>(methods.history, request, call);
      return {
        revisions: page.revisions ?? [],
        continue: page.continue || undefined,
        resourceVersion: page.resourceVersion ?? '',
      };
    },
    findVersion: (at, call) => connection.unary<FindVersionResponse>(methods.findVersion, at, call),
    async *watch(kind, scope, call) {
      for await (const { events = [] } of watch(kind, scope, 'json', call))
        yield events.map(({ type, object }) => ({ type: type as WatchEventType, object: readJson(object) }));
    },
    async *watchTable(kind, scope, call) {
      for await (const { events = [] } of watch(kind, scope, 'table', call))
        yield events.map(({ type, table }) => ({ type: type as WatchEventType, table }));
    },
    async deleteCollection(kind, { namespace, ...listOptions }, options = {}, call) {
      const request = { kind: referenceOf(kind), delete: { namespace, listOptions, options } };
      return (await connection.unary<DeleteCollectionResponse>(methods.deleteCollection, request, call)).deleted ?? 0;
    },
  };
}
