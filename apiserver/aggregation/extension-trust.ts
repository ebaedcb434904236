import type { Logger } from 'pino';
import { namespaces } from '../../api/meta/well-known.ts';
import { type FrontProxy, frontProxyName } from '../pki/front-proxy.ts';
import type { HeldCertificates } from '../pki/held-certificates.ts';
import { keepOwnObjects, type OwnObject } from '../registry/own-objects.ts';
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

/** Keeps the ConfigMap that extension servers read, and the role that lets them, until the signal aborts. */
export async function keepExtensionTrust(
  { registry, certificates, frontProxy, log }: ExtensionTrustOptions,
  signal: AbortSignal,
): Promise<void> {
  const namespace = namespaces.system;
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get', 'list', 'watch'] }];
  const objects: OwnObject[] = [
    {
      ...{ kind: 'ConfigMap', namespace, name },
      wanted: () => ({ fields: { data: trustData(certificates.trusted(), frontProxy.authority) } }),
    },
    {
      ...{ kind: 'Role', namespace, name: `${name}-reader` },
      wanted: () => ({ labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' }, fields: { rules } }),
    },
  ];
  const kept = await keepOwnObjects({ registry, log, what: 'what extension servers are to trust', objects }, signal);
  const leaves = [certificates.observe(kept.wake), frontProxy.observe(kept.wake)];
  await kept.ended;
  for (const leave of leaves) leave();
}
