import { describe, expect, it } from 'vitest';
import { encodeName } from '../wire.ts';
import { encodeQuestion, isAnswerTo, isNotUnderstood, questionEnd } from './question.ts';
import { computeUpstream } from './servers.ts';

const none = () => false;

describe('upstream servers of a resolv.conf', () => {
  it('are the first three addresses, each once, with the search domains and attempts', () => {
    const text =
      'nameserver 192.0.2.1\nnameserver 192.0.2.1\nnameserver dns.test\nnameserver fe80::1%eth0\nnameserver 192.0.2.3@5353\nnameserver 192.0.2.4\nsearch corp.test . test\noptions attempts:3 ndots:2';
    expect(computeUpstream(text, none)).toEqual({
      servers: [
        { address: '192.0.2.1', port: 53 },
        { address: 'fe80::1%eth0', port: 53 },
        { address: '192.0.2.3', port: 5353 },
      ],
      searches: [encodeName('corp.test'), encodeName('test')],
      attempts: 3,
      own: [],
    });
  });

  it('are not this resolver itself', () => {
    const config = computeUpstream('nameserver 169.254.1.1\nnameserver 192.0.2.1\n', ({ address }) => address === '169.254.1.1');
    expect(config).toMatchObject({ servers: [{ address: '192.0.2.1' }], own: ['169.254.1.1'] });
  });

  it.each(['', 'options attempts:0', 'options attempts:x'])('are asked twice unless an option says otherwise: "%s"', (text) => {
    expect(computeUpstream(text, none).attempts).toBe(2);
  });
});

describe('answers to a query', () => {
  const question = { key: encodeName('www.example.com')!, type: 1, dnssecOk: true, checkingDisabled: false };
  const query = encodeQuestion(question, 0x1234, true);
  const end = questionEnd(question);
  const answer = (edit: (message: Buffer) => void = () => {}): Buffer => {
    const message = Buffer.from(query);
    message[2] = 0x81;
    edit(message);
    return message;
  };

  it.each([
    ['has its id and question', answer(), true],
    ['has another id', answer((m) => m.writeUInt16BE(0x1235, 0)), false],
    ['has another name', answer((m) => m.write('x', 13)), false],
    ['has another type', answer((m) => m.writeUInt16BE(28, end - 4)), false],
    ['is a query', Buffer.from(query), false],
    ['has no question', answer((m) => m.writeUInt16BE(0, 4)), false],
    ['is too short', answer().subarray(0, end - 1), false],
  ])('are told from other messages: one that %s', (_, message, expected) => {
    expect(isAnswerTo(message, query, end)).toBe(expected);
  });

  it('may be a header that says the query was not understood', () => {
    const bare = Buffer.from('123481010000000000000000', 'hex');
    expect(isNotUnderstood(bare, query)).toBe(true);
    expect(isNotUnderstood(Buffer.from('123581010000000000000000', 'hex'), query)).toBe(false);
    expect(isNotUnderstood(Buffer.from('123481030000000000000000', 'hex'), query)).toBe(false);
  });
});
