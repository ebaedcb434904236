import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BodyWay, readBody } from './read-body.ts';

/** A request and its answer, of which one may have ended before its body is read. */
function way(of: { request?: object; response?: object }) {
  const request = Object.assign(new EventEmitter(), { headers: {}, destroyed: false, pause: vi.fn() }, of.request);
  const response = Object.assign(new EventEmitter(), { destroyed: false, writeContinue: vi.fn() }, of.response);
  const begin = vi.fn(() => () => {});
  return { request, response, begin, whole: { request, response, isUpgrade: false, arrivals: { begin } } as unknown as BodyWay };
}
const cancelled = { code: 'CANCELLED' };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** How a promise has ended; "waits" where it has not. */
async function stateOf(reading: Promise<unknown>): Promise<unknown> {
  const waits = new Promise((resolve) => setTimeout(resolve, 1_000, 'waits'));
  const state = Promise.race([reading, waits]).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1_000);
  return state;
}

describe('a body', () => {
  it.each<[string, { request?: object; response?: object }]>([
    ['request', { request: { destroyed: true } }],
    ['answer', { response: { destroyed: true } }],
  ])('is not waited for when its %s has already been destroyed', async (_, of) => {
    const { whole, begin } = way({ ...of, request: { headers: { expect: '100-continue' }, ...of.request } });
    expect(await stateOf(readBody(whole))).toMatchObject(cancelled);
    expect(begin).not.toHaveBeenCalled();
  });

  it('ends with its request, whole or not', async () => {
    const broken = way({});
    const reading = readBody(broken.whole);
    broken.request.emit('data', Buffer.from('{'));
    broken.request.emit('close');
    expect(await stateOf(reading)).toMatchObject(cancelled);
    const { request, whole } = way({});
    const other = readBody(whole);
    request.emit('data', Buffer.from('{'));
    request.emit('data', Buffer.from('}'));
    request.emit('end');
    request.emit('close');
    expect(String(await stateOf(other))).toBe('{}');
    expect(request.pause).not.toHaveBeenCalled();
  });

  it('is asked for where its client waits for that, and nowhere else', async () => {
    for (const [headers, times] of [
      [{ expect: '100-continue' }, 1],
      [{}, 0],
    ] as const) {
      const { whole, request, response } = way({ request: { headers } });
      const reading = readBody(whole);
      expect(response.writeContinue).toHaveBeenCalledTimes(times);
      request.emit('end');
      expect(String(await stateOf(reading))).toBe('');
    }
  });

  it('that grows too large is refused, and no more of it read', async () => {
    const { whole, request } = way({});
    const reading = readBody(whole);
    request.emit('data', Buffer.alloc(4 * 1024 * 1024));
    request.emit('data', Buffer.alloc(1));
    expect(await stateOf(reading)).toMatchObject({ reason: 'RequestEntityTooLarge' });
    expect([request.pause.mock.calls.length, request.listenerCount('data')]).toEqual([1, 0]);
  });

  it('that is compressed, or said to be too large, is refused unread', async () => {
    for (const [headers, reason] of [
      [{ 'content-encoding': 'gzip' }, 'UnsupportedMediaType'],
      [{ 'content-length': '4194305' }, 'RequestEntityTooLarge'],
    ] as const) {
      const { whole, begin } = way({ request: { headers } });
      expect(await stateOf(readBody(whole))).toMatchObject({ reason });
      expect(begin).not.toHaveBeenCalled();
    }
  });
});
