import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest } from '../../api/errors/index.ts';
import type {
  FindVersionRequest,
  KindInfo,
  ObjectDeleteCollectionRequest,
  ObjectGetRequest,
  ObjectHistoryRequest,
  ObjectListRequest,
  Timestamp,
} from '../../api/generated/types.ts';
import { toDate } from '../../api/meta/time.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { Registry } from '../registry/registry.ts';
import { isScale } from '../registry/scale.ts';
import { listForm } from '../verbs/list-form.ts';
import { eventFormat, objectForm, parseFormat, parseObjectFormat } from '../verbs/object-format.ts';
import { type ObjectWrites, objectWrites, readRequest, storeOf } from '../verbs/object-writes.ts';
import type { PrepareCall } from '../verbs/prepared-call.ts';
import type { Verbs } from '../verbs/verbs.ts';
import { bulkMethod } from './bulk.ts';
import type { CallPipeline, PrepareStream } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';
import { watchMethod } from './grpc-watch-sink.ts';
import type { ItemStreams } from './item-stream.ts';

export const OBJECTS_SERVICE = 'berth.meta.v1.Objects';

export interface ObjectsServiceOptions {
  readonly registry: Registry;
  readonly verbs: Verbs;
  readonly pipeline: CallPipeline;
  readonly streams: ItemStreams;
  readonly now: () => Date;
}

/** The generic service: the same verbs for every kind, with objects as bytes in the format that the request names. */
export function objectsService({ registry, verbs, pipeline, streams, now }: ObjectsServiceOptions) {
  const writes = objectWrites(registry, verbs, now);
  const { unary, stream } = methods(registry, verbs, writes, now);
  const implementation: UntypedServiceImplementation = {
    Bulk: bulkMethod(`/${OBJECTS_SERVICE}/Bulk`, writes, registry.admission, streams),
  };
  for (const [name, handler] of Object.entries(unary)) implementation[name] = pipeline.unary(handler);
  for (const [name, handler] of Object.entries(stream)) implementation[name] = pipeline.stream(handler);
  return { definition: serviceDefinition(OBJECTS_SERVICE), implementation };
}

function methods(registry: Registry, verbs: Verbs, writes: ObjectWrites, now: () => Date) {
  const unary: Record<string, PrepareCall> = {
    Kinds: (_, call) => {
      call.authorizePath('/apis');
      const run = async () => {
        await registry.stores.settled();
        return { bytes: encodeKinds(registry) };
      };
      return { run };
    },
    Create: writes.create,
    Update: writes.update,
    UpdateStatus: writes.updateStatus,
    Patch: writes.patch,
    Delete: writes.delete,
    Get: (request, call) => {
      const { kind, get = {}, accept, asOf, subresource = '' } = readRequest<ObjectGetRequest>('ObjectGetRequest', request);
      const store = storeOf(registry, kind);
      const form = objectForm(parseObjectFormat(accept, 'protobuf'), agesUpTo(asOf, now));
      if (subresource === '') return verbs.get(store, get, call, form);
      if (!isScale(store, subresource)) throw notReadAlone(store, subresource);
      return verbs.getScale(store, get, call, form);
    },
    List: (request, call) => {
      const { kind, accept, asOf, ...list } = readRequest<ObjectListRequest>('ObjectListRequest', request);
      const store = storeOf(registry, kind);
      const form = listForm(store, parseFormat(accept, 'protobuf'), agesUpTo(asOf, now)());
      return verbs.list(store, list, form, call);
    },
    History: (request, call) => {
      const { kind, ...history } = readRequest<ObjectHistoryRequest>('ObjectHistoryRequest', request);
      return verbs.history(storeOf(registry, kind), history, call);
    },
    FindVersion: (request, call) => {
      call.authorizePath('/version');
      const wanted = readRequest<FindVersionRequest>('FindVersionRequest', request);
      return {
        run: async () => {
          const found = await verbs.findVersion(wanted, now());
          return { bytes: encodeMessage('berth.meta.v1.FindVersionResponse', found) };
        },
      };
    },
    DeleteCollection: (request, call) => {
      const { kind, delete: targets = {} } = readRequest<ObjectDeleteCollectionRequest>('ObjectDeleteCollectionRequest', request);
      return verbs.deleteCollection(storeOf(registry, kind), targets, call);
    },
  };
  const stream: Record<string, PrepareStream> = {
    Watch: watchMethod((request, call) => {
      const { kind, accept, asOf: _, ...watch } = readRequest<ObjectListRequest>('ObjectListRequest', request);
      const store = storeOf(registry, kind);
      return verbs.watch(store, watch, eventFormat(parseFormat(accept, 'protobuf'), store, now), call);
    }),
  };
  return { unary, stream };
}

function notReadAlone({ kind }: KindStore, subresource: string): Error {
  const why = kind.scale ? 'only "scale" is read by itself' : 'read the object itself';
  return badRequest(`${kind.plural} have no subresource "${subresource}" to read: ${why}`);
}

/** The time up to which ages count: now, unless the request names one. */
function agesUpTo(asOf: Timestamp | undefined, now: () => Date): () => Date {
  if (!asOf) return now;
  const date = toDate(asOf);
  if (Number.isNaN(date.getTime())) throw badRequest('asOf is no time that can be counted from');
  return () => date;
}

function encodeKinds(registry: Registry): Buffer {
  const kinds = [...registry.stores].map(({ id, kind: { categories = [], hasStatus, scale, ...kind } }): KindInfo => {
    const { apiVersion, plural, singular, shortNames, namespaced, service, message } = kind;
    const others = registry.stores.versionsOf(id);
    return {
      ...{ apiVersion, kind: kind.kind, plural, singular, shortNames: [...shortNames], namespaced, service, message },
      ...{ categories: [...categories], hasStatus, isScalable: scale !== undefined },
      versions: others.length > 0 ? [apiVersion, ...others] : [],
    };
  });
  return encodeMessage('berth.meta.v1.KindsResponse', { kinds });
}
