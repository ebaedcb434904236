import { describe, expect, it } from 'vitest';
import { soa, upstreamAnswer } from '../../../test/builders/names.ts';
import { settle } from '../../../test/fakes/fake-clock.ts';
import { createNamesResponder, type UpstreamScript } from '../../../test/fakes/names-responder.ts';

const address: UpstreamScript = (asked, name) =>
  upstreamAnswer(asked, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.9' }] });
const denial: UpstreamScript = (asked) => upstreamAnswer(asked, { rcode: 3, authorities: [soa('test', 60)] });

/** An upstream server whose script can be exchanged. */
function set(first: UpstreamScript, more: Parameters<typeof createNamesResponder>[0] = {}) {
  let script = first;
  const world = createNamesResponder({ script: (asked, name) => script(asked, name), ...more });
  return {
    ...world,
    become: (next: UpstreamScript) => {
      script = next;
    },
  };
}

/** A server that answers when it is told to. */
function slow() {
  let mode: 'fast' | 'slow' = 'fast';
  const releases: (() => void)[] = [];
  const hold = async (): Promise<void> => {
    if (mode === 'slow') await new Promise<void>((resolve) => releases.push(resolve));
  };
  const world = createNamesResponder({ script: address, hold });
  return {
    ...world,
    releases,
    become: (next: 'fast' | 'slow') => {
      mode = next;
    },
  };
}

describe('the cache of upstream answers', () => {
  it('answers until the time of the answer is over, counting it down', async () => {
    const { ask, asked, clock } = set(address);
    expect((await ask('x.test')).answers).toEqual(['x.test A 60 192.0.2.9']);
    await clock.advance(59_000);
    expect((await ask('X.test')).answers).toEqual(['x.test A 1 192.0.2.9']);
    expect(asked).toHaveLength(1);
    await clock.advance(1000);
    expect((await ask('x.test')).answers).toEqual(['x.test A 60 192.0.2.9']);
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['a name that does not exist', denial, 'NXDOMAIN'],
    [
      'a name without such a record',
      ((asked) => upstreamAnswer(asked, { authorities: [soa('test', 60)] })) as UpstreamScript,
      'NOERROR',
    ],
  ])('keeps "no" for as long as the SOA record says: %s', async (_, script, rcode) => {
    const { ask, asked, clock } = set(script);
    await ask('x.test');
    await clock.advance(59_000);
    expect(await ask('x.test')).toMatchObject({ rcode, authorities: ['test SOA 841 ns.test'] });
    expect(asked).toHaveLength(1);
    await clock.advance(1000);
    await ask('x.test');
    expect(asked).toHaveLength(2);
  });

  it('does not keep "no" without a SOA record, nor what has a TTL of 0', async () => {
    const { ask, asked, become } = set((message) => upstreamAnswer(message, { rcode: 3 }));
    await ask('x.test');
    become((message, name) => upstreamAnswer(message, { answers: [{ type: 'A', name, ttl: 0, data: '192.0.2.9' }] }));
    await ask('x.test');
    await ask('x.test');
    expect(asked).toHaveLength(3);
  });

  it('keeps answers for DNSSEC apart from others', async () => {
    const { ask, asked } = set(address);
    await ask('x.test');
    await ask('x.test', 'A', { dnssecOk: true });
    expect(asked).toHaveLength(2);
  });
});

describe('upstream servers that do not answer', () => {
  it('leave the last answer in force for an hour, told as good for 30 s, and are not waited for each time', async () => {
    const { ask, asked, clock, become, meter } = set(address);
    await ask('x.test');
    await clock.advance(60_000);
    become(() => undefined);
    expect((await ask('x.test')).answers).toEqual(['x.test A 30 192.0.2.9']);
    const tries = asked.length;
    expect((await ask('x.test')).answers).toHaveLength(1);
    expect(asked).toHaveLength(tries);
    expect(meter.cache()).toContainEqual({ labels: ['stale'], value: 2 });
    await clock.advance(30_000);
    await ask('x.test');
    expect(asked.length).toBeGreaterThan(tries);
    await clock.advance(3_600_000);
    expect((await ask('x.test')).rcode).toBe('SERVFAIL');
  });

  it('in time hold up a client that could have a stale answer for half a second', async () => {
    const { forwarder, clock, become, ask, releases } = slow();
    await ask('x.test');
    await clock.advance(60_000);
    become('slow');
    const answers: unknown[] = [];
    forwarder.ask({ key: '\x01x\x04test\0', type: 1, dnssecOk: false, checkingDisabled: false }, (known) =>
      answers.push(known?.ttlSeconds ?? 'fresh'),
    );
    await clock.advance(499);
    expect(answers).toEqual([]);
    await clock.advance(1);
    expect(answers).toEqual([30]);
    for (const release of releases) release();
    await settle();
    expect(answers).toEqual([30]);
    expect((await ask('x.test')).answers).toEqual(['x.test A 60 192.0.2.9']);
  });

  it('fail a query, and further ones for 2 s without being asked', async () => {
    const { ask, asked, clock, become } = set(() => undefined);
    expect((await ask('x.test')).rcode).toBe('SERVFAIL');
    const tries = asked.length;
    expect(tries).toBe(2);
    become(address);
    expect((await ask('x.test')).rcode).toBe('SERVFAIL');
    expect(asked).toHaveLength(tries);
    await clock.advance(2000);
    expect((await ask('x.test')).rcode).toBe('NOERROR');
  });

  it('are asked last for a while', async () => {
    const script: UpstreamScript = (asked, name) =>
      (asked as { server?: string }).server === '192.0.2.1' ? undefined : address(asked, name);
    const { ask, asked, clock } = set(script, { servers: ['192.0.2.1', '192.0.2.2'] });
    await ask('a.test');
    await ask('b.test');
    expect(asked).toEqual(['192.0.2.1 a.test', '192.0.2.2 a.test', '192.0.2.2 b.test']);
    await clock.advance(10_000);
    await ask('c.test');
    expect(asked[3]).toBe('192.0.2.1 c.test');
  });

  it('are passed over when they refuse, and when what they say is broken', async () => {
    for (const bad of [
      (asked: Buffer) => upstreamAnswer(asked, { rcode: 5 }),
      (asked: Buffer) => upstreamAnswer(asked, { rcode: 2 }),
      (asked: Buffer) => claimAnswers(upstreamAnswer(asked)),
    ]) {
      const script: UpstreamScript = (asked, name) =>
        (asked as { server?: string }).server === '192.0.2.1' ? bad(asked) : address(asked, name);
      const { ask } = set(script, { servers: ['192.0.2.1', '192.0.2.2'] });
      expect((await ask('a.test')).answers).toHaveLength(1);
    }
  });
});

describe('questions to upstream servers', () => {
  it('are asked once for all who ask at the same time', async () => {
    const { ask, asked } = set(address);
    const all = await Promise.all(Array.from({ length: 10 }, () => ask('x.test')));
    expect(all.every(({ answers }) => answers.length === 1)).toBe(true);
    expect(asked).toHaveLength(1);
  });

  it('go without EDNS to a server that does not understand it, from then on', async () => {
    const script: UpstreamScript = (asked, name) =>
      asked[11] === 1 ? Buffer.concat([asked.subarray(0, 2), Buffer.from('81810000000000000000', 'hex')]) : address(asked, name);
    const { ask, edns } = set(script);
    expect((await ask('x.test')).answers).toHaveLength(1);
    await ask('y.test');
    expect(edns).toEqual([true, false, false]);
  });

  it('are refused beyond 1,000 that are under way', async () => {
    const { forwarder, clock } = set(address);
    const replies: boolean[] = [];
    const question = (n: number) => ({
      key: `\x03${String(n).padStart(3, '0')}\0`,
      type: 1,
      dnssecOk: false,
      checkingDisabled: false,
    });
    for (let n = 0; n < 1001; n++)
      forwarder.ask({ ...question(n % 1000), type: 1 + Math.floor(n / 1000) }, (known) => replies.push(known !== undefined));
    expect(replies).toEqual([false]);
    await settle();
    expect(replies.filter(Boolean)).toHaveLength(1000);
    expect(clock.pending).toBe(0);
  });

  it('are not asked of a server that asks this resolver in turn', async () => {
    const { ask, asked, forwarder } = set(address);
    forwarder.exclude({ address: '192.0.2.1', port: 53 });
    expect((await ask('x.test')).rcode).toBe('SERVFAIL');
    expect(asked).toEqual([]);
    expect(forwarder.servers).toEqual([]);
  });

  it('are asked anew when there are other servers', async () => {
    const { ask, asked, forwarder } = set(address);
    await ask('x.test');
    forwarder.configure({ servers: [{ address: '192.0.2.3', port: 53 }], searches: [], attempts: 1, own: [] });
    await ask('x.test');
    expect(asked).toHaveLength(2);
  });
});

/** A message that says it has a record which is not there. */
function claimAnswers(message: Buffer): Buffer {
  message.writeUInt16BE(1, 6);
  return message;
}
