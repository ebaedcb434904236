import { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { endWhenSilent } from './keepalive.ts';

const times = { timeMs: 100, timeoutMs: 10 };

/** A connection whose pings are answered or not. */
function start({ answers }: { answers: boolean }) {
  const socket = { bytesRead: 0 };
  const ping = vi.fn(() => {
    if (answers) socket.bytesRead++;
  });
  const session = Object.assign(new EventEmitter(), { destroyed: false, ping });
  const end = vi.fn();
  endWhenSilent(session as unknown as ServerHttp2Session, socket, times, end);
  return { session, ping, end };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a connection', () => {
  it('goes on while its pings are answered', () => {
    const { ping, end } = start({ answers: true });
    vi.advanceTimersByTime(1_100);
    expect([ping.mock.calls.length, end.mock.calls.length]).toEqual([10, 0]);
  });

  it('is ended once when a ping is not answered in time', () => {
    const { ping, end } = start({ answers: false });
    vi.advanceTimersByTime(109);
    expect([ping.mock.calls.length, end.mock.calls.length]).toEqual([1, 0]);
    vi.advanceTimersByTime(1_000);
    expect([ping.mock.calls.length, end.mock.calls.length]).toEqual([1, 1]);
  });

  it('whose session was destroyed, and did not close, is ended once without a ping', () => {
    const { session, ping, end } = start({ answers: true });
    session.destroyed = true;
    vi.advanceTimersByTime(1_100);
    expect([ping.mock.calls.length, end.mock.calls.length]).toEqual([0, 1]);
  });

  it('that closes is left alone', () => {
    const { session, ping, end } = start({ answers: false });
    vi.advanceTimersByTime(105);
    session.emit('close');
    vi.advanceTimersByTime(1_000);
    expect([ping.mock.calls.length, end.mock.calls.length]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
