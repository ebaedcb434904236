import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { connectWithin } from './proxy-target.ts';

/** Sockets of hosts that never answer. */
const silent = () => new Socket();
const host = '10.0.0.1:443';

it('gives up an endpoint that does not answer in time, and closes the socket', async () => {
  const socket = silent();
  const { signal } = new AbortController();
  await expect(connectWithin(() => socket, host, { ms: 1, signal })).rejects.toThrow('dial tcp 10.0.0.1:443: i/o timeout');
  expect(socket.destroyed).toBe(true);
});

it('gives up an endpoint when its caller has gone', async () => {
  const socket = silent();
  const caller = new AbortController();
  const connected = connectWithin(() => socket, host, { ms: 60_000, signal: caller.signal });
  caller.abort();
  await expect(connected).rejects.toThrow('aborted');
  expect(socket.destroyed).toBe(true);
  const late = connectWithin(() => expect.unreachable('opens no socket'), host, { ms: 60_000, signal: caller.signal });
  await expect(late).rejects.toThrow('aborted');
});
