import { expect, it } from 'vitest';
import { obstaclesOf, refusalsIn } from './obstacles.ts';
import type { TroubleLine } from './read-troubles.ts';
import { TroubleWatch } from './trouble-watch.ts';

it('tells a trouble once, when two looks in a row have found it', async () => {
  const line = (key: string): TroubleLine => ({ key, line: `${key}!` });
  const looks = [[line('a')], [line('b')], [line('a'), line('b')], [line('a'), line('b')], [line('a')], [line('b')]];
  const stop = new AbortController();
  const told: string[] = [];
  const read = async () => {
    const next = looks.shift();
    if (looks.length === 0) setImmediate(() => stop.abort());
    return next ?? [];
  };
  await new TroubleWatch({ read, tell: (each) => told.push(each), everyMs: 1 }).run(stop.signal);
  expect(told).toEqual(['b!', 'a!']);
});

it('reads what a workload says of itself', () => {
  const failure = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: q' };
  expect(
    obstaclesOf('Deployment', { metadata: { name: 'web' }, spec: { paused: true }, status: { conditions: [failure] } }),
  ).toEqual([
    { type: 'paused', what: 'paused: "berth rollout resume deployment/web" lets changes of its template through' },
    { type: 'refused', what: 'pods cannot be created, FailedCreate: exceeded quota: q' },
  ]);
  expect(obstaclesOf('Job', { metadata: { name: 'j' }, spec: { suspend: true } })).toMatchObject([{ type: 'suspended' }]);
  expect(obstaclesOf('DaemonSet', { spec: {} })).toEqual([]);
});

it('takes the newest refusal of the last minutes from the events of kinds that have no condition for it', () => {
  const now = Date.parse('2026-01-01T12:00:00Z');
  const event = (minutes: number, message: string, type = 'Warning', reason = 'FailedCreate') => ({
    type,
    reason,
    message,
    lastTimestamp: new Date(now - minutes * 60_000).toISOString(),
  });
  const events = [event(1, 'new'), event(3, 'older'), event(1, 'fine', 'Normal', 'SuccessfulCreate')];
  expect(refusalsIn('StatefulSet', events, now)).toEqual([
    { type: 'refused', what: 'pods cannot be created, FailedCreate: new' },
  ]);
  expect(refusalsIn('StatefulSet', [event(30, 'over')], now)).toEqual([]);
  expect(refusalsIn('Deployment', events, now)).toEqual([]);
});
