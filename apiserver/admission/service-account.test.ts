import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec, ServiceAccount } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { serviceAccountRules } from './service-account.ts';

const accounts: Record<string, ServiceAccount> = {
  'ci/default': {},
  'ci/bot': { imagePullSecrets: [{ name: 'registry' }] },
};
const rules = serviceAccountRules(async (namespace, name) => accounts[`${namespace}/${name}`]);

async function admit(spec: PodSpec, namespace = 'ci', metadata: Pod['metadata'] = {}): Promise<PodSpec> {
  const pod: Pod = { metadata: { name: 'web', namespace, ...metadata }, spec };
  await rules.create(kindNamed('Pod'), pod);
  return pod.spec!;
}

describe('a new pod', () => {
  it('is of the account "default" unless it names another, under both names of the field', async () => {
    const usual = { serviceAccountName: 'default', serviceAccount: 'default' };
    expect(await admit({})).toEqual(usual);
    expect(await admit({ serviceAccountName: '' })).toEqual(usual);
    expect(await admit({ serviceAccountName: 'bot', imagePullSecrets: [{ name: 'own' }] })).toEqual({
      serviceAccountName: 'bot',
      serviceAccount: 'bot',
      imagePullSecrets: [{ name: 'own' }],
    });
  });

  it('does not wait for the account "default" of a namespace that has just been made', async () => {
    expect(await admit({}, 'new')).toMatchObject({ serviceAccountName: 'default' });
  });

  it('gets the secrets for images of its account when it names none itself', async () => {
    expect((await admit({ serviceAccountName: 'bot' })).imagePullSecrets).toEqual([{ name: 'registry' }]);
    expect((await admit({ serviceAccountName: 'bot', imagePullSecrets: [] })).imagePullSecrets).toEqual([{ name: 'registry' }]);
    expect(accounts['ci/bot']!.imagePullSecrets).toEqual([{ name: 'registry' }]);
  });

  it.each([
    ['does not exist', 'ci', 'nobody'],
    ['is one of another namespace', 'prod', 'bot'],
  ])('is refused when the account that it names %s', async (_, namespace, serviceAccountName) => {
    await expect(admit({ serviceAccountName }, namespace)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'Forbidden',
      message:
        `pods "web" is forbidden: error looking up service account ${namespace}/${serviceAccountName}: serviceaccount "${serviceAccountName}" not found; ` +
        `make it with "berth create serviceaccount ${serviceAccountName} -n ${namespace}"`,
    });
  });

  it('that mirrors a static pod gets none', async () => {
    expect(await admit({}, 'ci', { annotations: { [annotations.configMirror]: 'x' } })).toEqual({});
  });
});

it('other kinds are left alone', async () => {
  const object = { metadata: { name: 'x', namespace: 'ci' }, spec: {} };
  await rules.create(kindNamed('PersistentVolumeClaim'), object);
  expect(object.spec).toEqual({});
});
