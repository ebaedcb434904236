import { badRequest } from '../../api/errors/index.ts';
import type { BindingWriteRequest, EvictionWriteRequest, NamespaceWriteRequest } from '../../api/generated/types.ts';
import { type BindDeps, bindPod } from '../registry/bind.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { type EvictDeps, evictPod } from '../registry/evict.ts';
import { finalizeNamespace } from '../registry/finalize.ts';
import type { KindStore, StoreResult } from '../registry/kind-store.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { writeContext } from '../verbs/write-request.ts';
import { resourceVersionOf } from '../watch/stamp-resource-version.ts';
import { field } from '../watch/wire.ts';
import type { CallPipeline } from './call-pipeline.ts';
import type { ItemStreams } from './item-stream.ts';
import type { SpecialMethods } from './typed-service.ts';

/** BindItem.binding and BoundPod.resourceVersion. */
const BINDING = 2;
const RESOURCE_VERSION = 1;

/** Pods.Bind and Pods.BindStream. */
export function bindMethods(deps: BindDeps, pipeline: CallPipeline, streams: ItemStreams): SpecialMethods {
  const bind = (request: Uint8Array, call: CallContext): (() => Promise<StoreResult>) => {
    const { object, options } = decodeStrictly<BindingWriteRequest>('berth.core.v1.BindingWriteRequest', request, 'request');
    const { namespace = '', name = '' } = object?.metadata ?? {};
    call.authorize({ verb: 'bind', kind: 'Pod', namespace, name });
    const context = writeContext(options, call);
    return () => bindPod(deps, object ?? {}, context);
  };
  return {
    Bind: pipeline.unary(async (request, call) => bind(request, call)()),
    BindStream: streams.method(`/${deps.pods.kind.service}/BindStream`, (item, call) => {
      if (item.field !== BINDING) throw badRequest('the item says nothing to do: set binding');
      const run = bind(item.request, call);
      const bytes = async () => field(RESOURCE_VERSION, Buffer.from(resourceVersionOf((await run()).bytes)));
      return { run: async () => ({ bytes: await bytes() }) };
    }),
  };
}

/** Pods.Evict. */
export function evictMethod(deps: EvictDeps, pipeline: CallPipeline): SpecialMethods {
  return {
    Evict: pipeline.unary((request, call) => {
      const { object = {}, options } = decodeStrictly<EvictionWriteRequest>(
        'berth.policy.v1.EvictionWriteRequest',
        request,
        'request',
      );
      const { namespace = '', name = '' } = object.metadata ?? {};
      call.authorize({ verb: 'evict', kind: 'Pod', namespace, name });
      // Either says that it is not meant: the eviction's own options as well as those of the call.
      const dryRun = [...(options?.dryRun ?? []), ...(object.deleteOptions?.dryRun ?? [])];
      return evictPod(deps, object, writeContext({ ...options, dryRun }, call));
    }),
  };
}

/** Namespaces.Finalize. */
export function finalizeMethod(namespaces: KindStore, pipeline: CallPipeline): SpecialMethods {
  return {
    Finalize: pipeline.unary((request, call) => {
      const { object = {}, options } = decodeStrictly<NamespaceWriteRequest>(
        'berth.core.v1.NamespaceWriteRequest',
        request,
        'request',
      );
      call.authorize({ verb: 'finalize', kind: 'Namespace', namespace: '', name: object.metadata?.name ?? '' });
      return finalizeNamespace(namespaces, object, writeContext(options, call));
    }),
  };
}
