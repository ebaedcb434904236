import { permissionDenied } from '../../api/errors/index.ts';
import type { Pod, ServiceAccount } from '../../api/generated/types.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { defaultServiceAccount } from '../../api/meta/well-known.ts';
import type { Admission } from './admission.ts';

/** Reads a service account, never older than the last acknowledged write. */
export type AccountReader = (namespace: string, name: string) => Promise<ServiceAccount | undefined>;

/**
 * As in Kubernetes: every new pod has a service account, "default" unless it names one; it is refused when there is no such account, and gets the account's
 * secrets for images when it names none itself. Only "default" may be missing: a controller makes it, a moment after its namespace, and a create does not
 * wait for that. A static pod's mirror has none, because the pod runs without the API server.
 */
export function serviceAccountRules(readAccount: AccountReader): Admission {
  return {
    async create(kind, object) {
      const pod = object as Pod;
      const { spec } = pod;
      if (kind.kind !== 'Pod' || !spec || isMirror(pod)) return;
      const { namespace = '', name: podName = '' } = pod.metadata ?? {};
      const name = spec.serviceAccountName || defaultServiceAccount;
      spec.serviceAccountName = spec.serviceAccount = name;
      const account = await readAccount(namespace, name);
      if (!account && name !== defaultServiceAccount)
        throw permissionDenied(
          `pods "${podName}" is forbidden: error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found; ` +
            `make it with "berth create serviceaccount ${name} -n ${namespace}"`,
        );
      if (!spec.imagePullSecrets?.length && account?.imagePullSecrets?.length)
        spec.imagePullSecrets = account.imagePullSecrets.map(({ name: secret }) => ({ name: secret ?? '' }));
    },
  };
}
