import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { getRequestBytes, listRequestBytes, tableOfList, tableOfObject } from './table-messages.ts';

const table = {
  columns: [
    { name: 'NAME', type: 'string', priority: 0 },
    { name: 'AGE', type: 'date', priority: 0 },
    { name: 'IP', type: 'string', priority: 1 },
  ],
  rows: [
    { cells: ['web', '', '10.0.0.1'], name: 'web', namespace: 'default', labels: { app: 'x'.repeat(300), empty: '' } },
    { cells: ['größe', '2026-01-01T00:00:00Z', '<none>'], name: 'b', namespace: '', labels: {} },
  ],
};

describe('requests', () => {
  it.each([
    { kind: 'Pod', namespace: 'default', selector: 'app=web', limit: 500 },
    { kind: 'Node', namespace: undefined, selector: undefined, limit: 500 },
    { kind: 'Pod', namespace: 'n'.repeat(200), selector: 's'.repeat(20_000), limit: 2 ** 31 - 1 },
  ])('ask for a list with the bytes of the usual codec', ({ kind, namespace, selector, limit }) => {
    const options = { limit, ...(selector && { labelSelector: selector }) };
    const message = { kind: { kind }, ...(namespace && { namespace }), options, accept: 'table' };
    expect(Buffer.from(listRequestBytes({ kind, namespace, selector, limit }))).toEqual(
      Buffer.from(encodeMessage('berth.meta.v1.ObjectListRequest', message)),
    );
  });

  it.each(['default', undefined])('ask for an object of namespace %s with the bytes of the usual codec', (namespace) => {
    const message = { kind: { kind: 'Pod' }, get: { name: 'web', ...(namespace && { namespace }) }, accept: 'table' };
    const bytes = Buffer.from(getRequestBytes({ kind: 'Pod', namespace, name: 'web' }));
    expect(decodeMessage('berth.meta.v1.ObjectGetRequest', bytes)).toEqual(message);
  });
});

describe('answers', () => {
  const list = (metadata: object) => Buffer.from(encodeMessage('berth.meta.v1.ObjectListResponse', { metadata, table }));

  it('hold the table that was encoded', () => {
    expect(tableOfList(list({ resourceVersion: '7', remainingItemCount: 2 ** 40 }))).toEqual(table);
    expect(tableOfObject(Buffer.from(encodeMessage('berth.meta.v1.ObjectResponse', { table })))).toEqual(table);
    expect(tableOfObject(Buffer.alloc(0))).toEqual({ columns: [], rows: [] });
  });

  it('are left to the whole program when more pages follow', () => {
    expect(tableOfList(list({ continue: 'token' }))).toBeUndefined();
  });

  it('throw at every place where they are cut off inside a field', () => {
    const whole = Buffer.from(encodeMessage('berth.meta.v1.ObjectResponse', { table }));
    for (let length = 1; length < whole.length; length++)
      expect(() => tableOfObject(whole.subarray(0, length)), String(length)).toThrow('the message is cut off');
    expect(() => tableOfObject(Buffer.from([0x15, 0, 0, 0, 0]))).toThrow('the message has a field of type 5');
  });
});
