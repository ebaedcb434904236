import { expect, it } from 'vitest';
import { toJson } from '../../api/codec/json.ts';
import { type KindName, kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { localPathClass } from '../../api/kinds/storage-class/local-path.ts';
import { claim, volume } from '../../test/builders/index.ts';
import type { Session } from '../session.ts';
import { describerOf } from './index.ts';
import type { Tree } from './json.ts';
import { createLines } from './lines.ts';
import { writeClaim } from './persistent-volume-claim.ts';

const now = new Date(Date.UTC(2026, 0, 1, 12));
const json = (kind: KindName, object: ApiObject) => toJson(kindNamed(kind), object as never) as Tree;

async function described(kind: KindName, object: ApiObject): Promise<string> {
  const lines = createLines();
  const context = { session: {} as Session, now, logTails: { read: async () => [] } };
  (await describerOf(kind)(json(kind, object), context))(lines);
  return lines.text();
}

it('describes a storage class with whether it is the default and what it does', async () => {
  const terms = [{ matchLabelExpressions: [{ key: 'zone', values: ['a', 'b'] }] }];
  const text = await described('StorageClass', { ...structuredClone(localPathClass), allowedTopologies: terms } as ApiObject);
  expect(text).toMatch(/^Name: +local-path\nIsDefaultClass: +Yes\n/);
  expect(text).toMatch(/Provisioner: +berth.io\/local-path\nParameters: +<none>\n/);
  expect(text).toMatch(
    /ReclaimPolicy: +Delete\nVolumeBindingMode: +WaitForFirstConsumer\nAllowedTopologies: +zone in \[a, b\]\n/,
  );
});

it('describes a volume with its claim, its node and its folder', async () => {
  const made = volume('v').storageClass('local-path').madeOn('n1').keptFor('default/c', 'u').reclaim('Delete').phase('Bound');
  const text = await described('PersistentVolume', made.build());
  expect(text).toMatch(
    /StorageClass: +local-path\nStatus: +Bound\nClaim: +default\/c\nReclaim Policy: +Delete\nAccess Modes: +RWO\n/,
  );
  expect(text).toMatch(/Node Affinity: +metadata.name in \[n1\]\n/);
  expect(text).toContain('/data/v');
  expect(await described('PersistentVolume', made.leaving().build())).toMatch(/Status: +Terminating/);
});

it('describes a claim with what it has and who uses it', () => {
  const text = (object: ApiObject, ...users: string[]) => {
    const lines = createLines();
    writeClaim(json('PersistentVolumeClaim', object), users, lines, now);
    return lines.text();
  };
  const open = text(claim('c').storageClass('fast').build());
  expect(open).toMatch(/StorageClass: +fast\nStatus: +Pending\nVolume: +<none>\n/);
  expect(open).toMatch(/Capacity: +<none>\nRequested: +1Gi\nAccess Modes: +RWO\nVolumeMode: +Filesystem\nUsed By: +<none>\n/);
  expect(text(claim('c').on('v').bound().build(), 'p', 'q')).toMatch(/Used By: +p\n +q\n/);
});

it('shows finalizers once, also while an object is being deleted', async () => {
  const count = (text: string) => text.split('Finalizers').length - 1;
  const lines = createLines();
  writeClaim(json('PersistentVolumeClaim', claim('c').leaving().build()), [], lines, now);
  expect(count(lines.text())).toBe(1);
  expect(count(await described('PersistentVolume', volume('v').leaving().build()))).toBe(1);
  expect(count(await described('PersistentVolume', volume('v').build()))).toBe(1);
});
