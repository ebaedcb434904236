import type { Binding } from '../../../api/generated/types.ts';
import { bindPod } from '../../registry/bind.ts';
import { CallWrite } from '../call-write.ts';
import type { Action } from './action.ts';

/** Pods.Bind: gives a pod its node. */
export const bind = {
  of: 'Pod',
  method: 'Bind',
  access: 'create-binding',
  body: { kind: 'Binding', apiVersions: ['v1'], message: 'berth.core.v1.Binding' },
  answer: 'status',
  prepare({ object, options }, { registry, sums }, call) {
    const deps = { pods: registry.store('Pod'), nodes: registry.store('Node'), sums };
    const write = new CallWrite(options, call);
    return { run: () => bindPod(deps, object, write) };
  },
} as const satisfies Action<Binding>;
