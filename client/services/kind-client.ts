import { toJson } from '../../api/codec/json.ts';
import type { DeleteOptions, DeleteRequest, GetRequest, ListRequest, WriteOptions } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type {
  CallOptions,
  ObjectKey,
  ObjectWriteOptions,
  Page,
  PatchTarget,
  PatchType,
  ResourceClient,
  Scope,
  VersionedKey,
  WatchEvent,
} from './resource-client.ts';

const patchTypes: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

type StandardMethod = 'Create' | 'Get' | 'List' | 'Watch' | 'Update' | 'UpdateStatus' | 'Patch' | 'Delete';

type StandardMethods = Readonly<Record<StandardMethod, Method>>;

/** Of each kind once, however many clients a process has. */
const knownMethods = new WeakMap<Kind, StandardMethods>();

function standardMethods(kind: Kind): StandardMethods {
  const methods = knownMethods.get(kind) ?? makeMethods(kind);
  knownMethods.set(kind, methods);
  return methods;
}

/** The names of a kind's messages follow from its own. */
function makeMethods({ service, message }: Kind): StandardMethods {
  const method = (name: StandardMethod, request: string, response = message): Method => ({
    path: `/${service}/${name}`,
    request,
    response,
  });
  return {
    Create: method('Create', `${message}WriteRequest`),
    Get: method('Get', 'berth.meta.v1.GetRequest'),
    List: method('List', 'berth.meta.v1.ListRequest', `${message}List`),
    Watch: method('Watch', 'berth.meta.v1.WatchRequest', `${message}WatchResponse`),
    Update: method('Update', `${message}WriteRequest`),
    UpdateStatus: method('UpdateStatus', `${message}WriteRequest`),
    Patch: method('Patch', 'berth.meta.v1.PatchRequest'),
    Delete: method('Delete', 'berth.meta.v1.DeleteRequest'),
  };
}

export function listRequest({ namespace, ...options }: Scope): ListRequest {
  return { options, ...(namespace && { namespace }) };
}

export function getRequest({ namespace, name, resourceVersion, resourceVersionMatch }: VersionedKey): GetRequest {
  return {
    name,
    ...(namespace && { namespace }),
    ...(resourceVersion && { resourceVersion }),
    ...(resourceVersionMatch && { resourceVersionMatch }),
  };
}

export function patchRequest(target: PatchTarget, patch: object, options: WriteOptions): object {
  const { namespace, name, subresource, type = 'merge' } = target;
  return { namespace, name, subresource, type: patchTypes[type], patch: Buffer.from(JSON.stringify(patch)), options };
}

/** The configuration of a server-side apply is the patch of the object that it names. */
export function applyTarget(config: JsonObject, { namespace, subresource }: Partial<ObjectWriteOptions> = {}): PatchTarget {
  const metadata = (config.metadata ?? {}) as { readonly name?: string; readonly namespace?: string };
  return { namespace: metadata.namespace ?? namespace, name: metadata.name ?? '', subresource, type: 'apply' };
}

export function deleteRequest({ namespace, name }: ObjectKey, options: DeleteOptions): DeleteRequest {
  return { name, ...(namespace && { namespace }), options };
}

/** The client of one kind, made from its descriptor. */
export function createKindClient<T extends ApiObject>(connection: Connection, kind: Kind<T>): ResourceClient<T> {
  const methods = standardMethods(kind as Kind);
  const write =
    (method: Method) =>
    (object: T, options: WriteOptions = {}, call?: CallOptions) =>
      connection.unary<T>(method, { object, options }, call);
  return {
    create: write(methods.Create),
    update: write(methods.Update),
    updateStatus: write(methods.UpdateStatus),
    get: (key, call) => connection.unary<T>(methods.Get, getRequest(key), call),
    patch: (target, patch, options = {}, call) => connection.unary<T>(methods.Patch, patchRequest(target, patch, options), call),
    apply(object, { subresource, ...options }, call) {
      const config = toJson(kind, object);
      return connection.unary<T>(methods.Patch, patchRequest(applyTarget(config, { subresource }), config, options), call);
    },
    delete: (key, options = {}, call) => connection.unary<T>(methods.Delete, deleteRequest(key, options), call),
    async list(scope = {}, call): Promise<Page<T>> {
      const { metadata = {}, items = [] } = await connection.unary<Partial<Page<T>>>(methods.List, listRequest(scope), call);
      return { metadata, items };
    },
    async *watch(scope, call) {
      const batches = connection.stream<{ events?: WatchEvent<T>[] }>(methods.Watch, listRequest(scope), call);
      for await (const { events = [] } of batches) yield events;
    },
  };
}
