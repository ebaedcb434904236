import { expect, test } from 'vitest';
import type { Ingress, IngressClass } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { defaultIngressClassRules } from './default-ingress-class.ts';

const KEY = 'ingressclass.kubernetes.io/is-default-class';
const classOf = (name: string, seconds = 0, value = 'true'): IngressClass => ({
  metadata: { name, creationTimestamp: { seconds }, annotations: { [KEY]: value } },
});
const plain: Ingress = { spec: { defaultBackend: {} } };

async function admitted(ingress: Ingress, ...classes: IngressClass[]): Promise<Ingress> {
  const object = structuredClone(ingress);
  await defaultIngressClassRules(async () => classes).create(kindNamed('Ingress'), object);
  return object;
}

test.each<[string, Ingress, IngressClass[], string | undefined]>([
  ['gets the default class', plain, [classOf('a', 0, 'false'), classOf('b')], 'b'],
  ['gets none where none is the default', plain, [classOf('a', 0, 'false'), { metadata: { name: 'b' } }], undefined],
  ['gets the newest of several', plain, [classOf('a', 1), classOf('b', 2)], 'b'],
  ['gets the first by name of several of one moment', plain, [classOf('b'), classOf('a')], 'a'],
  ['keeps the class that it names', { spec: { ingressClassName: 'own' } }, [classOf('a')], 'own'],
  [
    'keeps the class of its annotation',
    { ...plain, metadata: { annotations: { 'kubernetes.io/ingress.class': 'own' } } },
    [classOf('a')],
    undefined,
  ],
])('a new Ingress %s', async (_title, ingress, classes, expected) => {
  expect((await admitted(ingress, ...classes)).spec?.ingressClassName).toBe(expected);
});

test('objects of other kinds are left alone', async () => {
  const policy = { spec: {} };
  await defaultIngressClassRules(async () => [classOf('a')]).create(kindNamed('NetworkPolicy'), policy as never);
  expect(policy).toEqual({ spec: {} });
});
