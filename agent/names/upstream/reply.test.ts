import packet from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { query, read, soa, upstreamAnswer } from '../../../test/builders/names.ts';
import { Query } from '../query.ts';
import { Response } from '../response.ts';
import { encodeName, maxMessageSize, record, types } from '../wire.ts';
import { parseReply } from './reply.ts';

const name = 'www.example.com';
const base = 12 + name.length + 2 + 4;
const asked = query(name, 'A');

/** A reply written again behind the question `from`, which a CNAME record leads on from. */
function behind(from: string, message: Buffer): ReturnType<typeof read> {
  const client = new Query();
  const sent = query(from, 'A');
  client.read(sent);
  const out = Buffer.alloc(maxMessageSize);
  const response = new Response();
  response.begin(sent, client, maxMessageSize, out);
  response.alias(record(types.cname, 5, encodeName(name)!));
  response.reply(parseReply(message, base)!, 10);
  return read(out.subarray(0, response.finish(0, false, true)));
}

describe('replies of upstream servers', () => {
  it('are written behind another question, whatever their names point to', () => {
    // www CNAME a.example.com; a MX 5 mail.example.com; mail: a pointer into the MX record; a pointer to the question.
    const hex = [
      'c00c 0005 0001 00000064 0004 0161 c010',
      'c02d 000f 0001 00000064 0009 0005 046d61696c c010',
      'c03f 0001 0001 00000064 0004 c0000201',
      'c010 0002 0001 00000064 0002 c00c',
    ];
    const message = Buffer.concat([asked.subarray(0, base), Buffer.from(hex.join('').replaceAll(' ', ''), 'hex')]);
    message.writeUInt16BE(0x8180, 2);
    message.writeUInt16BE(3, 6);
    message.writeUInt16BE(1, 8);
    message.writeUInt16BE(0, 10);
    expect(behind('x.much.longer.name.test', message)).toMatchObject({
      answers: [
        'x.much.longer.name.test CNAME 5 www.example.com',
        'www.example.com CNAME 90 a.example.com',
        expect.stringContaining('a.example.com MX 90'),
        'mail.example.com A 90 192.0.2.1',
      ],
      authorities: ['example.com NS 90 www.example.com'],
    });
  });

  it.each([
    ['an answer: its shortest TTL', { answers: [a(300), a(20)] }, 20],
    ['an answer, an hour at most', { answers: [a(86_400)] }, 3600],
    ['a denial: what its SOA record says', { rcode: 3, authorities: [soa('com', 30)] }, 30],
    ['a denial, ten minutes at most', { rcode: 3, authorities: [soa('com', 86_400)] }, 600],
    ['a denial without a SOA record: not at all', { rcode: 3 }, 0],
  ])('are kept for the time of %s', (_, parts, seconds) => {
    expect(parseReply(upstreamAnswer(asked, parts), base)?.ttlSeconds).toBe(seconds);
  });

  it('are read or refused, but whatever their bytes are, never with an exception', () => {
    const good = upstreamAnswer(asked, {
      answers: [a(5), { type: 'CNAME', name, ttl: 5, data: 'a.b' }],
      authorities: [soa('com', 5)],
    });
    const edits = fc.array(fc.tuple(fc.integer({ min: 6, max: good.length - 1 }), fc.nat(255)), { maxLength: 6 });
    fc.assert(
      fc.property(edits, fc.integer({ min: base, max: good.length }), (list, cut) => {
        const message = Buffer.from(good);
        for (const [at, byte] of list) message[at] = byte;
        const reply = parseReply(message.subarray(0, cut), base);
        if (reply === undefined) return;
        expect(reply.body.length).toBe(reply.ends.at(-1) ?? 0);
        expect(reply.ends.length).toBe(reply.answers + reply.authorities);
      }),
      { numRuns: 3000 },
    );
  });

  it('drop the additional section, EDNS with it', () => {
    const reply = parseReply(upstreamAnswer(asked, { answers: [a(5)], additionals: [a(5), a(6)] }), base)!;
    expect(reply.ends).toHaveLength(1);
    expect(packet.decode(asked).additionals).toHaveLength(1);
  });
});

function a(ttl: number) {
  return { type: 'A', name, ttl, data: '192.0.2.1' } as const;
}
