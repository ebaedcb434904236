import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { query } from '../../test/builders/names.ts';
import { createNamesResponder } from '../../test/fakes/names-responder.ts';
import { answerQueries, type QuerySocket } from './serve-udp.ts';
import { SourceLimits } from './source-limits.ts';

/** A socket whose kernel has taken nothing of so many bytes. */
function createSocket(unsentBytes = 0) {
  const sent: Buffer[] = [];
  const socket = Object.assign(new EventEmitter(), {
    send: (response: Buffer) => void sent.push(response),
    getSendQueueSize: () => unsentBytes,
    getSendQueueCount: () => (unsentBytes > 0 ? 1 : 0),
  });
  const { responder, meter } = createNamesResponder();
  const limits = new SourceLimits({ perSecond: 1000, burst: 1000, maxWaiting: 10 });
  answerQueries(socket as unknown as QuerySocket, { responder, meter, limits, now: () => 0 });
  const receive = (port: number): boolean =>
    socket.emit('message', query('cluster.local', 'SOA'), { address: '10.42.0.1', port, family: 'IPv4', size: 0 });
  return { sent, receive, meter };
}

describe('answers over UDP', () => {
  it('are not sent to port 0, which a forged query may come from', () => {
    const { sent, receive, meter } = createSocket();
    receive(0);
    expect(sent).toEqual([]);
    expect(meter.drops()).toContainEqual({ labels: ['malformed'], value: 1 });
  });

  it('have a buffer of their own while the kernel has not taken the one before', () => {
    const { sent, receive } = createSocket(100);
    receive(1000);
    receive(1000);
    expect(sent[0]).not.toBe(sent[1]);
  });

  it('are dropped while a megabyte is unsent', () => {
    const { sent, receive, meter } = createSocket(2_000_000);
    receive(1000);
    expect(sent).toEqual([]);
    expect(meter.drops()).toContainEqual({ labels: ['unsent'], value: 1 });
  });
});
