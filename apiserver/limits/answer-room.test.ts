import { expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { controlPlane } from '../auth/identity.ts';
import { AnswerRoom } from './answer-room.ts';

const room = () => new AnswerRoom({ bytes: 100, userBytes: 60, takeMs: 1 }, new MetricsRegistry());
const refusal = (user: string) =>
  expect.objectContaining({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_000, message: expect.stringContaining(user) });

it('lets a user have his part, and room again when an answer was taken', () => {
  const answers = room();
  const taken = [answers.hold('a', 30), answers.hold('a', 30)];
  expect(() => answers.assert('a', 1)).toThrow(refusal('user "a" has answers of 60 bytes'));
  expect(() => answers.assert('b', 40)).not.toThrow();
  taken[0]?.();
  expect(() => answers.assert('a', 30)).not.toThrow();
  taken[1]?.();
  expect(() => answers.assert('a', 60)).not.toThrow();
});

it('bounds all users together', () => {
  const answers = room();
  answers.hold('a', 60);
  answers.hold('b', 40);
  expect(() => answers.assert('c', 1)).toThrow(refusal('user "c"'));
  expect(() => answers.assert('c', 0)).not.toThrow();
});

it('counts the control plane without refusing it', () => {
  const answers = room();
  answers.hold(controlPlane.scheduler, 100);
  expect(() => answers.assert(controlPlane.scheduler, 50)).not.toThrow();
});
