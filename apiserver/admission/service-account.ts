import { objectForbidden } from '../../api/errors/index.ts';
import type { Pod, PodSpec, ServiceAccount } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { tokenVolumePrefix } from '../../api/kinds/pod/restore-admitted.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { deepFreeze } from '../../api/meta/deep-freeze.ts';
import { defaultServiceAccount, rootCertificates } from '../../api/meta/well-known.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** Reads a service account, never older than the last acknowledged write. */
export type AccountReader = (namespace: string, name: string) => Eventually<ServiceAccount | undefined>;

/**
 * As in Kubernetes: every new pod has a service account, "default" unless it names one; it is refused when there is no
 * such account, and gets the account's secrets for images when it names none itself, and its token mounted, unless the
 * pod or else the account says no (automountServiceAccountToken: false). Only "default" may be missing: a controller
 * makes it, a moment after its namespace, and a create does not wait for that; the agent does. A static pod's mirror
 * has none, because the pod runs without the API server.
 */
export function serviceAccountRules(readAccount: AccountReader): Admission {
  return {
    reads: { Pod: ['ServiceAccount'] },
    create(kind, object) {
      const pod = object as Pod;
      const { spec } = pod;
      if (!isKind(kind, 'Pod') || !spec || isMirror(pod)) return undefined;
      const name = spec.serviceAccountName || defaultServiceAccount;
      spec.serviceAccountName = spec.serviceAccount = name;
      const account = readAccount(pod.metadata?.namespace ?? '', name);
      return andThen(account, (found) => applyAccount(pod, spec, found));
    },
  };
}

function applyAccount({ metadata }: Pod, spec: PodSpec, account: ServiceAccount | undefined): void {
  const { namespace = '', name: podName = '', uid = '' } = metadata ?? {};
  const name = spec.serviceAccountName ?? '';
  if (!account && name !== defaultServiceAccount)
    throw objectForbidden(
      'pods',
      podName,
      `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found; ` +
        `make it with "berth create serviceaccount ${name} -n ${namespace}"`,
    );
  if (!spec.imagePullSecrets?.length && account?.imagePullSecrets?.length)
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name: secret }) => ({ name: secret ?? '' }));
  if (spec.automountServiceAccountToken ?? account?.automountServiceAccountToken ?? true) mountToken(spec, uid);
}

/** Where programs that are made for Kubernetes look. */
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Kubernetes' figure: an hour and a few seconds, by which it tells such volumes apart. */
const tokenSeconds = 3_607;
const fileMode = 0o644;

/**
 * Adds the volume with token, authorities and namespace to all containers that have nothing of their own in its place.
 */
function mountToken(spec: PodSpec, podUid: string): void {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].filter(
    ({ volumeMounts = [] }) => !volumeMounts.some((mount) => mount.mountPath === mountPath),
  );
  if (containers.length === 0) return;
  // Of a pod that a webhook changed, or of a copy of another. Kubernetes, too, knows it by its name.
  const there = spec.volumes?.find((volume) => volume.name?.startsWith(tokenVolumePrefix))?.name;
  const name = there ?? tokenVolumePrefix + podUid.slice(0, 5);
  if (there === undefined) spec.volumes = [...(spec.volumes ?? []), { name, volumeSource: tokenSource }];
  for (const container of containers)
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, mountPath, readOnly: true }];
}

const { configMap, key } = rootCertificates;

/** All pods share it; frozen, so that none changes that of others. */
const tokenSource = deepFreeze({
  projected: {
    defaultMode: fileMode,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: tokenSeconds } },
      { configMap: { localObjectReference: { name: configMap }, items: [{ key, path: key }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
    ],
  },
});
