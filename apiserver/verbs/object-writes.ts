import { badRequest } from '../../api/errors/index.ts';
import type { KindReference, ObjectDeleteRequest, ObjectPatchRequest, ObjectWriteRequest } from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { Registry } from '../registry/registry.ts';
import type { CallContext } from './call-context.ts';
import { encodeObjectResponse, type ObjectFormat, parseFormat, parseObjectFormat } from './object-format.ts';
import type { Reply } from './reply.ts';
import type { PreparedWrite, Verbs, WriteInput, WriteVerb } from './verbs.ts';

/** The writes of the generic service, each by itself or as an item of Bulk. */
export type ObjectWriteVerb = WriteVerb | 'patch' | 'delete';

/** A write of the generic service that was read and admitted, but not started. */
export interface PreparedObjectWrite extends Pick<PreparedWrite, 'at'> {
  readonly store: KindStore;
  run(): Promise<Reply>;
}

/** Reads a write's request. Throws what is wrong with it. */
type ReadWrite = (request: Uint8Array, call: CallContext) => PreparedObjectWrite;

/** Reads a request of the generic service. Throws INVALID_ARGUMENT. */
export function readRequest<T extends object>(name: string, request: Uint8Array): T {
  return decodeStrictly<T>(`berth.meta.v1.${name}`, request, 'request');
}

/** The store of the kind that a request names. */
export function storeOf(registry: Registry, reference: KindReference | undefined): KindStore {
  return registry.stores.find(reference ?? {});
}

/** The writes by their verbs: the same for a call of its own and for an item of a stream. */
export type ObjectWrites = Readonly<Record<ObjectWriteVerb, ReadWrite>>;

export function objectWrites(registry: Registry, verbs: Verbs, now: () => Date): ObjectWrites {
  const prepared = (store: KindStore, write: PreparedWrite, format: ObjectFormat): PreparedObjectWrite => ({
    store,
    at: write.at,
    async run() {
      const { bytes, warnings } = await write.run();
      return { bytes: encodeObjectResponse(store.kind, bytes, format, now()), warnings };
    },
  });
  const write =
    (verb: WriteVerb): ReadWrite =>
    (bytes, call) => {
      const request = readRequest<ObjectWriteRequest>('ObjectWriteRequest', bytes);
      const { kind, namespace = '', object = Buffer.alloc(0), options = {}, subresource = '' } = request;
      const store = storeOf(registry, kind);
      const input: WriteInput = { object, options, namespace, subresource, format: parseWriteFormat(request.format) };
      return prepared(store, verbs.prepareWrite(verb, store, input, call), parseObjectFormat(request.accept, input.format));
    };
  return {
    create: write('create'),
    update: write('update'),
    updateStatus: write('updateStatus'),
    patch(bytes, call) {
      const { kind, patch = {}, accept } = readRequest<ObjectPatchRequest>('ObjectPatchRequest', bytes);
      const store = storeOf(registry, kind);
      return prepared(store, verbs.preparePatch(store, patch, call), parseObjectFormat(accept, 'protobuf'));
    },
    delete(bytes, call) {
      const { kind, delete: target = {}, accept } = readRequest<ObjectDeleteRequest>('ObjectDeleteRequest', bytes);
      const store = storeOf(registry, kind);
      return prepared(store, verbs.prepareDelete(store, target, call), parseObjectFormat(accept, 'protobuf'));
    },
  };
}

function parseWriteFormat(text: string | undefined): 'protobuf' | 'json' {
  const format = parseFormat(text, 'protobuf');
  if (format === 'table') throw badRequest('an object cannot be written as a table: use "protobuf" or "json"');
  return format;
}
