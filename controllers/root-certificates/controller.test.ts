import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors/index.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Informer } from '../../client/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createRootCertificates } from './controller.ts';

const team = { metadata: { name: 'team' } };
const key = { namespace: 'team', name: 'kube-root-ca.crt' };

function world(namespaces: readonly ApiObject[], stored?: ConfigMap, answer?: object) {
  const written: [string, ConfigMap][] = [];
  const write = (verb: string) => async (object: ConfigMap) => {
    if (answer) throw answer;
    written.push([verb, object]);
    return object;
  };
  const informer = (list: readonly ApiObject[], has: (key: string) => ApiObject | undefined) =>
    ({
      lister: { get: has, list: () => list },
      addHandler: () => () => {},
      waitForSync: async () => {},
    }) as unknown as Informer<ApiObject>;
  const pem = { text: 'A' };
  const clock = createFakeClock();
  const controller = createRootCertificates({
    client: { configMaps: { get: async () => stored!, create: write('create'), update: write('update') } },
    namespaces: informer(namespaces, (name) => namespaces.find(({ metadata }) => metadata?.name === name)),
    configMaps: informer([], () => stored && {}),
    authorities: async () => {
      if (pem.text === '') throw new Error('no file');
      return pem.text;
    },
    clock,
    logger: createFakeLogger(),
  });
  return { written, pem, clock, controller, reconcile: () => controller.reconcile('team', new AbortController().signal) };
}

describe('the ConfigMap with the authorities', () => {
  it.each<[string, ApiObject[], ConfigMap | undefined, [string, ConfigMap][]]>([
    ['is made in a namespace without one', [team], undefined, [['create', { metadata: key, data: { 'ca.crt': 'A' } }]]],
    ['stays as it is', [team], { metadata: key, data: { 'ca.crt': 'A' } }, []],
    [
      'is put right when a user changed it',
      [team],
      { metadata: key, data: { 'ca.crt': 'B', more: 'x' }, binaryData: { y: Buffer.from('') } },
      [['update', { metadata: key, data: { 'ca.crt': 'A' } }]],
    ],
    ['is not made where there is no namespace', [], undefined, []],
    ['is not made in a namespace that goes', [{ metadata: { name: 'team', deletionTimestamp: { seconds: 1 } } }], undefined, []],
  ])('%s', async (_, namespaces, stored, wanted) => {
    const { written, reconcile } = world(namespaces, stored);
    await reconcile();
    expect(written).toEqual(wanted);
  });

  it('is tried again when it could not be made, and not when it is there already', async () => {
    await world([team], undefined, new ApiError('ALREADY_EXISTS', 'AlreadyExists', 'x')).reconcile();
    await world([team], undefined, new ApiError('NOT_FOUND', 'NotFound', 'x')).reconcile();
    const refused = world([team], undefined, new ApiError('UNAVAILABLE', 'Unavailable', 'away')).reconcile();
    await expect(refused).rejects.toThrow('away');
  });

  it('is looked at everywhere when the authorities have become others', async () => {
    const { controller, pem, clock } = world([team, { metadata: { name: 'other' } }]);
    const woken: string[] = [];
    const ends = controller.sources.map((source) => source.connect((name) => woken.push(name)));
    const minute = async (text: string) => {
      pem.text = text;
      await clock.advance(60_000);
      await settle();
      return woken.splice(0);
    };
    await settle();
    expect([await minute('A'), await minute(''), await minute('AB'), await minute('AB')]).toEqual([
      [],
      [],
      ['team', 'other'],
      [],
    ]);
    for (const end of ends) end();
  });
});
