import { isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { rootCertificates } from '../../api/meta/well-known.ts';
import { type Client, type Clock, type Informer, type Logger, pause } from '../../client/index.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule } from '../rules.ts';

export interface RootCertificatesOptions {
  readonly client: { readonly configMaps: Pick<Client['configMaps'], 'get' | 'create' | 'update'> };
  /** Outlines suffice. */
  readonly namespaces: Informer<ApiObject>;
  readonly configMaps: Informer<ApiObject>;
  /**
   * The certificates (PEM) of the authorities of which one signed the API server's. May throw; then it is asked again.
   */
  readonly authorities: () => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Authorities succeed one another over days. */
const lookMs = 60_000;
const { configMap: name, key: file } = rootCertificates;

/**
 * Keeps the ConfigMap "kube-root-ca.crt" in every namespace that is not on its way out: with it, and a token, a program
 * in a pod trusts the API server alone. As in Kubernetes, whose name it has.
 */
export function createRootCertificates(options: RootCertificatesOptions): Controller {
  const { client, namespaces, configMaps, authorities } = options;

  async function reconcile(namespace: string, signal: AbortSignal): Promise<void> {
    const known = namespaces.lister.get(namespace);
    if (!known || known.metadata?.deletionTimestamp) return;
    const data = { [file]: await authorities() };
    const key = { namespace, name };
    if (!configMaps.lister.get(`${namespace}/${name}`)) {
      await client.configMaps.create({ metadata: key, data }, {}, { signal }).catch((error: unknown) => {
        // The ConfigMap exists and is checked once the informer shows it; or the namespace is gone.
        if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
      });
      return;
    }
    const found = await client.configMaps.get(key, { signal });
    if (Object.keys(found.data ?? {}).length === 1 && found.data?.[file] === data[file] && !found.binaryData) return;
    const { binaryData: _, ...rest } = found;
    await client.configMaps.update({ ...rest, data }, {}, { signal });
  }

  return {
    name: 'root-certificates',
    sources: [
      changesOf(namespaces, ({ metadata }) => [metadata?.name ?? ''], {}),
      changesOf(configMaps, ({ metadata }) => (metadata?.name === name ? [metadata.namespace ?? ''] : []), {}),
      successions(options),
    ],
    reconcile,
  };
}

/** Wakes all namespaces when the authorities have become others. */
function successions({ authorities, namespaces, clock, logger }: RootCertificatesOptions): Source {
  return {
    waitForSync: async () => {},
    connect(wake) {
      const stop = new AbortController();
      const follow = async (): Promise<void> => {
        let last: string | undefined;
        while (!stop.signal.aborted) {
          try {
            const next = await authorities();
            if (last !== undefined && next !== last)
              for (const { metadata } of namespaces.lister.list()) wake(metadata?.name ?? '');
            last = next;
          } catch (err) {
            logger.warn({ err }, 'cannot read the certificates of the authorities, will retry');
          }
          await pause(lookMs, stop.signal, clock);
        }
      };
      void follow();
      return () => stop.abort();
    },
  };
}

export const rootCertificatesDefinition: ControllerDefinition = {
  name: 'root-certificates',
  rules: [
    rule(['create'], '', 'configmaps'),
    { ...rule(['update'], '', 'configmaps'), resourceNames: [rootCertificates.configMap] },
  ],
  watches: { Namespace: {}, ConfigMap: {} },
  create({ informer, settings: { authorities }, ...context }) {
    if (!authorities) return undefined;
    return createRootCertificates({
      ...context,
      namespaces: informer('Namespace'),
      configMaps: informer('ConfigMap'),
      authorities,
    });
  },
};
