import type { BindingWriteRequest, NamespaceWriteRequest } from '../../api/generated/types.ts';
import { authorize } from '../auth/authorize.ts';
import { type BindDeps, bindPod } from '../registry/bind.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { finalizeNamespace } from '../registry/finalize.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { Door } from './door.ts';
import type { SpecialMethods } from './typed-service.ts';
import { writeContext } from './write-request.ts';

/** Pods.Bind. */
export function bindMethod(deps: BindDeps, door: Door): SpecialMethods {
  return {
    Bind: door.unary((request, call) => {
      const { object, options } = decodeStrictly<BindingWriteRequest>('berth.core.v1.BindingWriteRequest', request, 'request');
      const { namespace = '', name = '' } = object?.metadata ?? {};
      authorize(call.identity, { verb: 'bind', kind: 'Pod', namespace, name });
      return bindPod(deps, object ?? {}, writeContext(options, call));
    }),
  };
}

/** Namespaces.Finalize. */
export function finalizeMethod(namespaces: KindStore, door: Door): SpecialMethods {
  return {
    Finalize: door.unary((request, call) => {
      const { object = {}, options } = decodeStrictly<NamespaceWriteRequest>(
        'berth.core.v1.NamespaceWriteRequest',
        request,
        'request',
      );
      authorize(call.identity, { verb: 'finalize', kind: 'Namespace', namespace: '', name: object.metadata?.name ?? '' });
      return finalizeNamespace(namespaces, object, writeContext(options, call));
    }),
  };
}
