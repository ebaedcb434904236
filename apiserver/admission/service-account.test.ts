import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec, ServiceAccount } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { serviceAccountRules } from './service-account.ts';

const accounts: Record<string, ServiceAccount> = {
  'ci/default': {},
  'ci/caller': { automountServiceAccountToken: true },
  'ci/silent': { automountServiceAccountToken: false },
  'ci/bot': { imagePullSecrets: [{ name: 'registry' }] },
};
const rules = serviceAccountRules(async (namespace, name) => accounts[`${namespace}/${name}`]);

async function admit(spec: PodSpec, namespace = 'ci', metadata: Pod['metadata'] = {}): Promise<PodSpec> {
  const pod: Pod = { metadata: { name: 'web', namespace, uid: '4f2c1d3e-0000', ...metadata }, spec };
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

  describe('gets a token mounted', () => {
    const containers = [{ name: 'a' }];
    const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
    it.each<[string, PodSpec, boolean]>([
      ['unless it says no', {}, true],
      ['when it asks for it', { automountServiceAccountToken: true }, true],
      ['when its account says so', { serviceAccountName: 'caller' }, true],
      ['not when its account says no', { serviceAccountName: 'silent' }, false],
      ['when it asks for it against its account', { serviceAccountName: 'silent', automountServiceAccountToken: true }, true],
      ['not when it says no itself', { serviceAccountName: 'caller', automountServiceAccountToken: false }, false],
    ])('%s', async (_, spec, wanted) => {
      const made = await admit({ ...spec, containers: [{ name: 'a' }] });
      expect(made.volumes?.map(({ name }) => name) ?? []).toEqual(wanted ? ['kube-api-access-4f2c1'] : []);
      expect(made.containers![0]!.volumeMounts ?? []).toEqual(
        wanted ? [{ name: 'kube-api-access-4f2c1', mountPath, readOnly: true }] : [],
      );
    });

    it('with authorities and namespace, in every container that has nothing of its own there', async () => {
      const own = { name: 'own', mountPath };
      const made = await admit({
        automountServiceAccountToken: true,
        initContainers: [{ name: 'i' }],
        containers: [...containers, { name: 'b', volumeMounts: [own] }],
        volumes: [{ name: 'own', volumeSource: { emptyDir: {} } }],
      });
      const [, volume] = made.volumes!;
      expect(volume!.volumeSource?.projected?.sources).toEqual([
        { serviceAccountToken: { path: 'token', expirationSeconds: 3_607 } },
        { configMap: { localObjectReference: { name: 'kube-root-ca.crt' }, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
      ]);
      expect(made.containers![1]!.volumeMounts).toEqual([own]);
      expect(made.initContainers![0]!.volumeMounts).toHaveLength(1);
      expect((await admit({ automountServiceAccountToken: true, containers: [made.containers![1]!] })).volumes).toBeUndefined();
    });
  });

  it('that a webhook changed, or that was one before, has one volume for its token', async () => {
    const made = await admit({ containers: [{ name: 'a' }] });
    made.initContainers = [{ name: 'added' }];
    const again = await admit(made, 'ci', { uid: 'another' });
    expect(again.volumes?.map(({ name }) => name)).toEqual(['kube-api-access-4f2c1']);
    expect([...again.initContainers!, ...again.containers!].map(({ volumeMounts }) => volumeMounts)).toMatchObject([
      [{ name: 'kube-api-access-4f2c1' }],
      [{ name: 'kube-api-access-4f2c1' }],
    ]);
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
