import { describe, expect, it } from 'vitest';
import type { ServiceAccount } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Informer } from '../../client/index.ts';
import { createServiceAccounts } from './controller.ts';

function world(namespaces: readonly ApiObject[], accounts: readonly string[], answer?: object) {
  const made: string[] = [];
  const informer = (has: (key: string) => ApiObject | undefined) => ({ lister: { get: has } }) as unknown as Informer<ApiObject>;
  const controller = createServiceAccounts({
    client: {
      serviceAccounts: {
        async create(account: ServiceAccount) {
          if (answer) throw answer;
          made.push(`${account.metadata?.namespace}/${account.metadata?.name}`);
          return account;
        },
      },
    },
    namespaces: informer((name) => namespaces.find(({ metadata }) => metadata?.name === name)),
    accounts: informer((key) => (accounts.includes(key) ? {} : undefined)),
  });
  return { made, reconcile: () => controller.reconcile('team', new AbortController().signal) };
}

const team = { metadata: { name: 'team' } };

describe('the account "default"', () => {
  it.each<[string, ApiObject[], string[], string[]]>([
    ['is made in a namespace without one', [team], [], ['team/default']],
    ['is made also where there are others', [team], ['team/other'], ['team/default']],
    ['stays', [team], ['team/default'], []],
    ['is not made where there is no namespace', [], [], []],
    ['is not made in a namespace that goes', [{ metadata: { name: 'team', deletionTimestamp: { seconds: 1 } } }], [], []],
  ])('%s', async (_, namespaces, accounts, wanted) => {
    const { made, reconcile } = world(namespaces, accounts);
    await reconcile();
    expect(made).toEqual(wanted);
  });

  it('is tried again when it could not be made, and not when it is there already', async () => {
    const refused = (code: string) => Object.assign(new Error(code), { code });
    const { ApiError } = await import('../../api/errors/index.ts');
    await world([team], [], new ApiError('ALREADY_EXISTS', 'AlreadyExists', 'x')).reconcile();
    await world([team], [], new ApiError('NOT_FOUND', 'NotFound', 'x')).reconcile();
    await expect(world([team], [], refused('UNAVAILABLE')).reconcile()).rejects.toThrow('UNAVAILABLE');
  });
});
