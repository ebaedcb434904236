import { describe, expect, it } from 'vitest';
import { ApiError, notFound } from '../../api/errors/index.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createObjectSource } from './objects.ts';

describe('the certificates of the authorities for a pod', () => {
  const rootName = 'kube-root-ca.crt';
  const source = { configMap: { localObjectReference: { name: rootName } } };
  const volume = { name: 'v', volumeSource: { projected: { sources: [source] } } };
  const plain = { name: 'w', volumeSource: { configMap: { localObjectReference: { name: 'other' } } } };
  const away = new ApiError('UNAVAILABLE', 'ServiceUnavailable', 'away');

  function world(answers: Readonly<Record<string, ConfigMap | ApiError>>, authorities?: () => string | undefined) {
    const clock = createFakeClock();
    const asked = new Map(Object.entries(answers));
    const counted: string[] = [];
    const configMaps = {
      async get({ name }: { readonly name: string }) {
        counted.push(name);
        const answer = asked.get(name) ?? notFound({ kind: 'ConfigMap', name });
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
    const secrets = { get: () => Promise.reject(away) };
    const objects = createObjectSource({ configMaps, secrets, clock, authorities });
    const shown = async (...volumes: (typeof volume | typeof plain)[]) =>
      (await objects.forPod(pod('p').spec({ volumes, containers: [] }).build(), 0)).configMaps;
    return { shown, clock, counted, set: (name: string, answer: ConfigMap | ApiError) => asked.set(name, answer) };
  }
  const made = (text: string): ConfigMap => ({ data: { 'ca.crt': text } });

  it.each<[string, Readonly<Record<string, ConfigMap | ApiError>>, string]>([
    ['those of the ConfigMap', { [rootName]: made('theirs') }, 'theirs'],
    ["the agent's own where no controller has made it yet", {}, 'own'],
    ["the agent's own while the server is away and it is not known", { [rootName]: away }, 'own'],
  ])('are %s', async (_, answers, wanted) => {
    const { shown } = world(answers, () => 'own');
    expect((await shown(volume)).get(rootName)?.data).toEqual({ 'ca.crt': wanted });
  });

  it('are those that the ConfigMap had last while the server is away', async () => {
    const { shown, set, clock, counted } = world({ [rootName]: made('theirs') }, () => 'own');
    await shown(volume);
    set(rootName, away);
    await shown(volume);
    expect(counted).toEqual([rootName]);
    await clock.advance(300_000);
    expect((await shown(volume)).get(rootName)?.data).toEqual({ 'ca.crt': 'theirs' });
    expect(counted).toEqual([rootName, rootName]);
  });

  it('are missing where the agent has none either, and no other ConfigMap is made up', async () => {
    expect([...(await world({}).shown(volume)).keys()]).toEqual([]);
    expect([...(await world({}, () => 'own').shown(volume, plain)).keys()]).toEqual([rootName]);
    await expect(world({ other: away }, () => 'own').shown(volume, plain)).rejects.toThrow('away');
  });
});
