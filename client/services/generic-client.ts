import { toJson } from '../../api/codec/json.ts';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type {
  ObjectListResponse,
  ObjectResponse,
  ObjectWatchResponse,
  ObjectWriteRequest,
  WriteOptions,
} from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { applyTarget, deleteRequest, getRequest, listRequest, patchRequest } from './kind-client.ts';
import type { CallOptions, ResourceClient, WatchEventType } from './resource-client.ts';

const method = (name: string, request: string, response = 'ObjectResponse'): Method => ({
  path: `/berth.meta.v1.Objects/${name}`,
  request: `berth.meta.v1.${request}`,
  response: `berth.meta.v1.${response}`,
});

const methods = {
  create: method('Create', 'ObjectWriteRequest'),
  update: method('Update', 'ObjectWriteRequest'),
  updateStatus: method('UpdateStatus', 'ObjectWriteRequest'),
  get: method('Get', 'ObjectGetRequest'),
  list: method('List', 'ObjectListRequest', 'ObjectListResponse'),
  watch: method('Watch', 'ObjectListRequest', 'ObjectWatchResponse'),
  patch: method('Patch', 'ObjectPatchRequest'),
  delete: method('Delete', 'ObjectDeleteRequest'),
};

/** The client of a kind without a typed service, as kinds that users add: the same calls by the generic service. */
export function createGenericClient<T extends ApiObject>(connection: Connection, kind: Kind<T>): ResourceClient<T> {
  const { message } = kind;
  const about = { kind: { apiVersion: kind.apiVersion, kind: kind.kind }, accept: 'protobuf' };
  const read = (bytes: Uint8Array | undefined): T => decodeMessage<T>(message, bytes ?? Buffer.alloc(0));
  const call = async (of: Method, request: object, options?: CallOptions): Promise<T> =>
    read((await connection.unary<ObjectResponse>(of, { ...about, ...request }, options)).object);
  const write =
    (of: Method) =>
    (object: T, options: WriteOptions = {}, callOptions?: CallOptions): Promise<T> => {
      const request: ObjectWriteRequest = { format: 'protobuf', object: encodeMessage(message, object), options };
      return call(of, request, callOptions);
    };
  return {
    create: write(methods.create),
    update: write(methods.update),
    updateStatus: write(methods.updateStatus),
    get: (key, options) => call(methods.get, { get: getRequest(key) }, options),
    patch: (target, patch, options = {}, callOptions) =>
      call(methods.patch, { patch: patchRequest(target, patch, options) }, callOptions),
    apply(object, { subresource, ...options }, callOptions) {
      const config = toJson(kind, object);
      return call(methods.patch, { patch: patchRequest(applyTarget(config, { subresource }), config, options) }, callOptions);
    },
    delete: (key, options = {}, callOptions) => call(methods.delete, { delete: deleteRequest(key, options) }, callOptions),
    async list(scope = {}, options) {
      const request = { ...about, ...listRequest(scope) };
      const { metadata = {}, items = [] } = await connection.unary<ObjectListResponse>(methods.list, request, options);
      return { metadata, items: items.map(read) };
    },
    async *watch(scope, options) {
      const batches = connection.stream<ObjectWatchResponse>(methods.watch, { ...about, ...listRequest(scope) }, options);
      for await (const { events = [] } of batches)
        yield events.map(({ type, object }) => ({ type: type as WatchEventType, object: read(object) }));
    },
  };
}
