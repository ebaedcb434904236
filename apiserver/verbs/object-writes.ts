import { badRequest } from '../../api/errors/index.ts';
import type { KindReference, ObjectDeleteRequest, ObjectPatchRequest, ObjectWriteRequest } from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { Registry } from '../registry/registry.ts';
import type { CallContext } from './call-context.ts';
import { objectForm, parseFormat, parseObjectFormat } from './object-format.ts';
import type { PreparedWrite } from './standard-writes.ts';
import type { Verbs } from './verbs.ts';
import type { WriteVerb } from './write-request.ts';

/** The writes of the generic service, each by itself or as an item of Bulk. */
export type ObjectWriteVerb = WriteVerb | 'patch' | 'delete';

/** Reads a request of the generic service. Throws INVALID_ARGUMENT. */
export function readRequest<T extends object>(name: string, request: Uint8Array): T {
  return decodeStrictly<T>(`berth.meta.v1.${name}`, request, 'request');
}

/** The store of the kind that a request names. */
export function storeOf(registry: Registry, reference: KindReference | undefined): KindStore {
  return registry.stores.find(reference ?? {});
}

/** The writes by their verbs: the same for a call of its own and for an item of a stream. They throw what is wrong. */
export type ObjectWrites = Readonly<Record<ObjectWriteVerb, (request: Uint8Array, call: CallContext) => PreparedWrite>>;

export function objectWrites(registry: Registry, verbs: Verbs, now: () => Date): ObjectWrites {
  const write =
    (verb: WriteVerb) =>
    (bytes: Uint8Array, call: CallContext): PreparedWrite => {
      const request = readRequest<ObjectWriteRequest>('ObjectWriteRequest', bytes);
      const { kind, namespace = '', object = Buffer.alloc(0), options = {}, subresource = '' } = request;
      const store = storeOf(registry, kind);
      const format = parseWriteFormat(request.format);
      const form = objectForm(parseObjectFormat(request.accept, format), now);
      return verbs.write({ verb, store, object, format, options, subresource, namespace, form }, call);
    };
  return {
    create: write('create'),
    update: write('update'),
    updateStatus: write('updateStatus'),
    patch(bytes, call) {
      const { kind, patch = {}, accept } = readRequest<ObjectPatchRequest>('ObjectPatchRequest', bytes);
      const form = objectForm(parseObjectFormat(accept, 'protobuf'), now);
      return verbs.patch({ store: storeOf(registry, kind), patch, form }, call);
    },
    delete(bytes, call) {
      const { kind, delete: target = {}, accept } = readRequest<ObjectDeleteRequest>('ObjectDeleteRequest', bytes);
      const form = objectForm(parseObjectFormat(accept, 'protobuf'), now);
      return verbs.delete({ store: storeOf(registry, kind), delete: target, form }, call);
    },
  };
}

function parseWriteFormat(text: string | undefined): 'protobuf' | 'json' {
  const format = parseFormat(text, 'protobuf');
  if (format === 'table') throw badRequest('an object cannot be written as a table: use "protobuf" or "json"');
  return format;
}
