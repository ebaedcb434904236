import { expect, it } from 'vitest';
import { isExhausted } from '../../api/errors/index.ts';
import { controlPlane } from '../authn/identity.ts';
import { flowOf } from './levels.ts';
import { SelectorRoom } from './selector-room.ts';

const flow = (user: string) => flowOf({ user, groups: [] });
const long = { labelSelector: 'a'.repeat(60 * 1024), fieldSelector: 'b'.repeat(4 * 1024) };

it('holds 64 selectors of 64 KiB for one user, and as many for another', () => {
  const room = new SelectorRoom();
  const leaves = Array.from({ length: 64 }, () => room.hold(flow('anna'), long));
  expect(() => room.hold(flow('anna'), { labelSelector: 'x' })).toThrow(
    'user "anna" has watches with selectors of 4194304 bytes',
  );
  room.hold(flow('bert'), long);
  leaves[0]?.();
  room.hold(flow('anna'), long);
  expect(() => room.hold(flow('anna'), { fieldSelector: 'x' })).toThrow(expect.toSatisfy(isExhausted));
});

it('takes watches without selectors, and those of the control plane, however many there are', () => {
  const room = new SelectorRoom();
  for (let i = 0; i < 100; i++) room.hold(flow(controlPlane.scheduler), long);
  for (let i = 0; i < 64; i++) room.hold(flow('anna'), long);
  room.hold(flow('anna'), {});
});
