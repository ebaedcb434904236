import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { badRequest } from '../../api/errors/index.ts';
import type {
  DeleteCollectionRequest,
  DeleteRequest,
  GetRequest,
  ListRequest,
  PatchRequest,
  WatchRequest,
} from '../../api/generated/types.ts';
import { SCALE } from '../../api/kinds/scale.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { isScale } from '../registry/scale.ts';
import { storedForm } from '../verbs/list-form.ts';
import { readRequest } from '../verbs/object-writes.ts';
import type { PrepareCall } from '../verbs/prepared-call.ts';
import type { Verbs } from '../verbs/verbs.ts';
import { readWriteRequest } from '../verbs/write-request.ts';
import { protobufEvents } from '../watch/event-format.ts';
import type { CallPipeline, PrepareStream } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';
import { watchMethod } from './grpc-watch-sink.ts';

interface StandardMethods {
  readonly unary: Readonly<Record<string, PrepareCall>>;
  readonly stream: Readonly<Record<string, PrepareStream>>;
}

/** The standard methods of one kind's typed service. None of them knows the kind. */
function standardMethods(store: KindStore, verbs: Verbs): StandardMethods {
  const { kind } = store;
  const parts = Object.entries(kind.subresources ?? {}).map(([subresource, { method }]): [string, PrepareCall] => [
    method,
    (request, call) => verbs.write(readWriteRequest('update', store, request, subresource), call),
  ]);
  const unary: Record<string, PrepareCall> = {
    ...Object.fromEntries(parts),
    ...(kind.scale && scaleMethods(store, verbs)),
    Create: (request, call) => verbs.write(readWriteRequest('create', store, request), call),
    Update: (request, call) => verbs.write(readWriteRequest('update', store, request), call),
    UpdateStatus: (request, call) => verbs.write(readWriteRequest('updateStatus', store, request), call),
    Get: (request, call) => verbs.get(store, readRequest<GetRequest>('GetRequest', request), call),
    List: (request, call) => verbs.list(store, readRequest<ListRequest>('ListRequest', request), storedForm, call),
    Patch(request, call) {
      const patch = readRequest<PatchRequest>('PatchRequest', request);
      return verbs.patch({ store, patch: requireNoScale(store, patch) }, call);
    },
    Delete: (request, call) => verbs.delete({ store, delete: readRequest<DeleteRequest>('DeleteRequest', request) }, call),
    DeleteCollection: (request, call) =>
      verbs.deleteCollection(store, readRequest<DeleteCollectionRequest>('DeleteCollectionRequest', request), call),
  };
  const format = protobufEvents(kind.message);
  const stream: Record<string, PrepareStream> = {
    Watch: watchMethod((request, call) => verbs.watch(store, readRequest<WatchRequest>('WatchRequest', request), format, call)),
  };
  return { unary, stream };
}

/** The methods of a kind that can be scaled: they answer with a Scale. */
function scaleMethods(store: KindStore, verbs: Verbs): Record<string, PrepareCall> {
  return {
    GetScale: (request, call) => verbs.getScale(store, readRequest<GetRequest>('GetRequest', request), call),
    UpdateScale: (request, call) => verbs.write(readWriteRequest('update', store, request, SCALE), call),
    PatchScale(request, call) {
      const patch = readRequest<PatchRequest>('PatchRequest', request);
      if (patch.subresource && patch.subresource !== SCALE)
        throw badRequest(`PatchScale patches the Scale: "${patch.subresource}" is of no use here`);
      return verbs.patch({ store, patch: { ...patch, subresource: SCALE } }, call);
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
    else throw new Error(`service ${store.kind.service} declares the method ${method}, which has no handler`);
  }
  return { definition, implementation };
}
