import { expect, it } from 'vitest';
import { WatchRoom } from './watch-room.ts';

/** A room of 10,000 bytes for each flow; `turn` calls what waits for a turn. */
function makeRoom() {
  const turns: (() => void)[] = [];
  const room = new WatchRoom({ add: (go) => void turns.push(go) }, 10_000);
  const turn = (): void => {
    for (const go of turns.splice(0)) go();
  };
  const of = (key: string, isExempt = false) => room.of({ key, isExempt });
  return { of, turn };
}

const frame = (): Buffer => Buffer.alloc(6_000);
const never = (): void => expect.unreachable('woken');

it('lets no watcher of a flow make a message while others leave as much unread as the flow may', () => {
  const { of, turn } = makeRoom();
  const [first, second] = [of('anna'), of('anna')];
  const [one, two] = [frame(), frame()];
  expect(second.hasRoom(never)).toBe(true);
  first.take(one);
  second.take(two);
  const woken: string[] = [];
  expect(first.hasRoom(() => woken.push('first'))).toBe(false);
  expect(second.hasRoom(() => woken.push('second'))).toBe(false);
  turn();
  expect(woken).toEqual([]);
  second.give(two);
  turn();
  // The first took nothing, so there is room for the second.
  turn();
  expect(woken).toEqual(['first', 'second']);
});

it('counts a message once that several watchers share', () => {
  const { of } = makeRoom();
  const shared = frame();
  const watchers = [of('anna'), of('anna'), of('anna')];
  for (const each of watchers) each.take(shared);
  const last = frame();
  watchers[0]!.take(last);
  expect(watchers[0]!.hasRoom(() => {})).toBe(false);
  watchers[0]!.give(shared);
  watchers[1]!.give(shared);
  expect(watchers[0]!.hasRoom(() => {})).toBe(false);
  watchers[2]!.give(shared);
  expect(watchers[0]!.hasRoom(() => {})).toBe(true);
});

it('keeps no flow from its own room, and counts nothing against the control plane', () => {
  const { of } = makeRoom();
  const [hog, other, scheduler] = [of('anna'), of('bob'), of('scheduler', true)];
  for (const each of [hog, scheduler]) for (let i = 0; i < 3; i++) each.take(frame());
  expect(hog.hasRoom(() => {})).toBe(false);
  expect(other.hasRoom(never)).toBe(true);
  expect(scheduler.hasRoom(never)).toBe(true);
});

it('wakes the next where one that waited is over', () => {
  const { of, turn } = makeRoom();
  const [hog, gone, next] = [of('anna'), of('anna'), of('anna')];
  const frames = [frame(), frame()];
  for (const each of frames) hog.take(each);
  let isWoken = false;
  gone.hasRoom(never);
  next.hasRoom(() => {
    isWoken = true;
  });
  gone.forget(never);
  turn();
  expect(isWoken).toBe(false);
  hog.give(frames[0]!);
  turn();
  expect(isWoken).toBe(true);
});

it('forgets a flow with its last watcher, and whatever that did not give back', () => {
  const { of } = makeRoom();
  const [first, last] = [of('anna'), of('anna')];
  for (const each of [first, last]) each.take(frame());
  first.forget(never);
  expect(last.hasRoom(() => {})).toBe(false);
  last.forget(never);
  expect(of('anna').hasRoom(never)).toBe(true);
});
