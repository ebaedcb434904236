import packet from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { query, read, service, slice, soa, upstreamAnswer } from '../../test/builders/names.ts';
import { createNamesResponder, type UpstreamScript } from '../../test/fakes/names-responder.ts';
import type { NamesChange } from './changes.ts';
import { encodeName } from './wire.ts';

const pod = '10.42.0.5';
const changes: readonly NamesChange[] = [
  { kind: 'set-service', service: service('shop/web', '10.43.0.1') },
  { kind: 'set-service', service: service('other/web', '10.43.0.2') },
  { kind: 'set-service', service: service('shop/db', 'None') },
  {
    kind: 'set-service',
    service: service('other/ext', '', { type: 'ExternalName', clusterIPs: [], externalName: 'www.example.com' }),
  },
  { kind: 'set-pod', pod: { namespace: 'shop', name: 'p', addresses: [pod] } },
];

/** Knows www.example.com, over a CNAME record, intranet.corp.test, and that nothing else exists. */
const script: UpstreamScript = (asked, name) => {
  const { type } = packet.decode(asked).questions![0]!;
  const no = { authorities: [soa('test', 60)] };
  if (name === 'intranet.corp.test') return upstreamAnswer(asked, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.9' }] });
  if (name !== 'www.example.com') return upstreamAnswer(asked, { ...no, rcode: 3 });
  if (type !== 'A') return upstreamAnswer(asked, no);
  return compressed(asked);
};

/** www.example.com CNAME web.example.com, which has an address; every name in it a pointer to the question. */
function compressed(asked: Buffer): Buffer {
  const end = 12 + 'www.example.com'.length + 2 + 4;
  const message = Buffer.concat([
    asked.subarray(0, end),
    Buffer.from('c00c00050001000000640006 03776562c010'.replaceAll(' ', ''), 'hex'),
    Buffer.from('c02d 00010001000000c80004c0000201'.replaceAll(' ', ''), 'hex'),
  ]);
  message[2] = 0x81;
  message[3] = 0x80;
  message.writeUInt16BE(2, 6);
  message.writeUInt16BE(0, 10);
  return message;
}

const set = () => createNamesResponder({ changes, script, searches: ['corp.test'] });

describe('search paths', () => {
  it.each([
    ['a service of another namespace', 'web.other', ['web.other.svc.cluster.local A 5 10.43.0.2']],
    ['with its kind', 'web.other.svc', ['web.other.svc.cluster.local A 5 10.43.0.2']],
    ['in full', 'web.other.svc.cluster.local', ['web.other.svc.cluster.local A 5 10.43.0.2']],
    ["a pod's name", '10-42-0-9.shop.pod', ['10-42-0-9.shop.pod.cluster.local A 5 10.42.0.9']],
    ["a name of the machine's domain", 'intranet', ['intranet.corp.test A 60 192.0.2.9']],
    ['a name of the world', 'www.example.com', ['www.example.com CNAME 100 web.example.com', 'web.example.com A 200 192.0.2.1']],
    [
      'an ExternalName',
      'ext.other',
      [
        'ext.other.svc.cluster.local CNAME 5 www.example.com',
        'www.example.com CNAME 100 web.example.com',
        'web.example.com A 200 192.0.2.1',
      ],
    ],
  ])('answer the first query of a client with the last answer: %s', async (_, name, records) => {
    const { ask } = set();
    const first = `${name}.shop.svc.cluster.local`;
    const { rcode, answers } = await ask(first, 'A', { from: pod });
    expect(rcode).toBe('NOERROR');
    expect(answers).toEqual([`${first} CNAME 5 ${records[0]!.split(' ')[0]}`, ...records]);
    // From the cache the second time.
    expect((await ask(first, 'A', { from: pod })).answers).toEqual(answers);
  });

  it('give a query for IPv6 the same name as one for IPv4, without an address', async () => {
    const { ask } = set();
    const said = await ask('www.example.com.shop.svc.cluster.local', 'AAAA', { from: pod });
    expect(said).toMatchObject({ rcode: 'NOERROR', authorities: ['test SOA 900 ns.test'] });
    expect(said.answers).toEqual(['www.example.com.shop.svc.cluster.local CNAME 5 www.example.com']);
    const own = await ask('web.other.shop.svc.cluster.local', 'AAAA', { from: pod });
    expect(own).toMatchObject({
      rcode: 'NOERROR',
      answers: ['web.other.shop.svc.cluster.local CNAME 5 web.other.svc.cluster.local'],
    });
  });

  it('end with a denial in the name of the cluster when no name of them exists', async () => {
    const { ask, asked } = set();
    const said = await ask('no.such.name.shop.svc.cluster.local', 'A', { from: pod });
    expect(said).toMatchObject({ rcode: 'NXDOMAIN', answers: [], authorities: ['cluster.local SOA 5 ns.dns.cluster.local'] });
    expect(asked).toEqual(['no.such.name.corp.test', 'no.such.name']);
  });

  it.each([
    ['of a host that is no pod', 'www.example.com.shop.svc.cluster.local', '198.51.100.1'],
    ['in the path of another namespace', 'www.example.com.other.svc.cluster.local', pod],
    ['below a service of the namespace', 'db-0.db.shop.svc.cluster.local', pod],
    ['in full, of a service that there is not', 'no.other.svc.cluster.local.shop.svc.cluster.local', pod],
  ])('take a query %s at its word', async (_, name, from) => {
    const { ask, asked } = set();
    expect((await ask(name, 'A', { from })).rcode).toBe('NXDOMAIN');
    expect(asked).toEqual([]);
  });

  it('ask no upstream server for a single label, and do not take a namespace for a name', async () => {
    const { ask, asked } = createNamesResponder({ changes, script });
    expect((await ask('nosuch.shop.svc.cluster.local', 'A', { from: pod })).rcode).toBe('NXDOMAIN');
    expect((await ask('other.shop.svc.cluster.local', 'A', { from: pod })).rcode).toBe('NXDOMAIN');
    expect(asked).toEqual([]);
  });

  it('say that they failed when no upstream server answers: a denial would be a lie', async () => {
    const { ask } = createNamesResponder({ changes });
    expect((await ask('www.example.com.shop.svc.cluster.local', 'A', { from: pod })).rcode).toBe('SERVFAIL');
  });
});

describe('answers', () => {
  const many = Array.from({ length: 100 }, (_, n) => `10.42.7.${n + 1}`);
  const big = [...changes, { kind: 'set-slice', slice: slice('shop/db', many) }] as const;

  it.each([
    ['512 bytes without EDNS', 0, 512, 28],
    ['512 bytes when EDNS says less', 100, 512, 28],
    ['what EDNS says', 1000, 1000, 57],
    ['1,232 bytes whatever EDNS says', 65_535, 1232, 73],
  ])('over UDP have at most %s, are cut between records and say so', async (_, udpSize, most, least) => {
    const { send } = createNamesResponder({ changes: big });
    const answer = (await send(query('db.shop.svc.cluster.local', 'A', { udpSize })))!;
    expect(answer.length).toBeLessThanOrEqual(most);
    expect(read(answer).flags.tc).toBe(true);
    expect(read(answer).answers.length).toBeGreaterThanOrEqual(least - 1);
    expect(packet.decode(answer).additionals).toHaveLength(udpSize === 0 ? 0 : 1);
  });

  it('over TCP have everything, or what 65,535 bytes hold', async () => {
    const { ask, apply } = createNamesResponder({ changes: big });
    expect((await ask('db.shop.svc.cluster.local', 'A', { overTcp: true })).answers).toHaveLength(100);
    const crowd = Array.from({ length: 5000 }, (_, n) => `10.42.${n >> 8}.${n & 255}`);
    apply({ kind: 'set-slice', slice: slice('shop/db', crowd) });
    const { answers, flags } = await ask('db.shop.svc.cluster.local', 'A', { overTcp: true });
    expect(answers.length).toBeGreaterThan(4000);
    expect(flags.tc).toBe(false);
  });

  it.each([
    ['shorter than a header', Buffer.alloc(11), 'none'],
    ['a response', header(0x8100), 'none'],
    ['another operation', header(0x2800), 'NOTIMP'],
    ['no question', header(0x0100, 0), 'FORMERR'],
    ['two questions', header(0x0100, 2), 'FORMERR'],
    ['a name that points into itself', Buffer.concat([header(0x0100), Buffer.from('c00c00010001', 'hex')]), 'FORMERR'],
    ['a name that does not end', Buffer.concat([header(0x0100), Buffer.from('0361626303', 'hex')]), 'FORMERR'],
    ['another class', withClass(3), 'REFUSED'],
    ['a zone transfer', query('cluster.local', 'AXFR'), 'REFUSED'],
    ['EDNS of another version', withVersion(1), 'NOERROR'],
  ])('to %s', async (_, message, rcode) => {
    const { send } = set();
    const answer = await send(message);
    expect(answer === undefined ? 'none' : read(answer).rcode).toBe(rcode);
    // BADVERS is 16, of which the header holds 0.
    if (rcode === 'NOERROR') expect(answer![17]).toBe(1);
  });

  it('to ANY are one small record, also for names of others', async () => {
    const { ask, asked } = set();
    for (const name of ['web.shop.svc.cluster.local', 'www.example.com'])
      expect((await ask(name, 'ANY')).answers).toEqual([`${name} HINFO 3600 RFC8482`]);
    expect(asked).toEqual([]);
  });

  it('come for any bytes, or do not, but never as an exception, and never larger than allowed', async () => {
    const { send } = set();
    const valid = [
      query('web.shop.svc.cluster.local', 'A'),
      query('www.example.com.shop.svc.cluster.local', 'A'),
      query('x.test', 'MX'),
    ];
    const mutated = fc.tuple(
      fc.constantFrom(...valid),
      fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 8 }),
      fc.nat(80),
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 600 }).map((data) => Buffer.from(data)),
      mutated.map(([message, edits, cut]) => {
        const copy = Buffer.from(message);
        for (const [at, byte] of edits) if (at < copy.length) copy[at] = byte;
        return cut > 70 ? copy.subarray(0, cut - 70) : copy;
      }),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (message) => {
        const answer = await send(Buffer.from(message), { from: pod });
        if (answer === undefined) return;
        expect(answer.length).toBeLessThanOrEqual(1232);
        expect(answer.subarray(0, 2)).toEqual(message.subarray(0, 2));
      }),
      { numRuns: 3000 },
    );
  });

  it('tell the loop check of HINFO questions for names of others', async () => {
    const { ask, seen } = set();
    await ask('a.b', 'HINFO');
    expect(seen).toEqual([encodeName('a.b')]);
  });
});

function header(flags: number, questions = 1): Buffer {
  const message = Buffer.alloc(12);
  message.writeUInt16BE(7, 0);
  message.writeUInt16BE(flags, 2);
  message.writeUInt16BE(questions, 4);
  return message;
}

function withClass(value: number): Buffer {
  const message = query('version.bind', 'TXT', { udpSize: 0 });
  message.writeUInt16BE(value, message.length - 2);
  return message;
}

function withVersion(version: number): Buffer {
  const message = query('web.shop.svc.cluster.local', 'A');
  message[message.length - 5] = version;
  return message;
}
