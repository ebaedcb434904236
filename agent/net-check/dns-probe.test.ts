import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import packet from 'dns-packet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Query } from '../names/query.ts';
import { probeResolver, renderQuery } from './dns-probe.ts';

let resolver: Socket;
let port: number;
let sizes: number[];
const stop = new AbortController();

beforeEach(async () => {
  sizes = [];
  resolver = createSocket('udp4').bind(0, '127.0.0.1');
  await once(resolver, 'listening');
  ({ port } = resolver.address());
});
afterEach(() => resolver.close());

const probe = (packetSize?: number) =>
  probeResolver({ address: '127.0.0.1', port, name: 'cluster.local', ...(packetSize && { packetSize }) }, stop.signal);

function answerWith(change: (query: Buffer) => Buffer, from = 1): void {
  resolver.on('message', (query, sender) => {
    sizes.push(query.length);
    if (sizes.length >= from) resolver.send(change(query), sender.port, sender.address);
  });
}
const asAnswer = (query: Buffer): Buffer => {
  const answer = Buffer.from(query);
  answer[2]! |= 0x80;
  return answer;
};

describe('a query', () => {
  it.each([0, 60, 1422])('of %i bytes is a good one for the resolver, and has that size', (size) => {
    const bytes = renderQuery('cluster.local', size);
    if (size > 0) expect(bytes).toHaveLength(size);
    const query = new Query();
    expect([query.read(bytes), query.type, query.hasEdns]).toEqual([0, 1, true]);
    expect(packet.decode(bytes).questions).toEqual([{ name: 'cluster.local', type: 'A', class: 'IN' }]);
  });
});

describe('a resolver', () => {
  it('that answers is told, whatever it answers', async () => {
    answerWith(asAnswer);
    expect(await probe()).toEqual({ result: 'answered' });
  });

  it('is asked with a packet of a size, headers included', async () => {
    answerWith(asAnswer);
    expect(await probe(1450)).toEqual({ result: 'answered' });
    expect(sizes).toEqual([1422]);
  });

  it('is asked once more where nothing comes back', async () => {
    answerWith(asAnswer, 2);
    expect(await probe()).toEqual({ result: 'answered' });
    expect(sizes).toHaveLength(2);
  });

  it('is silent where only what is no answer comes back', async () => {
    answerWith((query) => query);
    expect(await probe()).toEqual({ result: 'silent' });
  });

  it('refuses where nothing listens', async () => {
    const free = createSocket('udp4').bind(0, '127.0.0.1');
    await once(free, 'listening');
    const other = free.address().port;
    free.close();
    const asked = probeResolver({ address: '127.0.0.1', port: other, name: 'x' }, stop.signal);
    expect(await asked).toEqual({ result: 'refused' });
  });

  it('is not waited for after an abort', async () => {
    const abort = new AbortController();
    const asked = probeResolver({ address: '127.0.0.1', port, name: 'x' }, abort.signal);
    abort.abort();
    expect(await asked).toEqual({ result: 'silent' });
  });
});
