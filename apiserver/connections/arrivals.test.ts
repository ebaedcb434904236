import { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Arrivals, defaultArrivalLimits } from './arrivals.ts';

/** Requests of connections, by the name of their client. */
function harness(limits: { bytes?: number; requests?: number }) {
  const closed: string[] = [];
  const reasons: string[] = [];
  const clients = new Map<object, string>();
  const arrivals = new Arrivals({
    limits: { ...defaultArrivalLimits, ...limits },
    now: () => 0,
    refusals: { note: (reason) => void reasons.push(reason) },
    clientOf: (session) => clients.get(session) ?? '',
  });
  const connect = (client: string) => {
    const session = { destroyed: false, destroy: () => void closed.push(client) };
    clients.set(session, client);
    return (bytes = 0): void => {
      const source = new EventEmitter();
      const connection = Object.assign(session, { socket: undefined }) as unknown as ServerHttp2Session;
      arrivals.begin({ source, connection, expire: () => {} })(bytes);
    };
  };
  return { arrivals, connect, closed, reasons };
}

it('closes a connection of the client that has most in memory, not the one large request of another', async () => {
  const { connect, closed, reasons, arrivals } = harness({ bytes: 100 });
  for (let i = 0; i < 8; i++) connect('greedy')(10);
  connect('modest')(25);
  await setImmediate();
  expect([closed, reasons]).toEqual([['greedy'], ['request-memory']]);
  expect(arrivals.bytes).toBe(95);
});

it('closes a connection of the client that has begun most requests, whatever their size', async () => {
  const { connect, closed, reasons, arrivals } = harness({ requests: 10 });
  const [greedy, modest] = [connect('greedy'), connect('modest')];
  for (let i = 0; i < 8; i++) greedy();
  for (let i = 0; i < 3; i++) modest();
  await setImmediate();
  expect([closed, reasons]).toEqual([['greedy'], ['request-limit']]);
  expect(arrivals.size).toBe(3);
});
