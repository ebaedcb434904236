import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ListGate, type ListLimits, type ListPass } from './list-gate.ts';

const limits: ListLimits = { maxBytes: 100, userBytes: 60, maxWaiting: 3, waitMs: 1_000, takeMs: 5_000 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function gate(changes: Partial<ListLimits> = {}) {
  const made = new ListGate({ ...limits, ...changes }, () => 0.5);
  const enter = (user: string, bytes: number, signal = new AbortController().signal): Promise<ListPass> =>
    made.enter({ user, bytes, signal: () => signal });
  return { gate: made, enter };
}

/** Whether it has been admitted by now. */
async function isIn(pass: Promise<ListPass>): Promise<boolean> {
  let admitted = false;
  pass.then(
    () => {
      admitted = true;
    },
    () => {},
  );
  await vi.advanceTimersByTimeAsync(0);
  return admitted;
}

test('lists enter while there is room, and the next one when somebody leaves', async () => {
  const { gate: lists, enter } = gate();
  const first = await enter('a', 60);
  await enter('b', 40);
  const third = enter('c', 50);
  expect(await isIn(third)).toBe(false);
  first.leave();
  expect(await isIn(third)).toBe(true);
  expect(lists.usedBytes).toBe(90);
});

test('a list that promises to take less than nothing takes nothing from the account', async () => {
  const { gate: lists, enter } = gate();
  const held = await enter('a', 50);
  const absurd = await enter('a', -1e20);
  expect(lists.usedBytes).toBe(50);
  absurd.leave();
  held.leave();
  expect(await isIn(enter('a', 60))).toBe(true);
});

test('what an answer takes in fact makes room for others, or takes it', async () => {
  const { gate: lists, enter } = gate();
  const first = await enter('a', 60);
  first.resize(10);
  expect(lists.usedBytes).toBe(10);
  first.resize(95);
  expect(await isIn(enter('b', 10))).toBe(false);
  first.leave();
  first.leave();
  first.resize(50);
  expect(lists.usedBytes).toBe(10);
});

test('one user never has all the room', async () => {
  const { enter } = gate();
  await enter('greedy', 60);
  const more = enter('greedy', 20);
  expect(await isIn(more)).toBe(false);
  expect(await isIn(enter('other', 40))).toBe(true);
});

test('a large list is not passed by for ever by small ones', async () => {
  const { enter } = gate();
  const [first, second] = [await enter('a', 60), await enter('b', 20)];
  const large = enter('c', 60);
  const small = enter('d', 5);
  expect([await isIn(large), await isIn(small)]).toEqual([false, false]);
  first.leave();
  expect([await isIn(large), await isIn(small)]).toEqual([true, true]);
  second.leave();
});

test('a list that is larger than all the room enters when nobody else is there', async () => {
  const { enter } = gate();
  expect(await isIn(enter('a', 1_000))).toBe(true);
});

test('who waits too long is refused with a delay that differs from client to client', async () => {
  const { gate: lists, enter } = gate();
  const first = await enter('a', 60);
  const refused = expect(enter('a', 60)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 2_000 });
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
  expect(lists.waitingLists).toBe(0);
  first.leave();
  expect(lists.usedBytes).toBe(0);
});

test('when too many wait the next one is refused at once', async () => {
  const { enter } = gate({ maxWaiting: 1 });
  await enter('a', 60);
  const waiting = enter('a', 60);
  await expect(enter('a', 60)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  expect(await isIn(waiting)).toBe(false);
});

test('a client that goes while it waits makes way for those behind it', async () => {
  const { enter } = gate();
  const leaving = new AbortController();
  await enter('a', 60);
  const large = enter('b', 60, leaving.signal);
  const small = enter('c', 30);
  expect(await isIn(small)).toBe(false);
  leaving.abort();
  await expect(large).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await isIn(small)).toBe(true);
});

test('one user that waits everywhere does not keep others from the room that it may not have, nor from waiting', async () => {
  const { gate: lists, enter } = gate({ maxWaiting: 30 });
  const held = await enter('greedy', 60);
  const waiting = Array.from({ length: 30 }, () => enter('greedy', 60));
  await expect(enter('greedy', 60)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  expect(await isIn(enter('modest', 30))).toBe(true);
  const patient = enter('other', 60);
  expect(await isIn(patient)).toBe(false);
  expect(lists.waitingLists).toBe(31);
  held.leave();
  expect(await isIn(waiting[0]!)).toBe(true);
});

test('the control plane is never refused a place to wait', async () => {
  const { enter } = gate({ maxWaiting: 1 });
  await enter('a', 60);
  await enter('b', 40);
  const waiting = Array.from({ length: 3 }, () => enter('system:kube-scheduler', 10));
  for (const each of waiting) expect(await isIn(each)).toBe(false);
});
