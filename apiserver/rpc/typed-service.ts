import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest } from '../../api/errors/index.ts';
import type {
  DeleteCollectionRequest,
  DeleteRequest,
  GetRequest,
  ListRequest,
  PatchRequest,
  WatchRequest,
} from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { isScale, SCALE } from '../registry/scale.ts';
import { protobufEvents } from '../watch/event-format.ts';
import type { CallPipeline, StreamHandler, UnaryHandler } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';
import { storedForm } from './list-form.ts';
import type { Verbs } from './verbs.ts';
import { splitWriteRequest } from './write-request.ts';

/** The standard methods of one kind's typed service. None of them knows the kind. */
function standardMethods(
  store: KindStore,
  verbs: Verbs,
): { unary: Record<string, UnaryHandler>; stream: Record<string, StreamHandler> } {
  const { kind } = store;
  const write = (request: Buffer) => {
    const { object, options } = splitWriteRequest(request);
    return { object, options, format: 'protobuf' } as const;
  };
  const read = <T extends object>(name: string, request: Buffer): T =>
    decodeStrictly<T>(`berth.meta.v1.${name}`, request, 'request');
  const parts = Object.entries(kind.subresources ?? {}).map(([subresource, { method }]): [string, UnaryHandler] => [
    method,
    (request, call) => verbs.update(store, { ...write(request), subresource }, call),
  ]);
  const patch = (request: Buffer): PatchRequest => read<PatchRequest>('PatchRequest', request);
  return {
    unary: {
      ...Object.fromEntries(parts),
      ...(kind.scale && scaleMethods(store, verbs)),
      Create: (request, call) => verbs.create(store, write(request), call),
      Update: (request, call) => verbs.update(store, write(request), call),
      UpdateStatus: (request, call) => verbs.updateStatus(store, write(request), call),
      Get: (request, call) => verbs.get(store, read<GetRequest>('GetRequest', request), call),
      List: async (request, call) => ({
        bytes: await verbs.list(store, read<ListRequest>('ListRequest', request), storedForm, call),
      }),
      Patch: (request, call) => verbs.patch(store, requireNoScale(store, patch(request)), call),
      Delete: (request, call) => verbs.delete(store, read<DeleteRequest>('DeleteRequest', request), call),
      DeleteCollection: async (request, call) => {
        const deleted = await verbs.deleteCollection(
          store,
          read<DeleteCollectionRequest>('DeleteCollectionRequest', request),
          call,
        );
        return { bytes: encodeMessage('berth.meta.v1.DeleteCollectionResponse', { deleted }) };
      },
    },
    stream: {
      Watch: (request, call, context) =>
        verbs.watch(store, read<WatchRequest>('WatchRequest', request), protobufEvents(kind.message), call, context),
    },
  };
}

/** The methods of a kind that can be scaled: they answer with a Scale. */
function scaleMethods(store: KindStore, verbs: Verbs): Record<string, UnaryHandler> {
  return {
    GetScale: (request, call) =>
      verbs.getScale(store, decodeStrictly<GetRequest>('berth.meta.v1.GetRequest', request, 'request'), call),
    UpdateScale(request, call) {
      const { object, options } = splitWriteRequest(request);
      return verbs.update(store, { object, options, format: 'protobuf', subresource: SCALE }, call);
    },
    PatchScale(request, call) {
      const patch = decodeStrictly<PatchRequest>('berth.meta.v1.PatchRequest', request, 'request');
      if (patch.subresource && patch.subresource !== SCALE)
        throw badRequest(`PatchScale patches the Scale: "${patch.subresource}" is of no use here`);
      return verbs.patch(store, { ...patch, subresource: SCALE }, call);
    },
  };
}

/** Patch answers with an object, which a Scale is not. */
function requireNoScale(store: KindStore, request: PatchRequest): PatchRequest {
  if (isScale(store, request.subresource)) throw badRequest('Patch changes the object: use PatchScale for its Scale');
  return request;
}

/** What a kind's service has besides the standard methods, by method name. */
export type SpecialMethods = Readonly<Record<string, UntypedServiceImplementation[string]>>;

/** A kind's typed service as its descriptors declare it. Throws for a declared method without a handler. */
export function typedService(store: KindStore, verbs: Verbs, pipeline: CallPipeline, special: SpecialMethods) {
  const definition = serviceDefinition(store.kind.service);
  const { unary, stream } = standardMethods(store, verbs);
  const implementation: UntypedServiceImplementation = {};
  for (const method of Object.keys(definition)) {
    const own = special[method];
    const [asUnary, asStream] = [unary[method], stream[method]];
    if (own) implementation[method] = own;
    else if (asUnary) implementation[method] = pipeline.unary(asUnary);
    else if (asStream) implementation[method] = pipeline.stream(asStream);
    else throw new Error(`service ${store.kind.service} declares the method ${method}, which nobody serves`);
  }
  return { definition, implementation };
}
