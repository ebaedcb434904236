import type { Logger } from 'pino';
import { rbacGroup } from '../../api/kinds/rbac-roles.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { controlPlane } from '../authn/identity.ts';
import { type FrontProxy, frontProxyName } from '../pki/front-proxy.ts';
import type { HeldCertificates } from '../pki/held-certificates.ts';
import { keepOwnObjects, type OwnObject } from '../registry/keepers/own-objects.ts';
import type { Registry } from '../registry/registry.ts';
import { remoteHeaders } from './remote-user.ts';

export interface ExtensionTrustOptions {
  readonly registry: Registry;
  readonly certificates: Pick<HeldCertificates, 'trusted' | 'observe'>;
  readonly frontProxy: Pick<FrontProxy, 'authority' | 'observe'>;
  readonly log: Logger;
}

const name = 'extension-apiserver-authentication';

/** What extension servers read: whom they are to believe, and in which headers they are told who calls. */
export function trustData(clientAuthority: string, frontProxyAuthority: string): Readonly<Record<string, string>> {
  const { user, uid, group, extraPrefix } = remoteHeaders;
  return {
    'client-ca-file': clientAuthority,
    'requestheader-allowed-names': JSON.stringify([frontProxyName]),
    'requestheader-client-ca-file': frontProxyAuthority,
    'requestheader-extra-headers-prefix': JSON.stringify([extraPrefix]),
    'requestheader-group-headers': JSON.stringify([group]),
    'requestheader-uid-headers': JSON.stringify([uid]),
    'requestheader-username-headers': JSON.stringify([user]),
  };
}

/**
 * Keeps the ConfigMap that extension servers read, and the role that lets them, until the signal aborts. Kubernetes'
 * own scheduler and controllers are bound to the role from the start: they serve metrics as extension servers do.
 */
export async function keepExtensionTrust(
  { registry, certificates, frontProxy, log }: ExtensionTrustOptions,
  signal: AbortSignal,
): Promise<void> {
  const namespace = namespaces.system;
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get', 'list', 'watch'] }];
  const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
  const reader = `${name}-reader`;
  const roleRef = { apiGroup: rbacGroup, kind: 'Role', name: reader };
  const users = [controlPlane.controllers, controlPlane.scheduler];
  const subjects = users.map((user) => ({ kind: 'User', apiGroup: rbacGroup, name: user }));
  const objects: OwnObject[] = [
    {
      ...{ kind: 'ConfigMap', namespace, name },
      wanted: () => ({ fields: { data: trustData(certificates.trusted(), frontProxy.authority) } }),
    },
    {
      ...{ kind: 'Role', namespace, name: reader },
      wanted: () => ({ labels, fields: { rules } }),
    },
    {
      ...{ kind: 'RoleBinding', namespace, name: `system::${reader}` },
      wanted: () => ({ labels, fields: { roleRef, subjects } }),
    },
  ];
  const kept = await keepOwnObjects({ registry, log, what: 'what extension servers are to trust', objects }, signal);
  const leaves = [certificates.observe(kept.wake), frontProxy.observe(kept.wake)];
  await kept.ended;
  for (const leave of leaves) leave();
}
