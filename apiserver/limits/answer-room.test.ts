import { expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { controlPlane, groups, nodeUser, serviceAccountUser } from '../authn/identity.ts';
import { AnswerRoom } from './answer-room.ts';
import { flowOf } from './levels.ts';

/** 100 bytes for tenants, 50 each for the other levels. */
const room = () => new AnswerRoom({ bytes: 200, userBytes: 60, userSmall: 3, takeMs: 1 }, new MetricsRegistry());
const refusal = (text: string) =>
  expect.objectContaining({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_000, message: expect.stringContaining(text) });
const user = (name: string, ...own: string[]) => flowOf({ user: name, groups: own });

it('lets a user have his part, and room again when an answer was taken', () => {
  const answers = room();
  const taken = [answers.hold(user('a'), 30), answers.hold(user('a'), 30)];
  expect(() => answers.assert(user('a'), 1)).toThrow(refusal('user "a" has answers of 60 bytes'));
  expect(() => answers.assert(user('b'), 40)).not.toThrow();
  taken[0]?.();
  expect(() => answers.assert(user('a'), 30)).not.toThrow();
  taken[1]?.();
  expect(() => answers.assert(user('a'), 60)).not.toThrow();
});

it('refuses who holds more than an equal share of a full level, and never who holds nothing', () => {
  const answers = room();
  answers.hold(user('a'), 55);
  answers.hold(user('b'), 45);
  expect(() => answers.assert(user('a'), 1)).toThrow(refusal('priority level "tenants"'));
  expect(() => answers.assert(user('b'), 5)).not.toThrow();
  expect(() => answers.assert(user('b'), 6)).toThrow(refusal('user "b"'));
  expect(() => answers.assert(user('c'), 60)).not.toThrow();
});

it('has room for administrators and nodes when tenants hold all of theirs', () => {
  const answers = room();
  for (const name of ['a', 'b', 'c']) answers.hold(user(name), 50);
  for (const flow of [user('admin', groups.masters), user(nodeUser('n1'), groups.nodes)]) {
    answers.hold(flow, 20);
    expect(() => answers.assert(flow, 30)).not.toThrow();
    expect(() => answers.assert(flow, 31)).toThrow(refusal(flow.name));
  }
});

it('counts the service accounts of a namespace as one', () => {
  const answers = room();
  const account = (name: string, namespace = 'team') => user(serviceAccountUser(namespace, name));
  for (let i = 0; i < 6; i++) answers.hold(account(`a${i}`), 10);
  expect(() => answers.assert(account('new'), 1)).toThrow(refusal('namespace "team" (all its service accounts) has'));
  expect(() => answers.assert(account('a0', 'other'), 1)).not.toThrow();
});

it('bounds small answers by their number', () => {
  const answers = room();
  const taken = Array.from({ length: 3 }, () => answers.holdSmall(user('a')));
  expect(() => answers.assert(user('a'), 0)).toThrow(refusal('user "a" has 3 answers on their way'));
  expect(() => answers.assert(user('b'), 0)).not.toThrow();
  taken[0]?.();
  expect(() => answers.assert(user('a'), 0)).not.toThrow();
});

it('counts the control plane without refusing it', () => {
  const answers = room();
  const scheduler = user(controlPlane.scheduler);
  answers.hold(scheduler, 100);
  expect(() => answers.assert(scheduler, 50)).not.toThrow();
});
