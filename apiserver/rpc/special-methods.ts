import { field } from '../../api/codec/wire-format.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { BindingWriteRequest, EvictionWriteRequest, NamespaceWriteRequest } from '../../api/generated/types.ts';
import type { BindDeps } from '../registry/bind.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { EvictDeps } from '../registry/evict.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { prepareBind, prepareEvict, prepareFinalize } from '../verbs/special-writes.ts';
import { resourceVersionOf } from '../watch/stamp-resource-version.ts';
import type { CallPipeline } from './call-pipeline.ts';
import type { ItemStreams } from './item-stream.ts';
import type { SpecialMethods } from './typed-service.ts';

/** BindItem.binding and BoundPod.resourceVersion. */
const BINDING = 2;
const RESOURCE_VERSION = 1;

const read = <T extends object>(message: string, request: Uint8Array): T => decodeStrictly<T>(message, request, 'request');

/** Pods.Bind and Pods.BindStream. */
export function bindMethods(deps: BindDeps, pipeline: CallPipeline, streams: ItemStreams): SpecialMethods {
  const readBinding = (request: Uint8Array) => read<BindingWriteRequest>('berth.core.v1.BindingWriteRequest', request);
  return {
    Bind: pipeline.unary((request, call) => prepareBind(deps, readBinding(request), call)),
    BindStream: streams.method(`/${deps.pods.kind.service}/BindStream`, (item, call) => {
      if (item.field !== BINDING) throw badRequest('the item says nothing to do: set binding');
      const prepared = prepareBind(deps, readBinding(item.request), call);
      const bytes = async () => field(RESOURCE_VERSION, Buffer.from(resourceVersionOf((await prepared.run()).bytes)));
      return { run: async () => ({ bytes: await bytes() }) };
    }),
  };
}

/** Pods.Evict. */
export function evictMethod(deps: EvictDeps, pipeline: CallPipeline): SpecialMethods {
  const message = 'berth.policy.v1.EvictionWriteRequest';
  return {
    Evict: pipeline.unary((request, call) => prepareEvict(deps, read<EvictionWriteRequest>(message, request), call)),
  };
}

/** Namespaces.Finalize. */
export function finalizeMethod(namespaces: KindStore, pipeline: CallPipeline): SpecialMethods {
  const message = 'berth.core.v1.NamespaceWriteRequest';
  return {
    Finalize: pipeline.unary((request, call) => prepareFinalize(namespaces, read<NamespaceWriteRequest>(message, request), call)),
  };
}
