import { describe, expect, it } from 'vitest';
import { isExhausted } from '../../api/errors/index.ts';
import { groups } from '../authn/identity.ts';
import { flowOf } from '../limits/levels.ts';
import { type ServedStream, Tunnels } from './tunnels.ts';

const stream = (): ServedStream => ({ frames: (async function* () {})(), send: async () => {}, close: () => {} });

/** Tunnels with a node that opens every stream at once. */
function createTunnels(maxOpen: number) {
  let serial = 0;
  const tunnels = new Tunnels(() => `s${++serial}`, maxOpen);
  tunnels.connect('n1', {
    send: () => queueMicrotask(() => tunnels.serve(`s${serial}`, () => true, stream())),
    replaced: () => {},
  });
  const { signal } = new AbortController();
  const open = (user: string, own: string[] = []) =>
    tunnels.open('n1', { podUid: 'u1' }, { flow: flowOf({ user, groups: own }), signal });
  /** Opens as many as one user gets. */
  const fill = async (user: string): Promise<ServedStream[]> => {
    const streams: ServedStream[] = [];
    for (;;) {
      const next = await open(user).catch((error: unknown) => {
        expect(error).toSatisfy(isExhausted);
      });
      if (!next) return streams;
      streams.push(next);
    }
  };
  return { tunnels, open, fill };
}

describe('tunnels', () => {
  it('hold a bounded number of streams for one user, and take more when one was closed', async () => {
    const { open, fill } = createTunnels(100);
    const streams = await fill('anna');
    expect(streams).toHaveLength(75);
    streams[0]?.close();
    await expect(open('anna')).resolves.toBeDefined();
    await expect(open('anna')).rejects.toThrow('user "anna" has its share: close some, then try again');
  });

  it('have places for other users, and for administrators, when one user holds what it gets', async () => {
    const { open, fill } = createTunnels(100);
    await fill('anna');
    expect((await fill('bert')).length).toBeGreaterThanOrEqual(10);
    await expect(open('root', [groups.masters])).resolves.toBeDefined();
  });

  it('hold no more than all places of a level', async () => {
    const { open, fill } = createTunnels(100);
    let held = 0;
    for (let i = 0; i < 20; i++) held += (await fill(`user-${i}`)).length;
    expect(held).toBe(100);
    await expect(open('root', [groups.masters])).resolves.toBeDefined();
  });

  it('give the place of a stream back that the node did not open', async () => {
    const { tunnels, open, fill } = createTunnels(100);
    const streams = await fill('anna');
    for (const each of streams) each.close();
    const disconnect = tunnels.connect('n1', { send: () => queueMicrotask(() => disconnect()), replaced: () => {} });
    await expect(open('anna')).rejects.toThrow('has disconnected');
    tunnels.connect('n1', { send: () => {}, replaced: () => {} });
    const caller = () => ({ flow: flowOf({ user: 'anna', groups: [] }), signal: new AbortController().signal });
    for (let i = 0; i < 74; i++) void tunnels.open('n1', { podUid: 'u' }, caller()).catch(() => {});
    const last = new AbortController();
    const pending = tunnels.open('n1', { podUid: 'u' }, { flow: flowOf({ user: 'anna', groups: [] }), signal: last.signal });
    await expect(open('anna')).rejects.toSatisfy(isExhausted);
    last.abort();
    await expect(pending).rejects.toThrow();
  });
});
