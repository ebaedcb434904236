import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
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
import { storedForm } from '../verbs/list-form.ts';
import type { Verbs } from '../verbs/verbs.ts';
import { splitWriteRequest } from '../verbs/write-request.ts';
import { protobufEvents } from '../watch/event-format.ts';
import type { CallPipeline, StreamHandler, UnaryHandler } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';
import { GrpcWatchSink } from './grpc-watch-sink.ts';

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
  return {
    unary: {
      ...Object.fromEntries(parts),
      Create: (request, call) => verbs.create(store, write(request), call),
      Update: (request, call) => verbs.update(store, write(request), call),
      UpdateStatus: (request, call) => verbs.updateStatus(store, write(request), call),
      Get: (request, call) => verbs.get(store, read<GetRequest>('GetRequest', request), call),
      List: async (request, call) => ({
        bytes: await verbs.list(store, read<ListRequest>('ListRequest', request), storedForm, call),
      }),
      Patch: (request, call) => verbs.patch(store, read<PatchRequest>('PatchRequest', request), call),
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
        verbs.watch(
          store,
          read<WatchRequest>('WatchRequest', request),
          protobufEvents(kind.message),
          new GrpcWatchSink(call, context),
          context,
        ),
    },
  };
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
