import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { groups } from '../authn/identity.ts';
import { flowOf } from '../limits/levels.ts';
import { ListGate, type ListLimits, type ListPass } from './list-gate.ts';

/** 100 bytes for tenants and for the control plane, 67 for nodes. */
const limits: ListLimits = { maxBytes: 267, userBytes: 60, maxWaiting: 3, waitMs: 1_000, firstWaitMs: 1_000, takeMs: 5_000 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const groupsOf: Readonly<Record<string, readonly string[]>> = { admin: [groups.masters], node: [groups.nodes] };

function gate(changes: Partial<ListLimits> = {}) {
  const made = new ListGate({ ...limits, ...changes }, () => 0.5);
  const enter = (user: string, bytes: number, signal = new AbortController().signal): Promise<ListPass> =>
    made.enter({ flow: flowOf({ user, groups: groupsOf[user] ?? [] }), bytes, signal: () => signal });
  const sum = (values: { readonly value: number }[]): number => values.reduce((all, { value }) => all + value, 0);
  const counts = {
    get usedBytes() {
      return sum(made.read((level) => level.usedBytes));
    },
    get waitingLists() {
      return sum(made.read((level) => level.waitingLists));
    },
  };
  return { gate: counts, enter };
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

test('lists enter while there is room, and the next one when another leaves', async () => {
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

test('a list that is larger than all the room enters when no other is there', async () => {
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
  await enter('admin', 60);
  await enter('system:kube-controller-manager', 40);
  const waiting = Array.from({ length: 3 }, () => enter('system:kube-scheduler', 10));
  for (const each of waiting) expect(await isIn(each)).toBe(false);
});

test('the lists of administrators, nodes and the control plane enter at once while tenants hold all their room and wait', async () => {
  const { enter } = gate();
  await enter('a', 60);
  await enter('b', 40);
  for (const user of ['a', 'b', 'c']) void enter(user, 40).catch(() => {});
  for (const user of ['admin', 'node', 'system:kube-scheduler']) expect(await isIn(enter(user, 30))).toBe(true);
});

test('the list of a flow that holds nothing is next, before those that came earlier of flows that hold some', async () => {
  const { enter } = gate();
  const [first] = [await enter('a', 50), await enter('b', 50)];
  const more = enter('b', 10);
  const modest = enter('c', 50);
  expect(await isIn(modest)).toBe(false);
  first.leave();
  expect([await isIn(modest), await isIn(more)]).toEqual([true, false]);
});

test('a flow that holds nothing waits a moment, not until others have read their lists', async () => {
  const { enter } = gate({ waitMs: 10_000, firstWaitMs: 500, maxWaiting: 30 });
  await enter('a', 60);
  await enter('b', 40);
  const modest = enter('c', 60);
  const second = enter('c', 20);
  await vi.advanceTimersByTimeAsync(500);
  expect([await isIn(modest), await isIn(second)]).toEqual([true, false]);
  const large = enter('d', 60);
  await vi.advanceTimersByTimeAsync(500);
  expect(await isIn(large)).toBe(false);
});

test('the service accounts of a namespace have the room of one user together', async () => {
  const { enter } = gate();
  await enter('system:serviceaccount:team:a', 60);
  expect(await isIn(enter('system:serviceaccount:team:b', 30))).toBe(false);
  expect(await isIn(enter('system:serviceaccount:other:a', 30))).toBe(true);
});
