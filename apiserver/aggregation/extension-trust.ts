import type { Logger } from 'pino';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { ConfigMap, Role } from '../../api/generated/types.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { type FrontProxy, frontProxyName } from '../pki/front-proxy.ts';
import type { HeldCertificates } from '../pki/held-certificates.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import { createObject } from '../registry/create.ts';
import { nextVersion } from '../registry/next-version.ts';
import type { Registry } from '../registry/registry.ts';
import { serverContext } from '../registry/server-context.ts';
import { pause, type StorageClock, systemStorageClock } from '../storage/clock.ts';
import { remoteHeaders } from './remote-user.ts';

export interface ExtensionTrustOptions {
  readonly registry: Registry;
  readonly certificates: Pick<HeldCertificates, 'trusted' | 'observe'>;
  readonly frontProxy: Pick<FrontProxy, 'authority' | 'observe'>;
  readonly log: Logger;
  readonly clock?: StorageClock;
}

const name = 'extension-apiserver-authentication';
const at = { namespace: namespaces.system, name };
const roleAt = { namespace: namespaces.system, name: `${name}-reader` };
/** After a write, so that another writer and this one do not keep the server busy. */
const paceMs = 1_000;
const mostRetryMs = 60_000;

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

const role: Role = {
  metadata: { ...roleAt, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
  rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get', 'list', 'watch'] }],
};

/** Keeps the ConfigMap that extension servers read, and makes the role that lets them, until the signal aborts. */
export async function keepExtensionTrust(options: ExtensionTrustOptions, signal: AbortSignal): Promise<void> {
  const { registry, certificates, frontProxy, log, clock = systemStorageClock } = options;
  const maps = registry.stores.get('ConfigMap');
  if (!maps || !registry.stores.has('Role')) return;
  let wake = (): void => {};
  let isDue = true;
  const notice = (): void => {
    isDue = true;
    wake();
  };
  const key = maps.key(at);
  const leaves = [
    maps.cache.observe({ reset: notice, event: ({ entry }) => entry.key === key && notice() }),
    certificates.observe(notice),
    frontProxy.observe(notice),
  ];
  signal.addEventListener('abort', notice, { once: true });
  let retryMs = paceMs;
  let hasRole = false;
  while (!signal.aborted) {
    if (!isDue) await new Promise<void>((resolve) => (wake = resolve));
    if (signal.aborted) break;
    isDue = false;
    try {
      if (!hasRole) await ensure(registry, 'Role', role as AnyObject);
      hasRole = true;
      if (await syncMap(options)) await pause(paceMs, clock, signal);
      retryMs = paceMs;
    } catch (error) {
      isDue = true;
      log.warn({ err: error }, `cannot keep the ConfigMap "${name}": trying again`);
      await pause(retryMs, clock, signal);
      retryMs = Math.min(2 * retryMs, mostRetryMs);
    }
  }
  for (const leave of leaves) leave();
  signal.removeEventListener('abort', notice);
}

/** Whether anything was written. */
async function syncMap({ registry, certificates, frontProxy }: ExtensionTrustOptions): Promise<boolean> {
  const store = registry.store('ConfigMap');
  const data = trustData(certificates.trusted(), frontProxy.authority);
  const entry = await store.read(at);
  if (!entry) return ensure(registry, 'ConfigMap', { metadata: { ...at }, data } as AnyObject);
  const stored = store.cache.decoder.decode(entry) as ConfigMap;
  if (equalValues(stored.data, data)) return false;
  const compute = (previous: AnyObject): AnyObject =>
    nextVersion(store, 'object', { ...cloneObject(previous), data } as AnyObject, previous);
  try {
    await store.change(at, { context: serverContext, verb: 'update', compute });
    return true;
  } catch (error) {
    // Gone, or changed meanwhile, which is an event of its own.
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

/** Whether it was made. */
async function ensure(registry: Registry, kind: 'ConfigMap' | 'Role', wanted: AnyObject): Promise<boolean> {
  const store = registry.store(kind);
  const { namespace = '', name: called = '' } = wanted.metadata ?? {};
  if (await store.read({ namespace, name: called })) return false;
  try {
    await createObject(store, registry.admission, { ...serverContext, take: () => structuredClone(wanted) });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
