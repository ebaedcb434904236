import type { BindingWriteRequest, EvictionWriteRequest, NamespaceWriteRequest } from '../../api/generated/types.ts';
import { type BindDeps, bindPod } from '../registry/bind.ts';
import { type EvictDeps, evictPod } from '../registry/evict.ts';
import { finalizeNamespace } from '../registry/finalize.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { StoreResult } from '../registry/store-values.ts';
import type { CallContext } from './call-context.ts';
import { CallWrite } from './call-write.ts';
import type { PreparedCall } from './prepared-call.ts';

/** Prepares Pods.Bind. */
export function prepareBind(deps: BindDeps, request: BindingWriteRequest, call: CallContext): PreparedCall<StoreResult> {
  const { object = {}, options } = request;
  const { namespace = '', name = '' } = object.metadata ?? {};
  call.authorize({ verb: 'bind', kind: 'Pod', namespace, name });
  const write = new CallWrite(options, call);
  return { run: () => bindPod(deps, object, write) };
}

/** Prepares Pods.Evict. */
export function prepareEvict(deps: EvictDeps, request: EvictionWriteRequest, call: CallContext): PreparedCall<StoreResult> {
  const { object = {}, options } = request;
  const { namespace = '', name = '' } = object.metadata ?? {};
  call.authorize({ verb: 'evict', kind: 'Pod', namespace, name });
  // Either says that it is not meant: the eviction's own options as well as those of the call.
  const dryRun = [...(options?.dryRun ?? []), ...(object.deleteOptions?.dryRun ?? [])];
  const write = new CallWrite({ ...options, dryRun }, call);
  return { run: () => evictPod(deps, object, write) };
}

/** Prepares Namespaces.Finalize. */
export function prepareFinalize(
  namespaces: KindStore,
  request: NamespaceWriteRequest,
  call: CallContext,
): PreparedCall<StoreResult> {
  const { object = {}, options } = request;
  call.authorize({ verb: 'finalize', kind: 'Namespace', namespace: '', name: object.metadata?.name ?? '' });
  const write = new CallWrite(options, call);
  return { run: () => finalizeNamespace(namespaces, object, write) };
}
