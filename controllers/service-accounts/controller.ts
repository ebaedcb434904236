import { isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { defaultServiceAccount } from '../../api/meta/well-known.ts';
import type { Client, Informer } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule } from '../rules.ts';

export interface ServiceAccountsOptions {
  readonly client: { readonly serviceAccounts: Pick<Client['serviceAccounts'], 'create'> };
  /** Outlines suffice. */
  readonly namespaces: Informer<ApiObject>;
  readonly accounts: Informer<ApiObject>;
}

const name = defaultServiceAccount;

/** Keeps the service account "default" in every namespace that is not on its way out. */
export function createServiceAccounts({ client, namespaces, accounts }: ServiceAccountsOptions): Controller {
  async function reconcile(namespace: string, signal: AbortSignal): Promise<void> {
    const known = namespaces.lister.get(namespace);
    if (!known || known.metadata?.deletionTimestamp || accounts.lister.get(`${namespace}/${name}`)) return;
    await client.serviceAccounts.create({ metadata: { namespace, name } }, {}, { signal }).catch((error: unknown) => {
      // Another writer made it, or the namespace is gone.
      if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
    });
  }

  return {
    name: 'service-accounts',
    sources: [
      changesOf(namespaces, ({ metadata }) => [metadata?.name ?? ''], {}),
      changesOf(accounts, ({ metadata }) => (metadata?.name === name ? [metadata.namespace ?? ''] : []), {}),
    ],
    reconcile,
  };
}

export const serviceAccounts: ControllerDefinition = {
  name: 'service-accounts',
  rules: [rule(['create'], '', 'serviceaccounts')],
  watches: { Namespace: {}, ServiceAccount: {} },
  create: ({ client, informer }) =>
    createServiceAccounts({ client, namespaces: informer('Namespace'), accounts: informer('ServiceAccount') }),
};
