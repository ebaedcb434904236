import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest } from '../../api/errors/index.ts';
import type {
  FindVersionRequest,
  ObjectDeleteCollectionRequest,
  ObjectGetRequest,
  ObjectHistoryRequest,
  ObjectListRequest,
  Timestamp,
} from '../../api/generated/types.ts';
import { toDate } from '../../api/meta/time.ts';
import type { Registry } from '../registry/registry.ts';
import { listForm } from '../verbs/list-form.ts';
import { encodeObjectResponse, eventFormat, parseFormat, parseObjectFormat } from '../verbs/object-format.ts';
import { type ObjectWrites, type ObjectWriteVerb, objectWrites, readRequest, storeOf } from '../verbs/object-writes.ts';
import type { Verbs } from '../verbs/verbs.ts';
import { bulkMethod } from './bulk.ts';
import type { CallPipeline, StreamHandler, UnaryHandler } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';
import { GrpcWatchSink } from './grpc-watch-sink.ts';
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
  const implementation: UntypedServiceImplementation = { Bulk: bulkMethod(`/${OBJECTS_SERVICE}/Bulk`, writes, streams) };
  for (const [name, handler] of Object.entries(unary)) implementation[name] = pipeline.unary(handler);
  for (const [name, handler] of Object.entries(stream)) implementation[name] = pipeline.stream(handler);
  return { definition: serviceDefinition(OBJECTS_SERVICE), implementation };
}

function methods(registry: Registry, verbs: Verbs, writes: ObjectWrites, now: () => Date) {
  const write =
    (verb: ObjectWriteVerb): UnaryHandler =>
    async (request, call) =>
      writes[verb](request, call).run();
  const unary: Record<string, UnaryHandler> = {
    Kinds: async (_, call) => {
      call.authorizePath('/apis');
      return { bytes: encodeKinds(registry) };
    },
    Create: write('create'),
    Update: write('update'),
    UpdateStatus: write('updateStatus'),
    Patch: write('patch'),
    Delete: write('delete'),
    Get: async (request, call) => {
      const { kind, get = {}, accept, asOf } = readRequest<ObjectGetRequest>('ObjectGetRequest', request);
      const store = storeOf(registry, kind);
      const format = parseObjectFormat(accept, 'protobuf');
      const { bytes } = await verbs.get(store, get, call);
      return { bytes: encodeObjectResponse(store.kind, bytes, format, asOfDate(asOf) ?? now()) };
    },
    List: async (request, call) => {
      const { kind, accept, asOf, ...list } = readRequest<ObjectListRequest>('ObjectListRequest', request);
      const store = storeOf(registry, kind);
      const form = listForm(store, parseFormat(accept, 'protobuf'), asOfDate(asOf) ?? now());
      return { bytes: await verbs.list(store, list, form, call) };
    },
    History: async (request, call) => {
      const { kind, ...history } = readRequest<ObjectHistoryRequest>('ObjectHistoryRequest', request);
      return { bytes: await verbs.history(storeOf(registry, kind), history, call) };
    },
    FindVersion: async (request, call) => {
      call.authorizePath('/version');
      const found = await verbs.findVersion(readRequest<FindVersionRequest>('FindVersionRequest', request), now());
      return { bytes: encodeMessage('berth.meta.v1.FindVersionResponse', found) };
    },
    DeleteCollection: async (request, call) => {
      const { kind, delete: targets = {} } = readRequest<ObjectDeleteCollectionRequest>('ObjectDeleteCollectionRequest', request);
      const deleted = await verbs.deleteCollection(storeOf(registry, kind), targets, call);
      return { bytes: encodeMessage('berth.meta.v1.DeleteCollectionResponse', { deleted }) };
    },
  };
  const stream: Record<string, StreamHandler> = {
    Watch: async (request, call, context) => {
      const { kind, accept, asOf: _, ...watch } = readRequest<ObjectListRequest>('ObjectListRequest', request);
      const store = storeOf(registry, kind);
      const format = eventFormat(parseFormat(accept, 'protobuf'), store.cache.decoder, now);
      await verbs.watch(store, watch, format, new GrpcWatchSink(call, context), context);
    },
  };
  return { unary, stream };
}

/** The time up to which ages count, when the request names one. */
function asOfDate(asOf: Timestamp | undefined): Date | undefined {
  const date = asOf && toDate(asOf);
  if (date && Number.isNaN(date.getTime())) throw badRequest('asOf is no time that can be counted from');
  return date;
}

function encodeKinds(registry: Registry): Buffer {
  const kinds = [...registry.stores].map(
    ({ kind: { apiVersion, kind, plural, singular, shortNames, namespaced, service, message } }) => ({
      apiVersion,
      kind,
      plural,
      singular,
      shortNames,
      namespaced,
      service,
      message,
    }),
  );
  return encodeMessage('berth.meta.v1.KindsResponse', { kinds });
}
