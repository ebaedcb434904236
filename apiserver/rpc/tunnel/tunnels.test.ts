import { describe, expect, it } from 'vitest';
import { isExhausted } from '../../../api/errors/index.ts';
import { type ServedStream, Tunnels } from './tunnels.ts';

const stream = (): ServedStream => ({ frames: (async function* () {})(), send: async () => {}, close: () => {} });

describe('tunnels', () => {
  it('hold a bounded number of open streams, and take more when one was closed', async () => {
    let serial = 0;
    const tunnels = new Tunnels(() => `s${++serial}`, 2);
    tunnels.connect('n1', {
      send: () => queueMicrotask(() => tunnels.serve(`s${serial}`, () => true, stream())),
      replaced: () => {},
    });
    const open = () => tunnels.open('n1', { podUid: 'u1' }, new AbortController().signal);
    const [first] = [await open(), await open()];
    await expect(open()).rejects.toSatisfy(isExhausted);
    first.close();
    await expect(open()).resolves.toBeDefined();
  });
});
