import type { ApiObject } from '../../api/kinds/kind.ts';
import type { AdmissionAttributes, AdmittedCall } from '../admission/dynamic.ts';
import type { KindStore } from './kind-store.ts';
import type { ObjectName } from './store-values.ts';

/** How the options of a connection are called and written, as Kubernetes has them. */
export interface ConnectionForm {
  /** "exec", "attach", "portforward", "proxy". */
  readonly subresource: string;
  /** e.g. "PodExecOptions". */
  readonly kind: string;
  readonly message: string;
}

type Connecting = AdmittedCall & { readonly manager: string };

/**
 * Judges a call that connects to an object, Kubernetes' CONNECT, by the rules that users added. Gives the options as
 * these leave them. Throws the refusal.
 */
export async function admitConnection<Options extends object>(
  { dynamic, kind }: Pick<KindStore, 'dynamic' | 'kind'>,
  at: ObjectName,
  { form, options }: { readonly form: ConnectionForm; readonly options: Options },
  call: Connecting,
): Promise<Options> {
  if (!dynamic || dynamic.isIdleFor(kind)) return options;
  const { subresource, ...words } = form;
  const attributes: AdmissionAttributes = {
    operation: 'CONNECT',
    kind,
    subresource,
    form: { apiVersion: 'v1', ...words },
    ...{ namespace: at.namespace, name: at.name },
    object: options as ApiObject,
    previous: undefined,
    ...{ call, manager: call.manager, dryRun: false },
  };
  const changed = await dynamic.mutate(attributes);
  await dynamic.validate(changed ? { ...attributes, object: changed } : attributes);
  return (changed as Options | undefined) ?? options;
}
