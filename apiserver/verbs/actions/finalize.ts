import type { Namespace } from '../../../api/generated/types.ts';
import { finalizeNamespace } from '../../registry/finalize.ts';
import { CallWrite } from '../call-write.ts';
import type { Action } from './action.ts';

/** Namespaces.Finalize: replaces what keeps a namespace that is being deleted. */
export const finalize = {
  of: 'Namespace',
  method: 'Finalize',
  access: 'update-finalize',
  body: { kind: 'Namespace', apiVersions: ['v1'], message: 'berth.core.v1.Namespace' },
  answer: 'object',
  prepare({ object, options }, { registry }, call) {
    const write = new CallWrite(options, call);
    return { run: () => finalizeNamespace(registry.store('Namespace'), object, write) };
  },
} as const satisfies Action<Namespace>;
