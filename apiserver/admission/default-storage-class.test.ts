import { expect, test } from 'vitest';
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { storageClass } from '../../test/builders/index.ts';
import { defaultStorageClassRules } from './default-storage-class.ts';

const plain: PersistentVolumeClaim = { spec: { accessModes: ['ReadWriteOnce'] } };
const made = (seconds: number, each: StorageClass): StorageClass => ({
  ...each,
  metadata: { ...each.metadata, creationTimestamp: { seconds } },
});
const usual = storageClass('usual').byDefault().build();
const other = storageClass('other').byDefault().build();

async function classOf(claim: PersistentVolumeClaim, ...classes: StorageClass[]): Promise<string | undefined> {
  const admitted = structuredClone(claim);
  await defaultStorageClassRules(async () => classes).create(kindNamed('PersistentVolumeClaim'), admitted);
  return admitted.spec?.storageClassName;
}

test.each<[string, PersistentVolumeClaim, StorageClass[], string | undefined]>([
  ['gets the default class', plain, [storageClass('a').build(), usual], 'usual'],
  ['gets none where none is the default', plain, [storageClass('a').build()], undefined],
  ['keeps the class that it names', { spec: { storageClassName: 'a' } }, [usual], 'a'],
  ['keeps the empty class', { spec: { storageClassName: '' } }, [usual], ''],
  [
    'keeps the class that its annotation names',
    { ...plain, metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'a' } } },
    [usual],
    undefined,
  ],
  ['gets the newest of several', plain, [made(2, other), made(1, usual)], 'other'],
  ['gets the first by name of several of one moment', plain, [made(1, usual), made(1, other)], 'other'],
])('a new claim %s', async (_title, claim, classes, expected) => {
  expect(await classOf(claim, ...classes)).toBe(expected);
});

test('other objects are left alone', async () => {
  const pod = { spec: {} };
  await defaultStorageClassRules(async () => [usual]).create(kindNamed('Pod'), pod as never);
  expect(pod).toEqual({ spec: {} });
});
