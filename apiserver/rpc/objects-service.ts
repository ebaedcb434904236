import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest } from '../../api/errors/index.ts';
import type {
  FindVersionRequest,
  KindReference,
  ObjectDeleteCollectionRequest,
  ObjectDeleteRequest,
  ObjectGetRequest,
  ObjectHistoryRequest,
  ObjectListRequest,
  ObjectPatchRequest,
  ObjectWriteRequest,
} from '../../api/generated/types.ts';
import { toDate } from '../../api/meta/time.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore, StoreResult } from '../registry/kind-store.ts';
import type { ListPage } from '../registry/list.ts';
import type { Registry } from '../registry/registry.ts';
import type { Entry } from '../watch/entry.ts';
import { serviceDefinition } from './definitions.ts';
import type { Door, Reply, StreamHandler, UnaryHandler } from './door.ts';
import { encodeList, encodePage } from './list-response.ts';
import {
  encodeJson,
  encodeObjectResponse,
  eventFormat,
  type Format,
  parseFormat,
  tableColumns,
  tableRow,
} from './object-format.ts';
import type { ListForm, Verbs, WriteInput } from './verbs.ts';

export const OBJECTS_SERVICE = 'berth.meta.v1.Objects';

/** The generic door: the same verbs for every kind, with objects as bytes in the format that the request names. */
export function objectsService(registry: Registry, verbs: Verbs, door: Door, now: () => Date) {
  const { unary, stream } = methods(registry, verbs, now);
  const implementation: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(unary)) implementation[name] = door.unary(handler);
  for (const [name, handler] of Object.entries(stream)) implementation[name] = door.stream(handler);
  return { definition: serviceDefinition(OBJECTS_SERVICE), implementation };
}

function read<T extends object>(name: string, request: Buffer): T {
  return decodeStrictly<T>(`berth.meta.v1.${name}`, request, 'request');
}

/** The store of the kind that a request names. */
function storeOf(registry: Registry, reference: KindReference | undefined): KindStore {
  const { apiVersion, kind = '' } = reference ?? {};
  if (!kind) throw badRequest('name the kind of the object');
  const store = registry.store(kind);
  if (apiVersion && apiVersion !== store.kind.apiVersion) {
    throw badRequest(`apiVersion "${apiVersion}" is not known for kind "${kind}": use "${store.kind.apiVersion}"`);
  }
  return store;
}

function methods(registry: Registry, verbs: Verbs, now: () => Date) {
  const reply = (store: KindStore, result: StoreResult, format: Format, asOf = now()): Reply => ({
    bytes: encodeObjectResponse(store.kind, result.bytes, format, asOf),
    warnings: result.warnings,
  });
  const write =
    (verb: 'create' | 'update' | 'updateStatus'): UnaryHandler =>
    async (request, call) => {
      const {
        kind,
        namespace = '',
        format,
        object = Buffer.alloc(0),
        options = {},
        accept,
      } = read<ObjectWriteRequest>('ObjectWriteRequest', request);
      const store = storeOf(registry, kind);
      const input: WriteInput = { object, options, namespace, format: parseWriteFormat(format) };
      return reply(store, await verbs[verb](store, input, call), parseFormat(accept, input.format));
    };
  const unary: Record<string, UnaryHandler> = {
    Kinds: async () => ({ bytes: encodeKinds(registry) }),
    Create: write('create'),
    Update: write('update'),
    UpdateStatus: write('updateStatus'),
    Get: async (request) => {
      const { kind, get = {}, accept, asOf } = read<ObjectGetRequest>('ObjectGetRequest', request);
      const store = storeOf(registry, kind);
      return reply(store, await verbs.get(store, get), parseFormat(accept, 'protobuf'), asOf && toDate(asOf));
    },
    List: async (request, call) => {
      const { kind, accept, asOf, ...list } = read<ObjectListRequest>('ObjectListRequest', request);
      const store = storeOf(registry, kind);
      const form = listForm(store, parseFormat(accept, 'protobuf'), asOf ? toDate(asOf) : now());
      return { bytes: await verbs.list(store, list, form, call) };
    },
    History: async (request, call) => {
      const { kind, ...history } = read<ObjectHistoryRequest>('ObjectHistoryRequest', request);
      return { bytes: await verbs.history(storeOf(registry, kind), history, call) };
    },
    FindVersion: async (request) => {
      const found = await verbs.findVersion(read<FindVersionRequest>('FindVersionRequest', request), now());
      return { bytes: encodeMessage('berth.meta.v1.FindVersionResponse', found) };
    },
    Patch: async (request, call) => {
      const { kind, patch = {}, accept } = read<ObjectPatchRequest>('ObjectPatchRequest', request);
      const store = storeOf(registry, kind);
      return reply(store, await verbs.patch(store, patch, call), parseFormat(accept, 'protobuf'));
    },
    Delete: async (request, call) => {
      const { kind, delete: target = {}, accept } = read<ObjectDeleteRequest>('ObjectDeleteRequest', request);
      const store = storeOf(registry, kind);
      return reply(store, await verbs.delete(store, target, call), parseFormat(accept, 'protobuf'));
    },
    DeleteCollection: async (request, call) => {
      const { kind, delete: targets = {} } = read<ObjectDeleteCollectionRequest>('ObjectDeleteCollectionRequest', request);
      const deleted = await verbs.deleteCollection(storeOf(registry, kind), targets, call);
      return { bytes: encodeMessage('berth.meta.v1.DeleteCollectionResponse', { deleted }) };
    },
  };
  const stream: Record<string, StreamHandler> = {
    Watch: async (request, call, context) => {
      const { kind, accept, asOf: _, ...watch } = read<ObjectListRequest>('ObjectListRequest', request);
      const store = storeOf(registry, kind);
      const format = eventFormat(parseFormat(accept, 'protobuf'), store.cache.decoder, now);
      await verbs.watch(store, watch, format, call, context);
    },
  };
  return { unary, stream };
}

function parseWriteFormat(text: string | undefined): 'protobuf' | 'json' {
  const format = parseFormat(text, 'protobuf');
  if (format === 'table') throw badRequest('an object cannot be written as a table: use "protobuf" or "json"');
  return format;
}

/** JSON may be several times as large as what is stored, so it is made while the page is filled. */
function listForm(store: KindStore, format: Format, now: Date): ListForm {
  const { decoder } = store.cache;
  if (format === 'protobuf') return { encode: encodePage };
  if (format === 'table') return { encode: (page) => encodeTable(store, page, now) };
  const made = new Map<Entry, Buffer>();
  return {
    sizeOf(entry) {
      const json = encodeJson(store.kind, decoder.decode(entry));
      made.set(entry, json);
      return json.length;
    },
    encode: ({ metadata, items }) =>
      encodeList(
        metadata,
        items.map((entry) => made.get(entry)!),
      ),
  };
}

function encodeTable(store: KindStore, { metadata, items }: ListPage, now: Date): Buffer {
  const rows = items.map((entry) => tableRow(store.cache.decoder, entry, now));
  return encodeMessage('berth.meta.v1.ObjectListResponse', { metadata, table: { columns: tableColumns(store.kind), rows } });
}

function encodeKinds(registry: Registry): Buffer {
  const kinds = [...registry.stores.values()].map(
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
