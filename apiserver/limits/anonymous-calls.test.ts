import { expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { AnonymousCalls } from './anonymous-calls.ts';

const make = () => new AnonymousCalls({ peerStreams: 2, peerCalls: 3, total: 6, takeMs: 1 }, new MetricsRegistry());
const refusal = (text: string) => expect.objectContaining({ code: 'RESOURCE_EXHAUSTED', message: expect.stringContaining(text) });

it('bounds the streams and the calls of an address apart from each other and from other addresses', () => {
  const calls = make();
  const leave = [calls.enter('a', 'stream'), calls.enter('a', 'stream')];
  expect(() => calls.enter('a', 'stream')).toThrow(refusal('your address has 2 streams without credentials open'));
  for (let i = 0; i < 3; i++) calls.enter('a', 'unary');
  expect(() => calls.enter('a', 'unary')).toThrow(refusal('your address has 3 calls without credentials open'));
  calls.enter('b', 'stream');
  expect(() => calls.enter('c', 'stream')).toThrow(refusal('there are 6 without credentials open'));
  leave[0]?.();
  leave[0]?.();
  calls.enter('a', 'stream');
  expect(() => calls.enter('a', 'stream')).toThrow(refusal('your address'));
});
