import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { decodeMessage } from '../../api/codec/message.ts';
import type { PlacementQuestion } from '../../api/generated/types.ts';
import { SchedulerLinks } from './scheduler-links.ts';

const { signal } = new AbortController();
const most = 32;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp() {
  const links = new SchedulerLinks();
  const asked: number[] = [];
  const link = {
    send: (frame: Buffer) =>
      void asked.push((decodeMessage('berth.scheduling.v1.PlacementQuestion', frame) as PlacementQuestion).id!),
  };
  const disconnect = links.connect('s', link);
  /** Asks and does not wait any longer. */
  const leave = async () => {
    const asker = new AbortController();
    const answer = links.ask('s', { list: {} }, asker.signal).catch((error: unknown) => error);
    await Promise.resolve();
    asker.abort();
    await answer;
  };
  const ask = () => links.ask('s', { list: {} }, signal);
  return { links, link, asked, disconnect, leave, ask };
}

const exhausted = { code: 'RESOURCE_EXHAUSTED' };

describe('the questions to a scheduler', () => {
  it('are answered by their number, by the scheduler that was asked', async () => {
    const { links, link, asked, ask } = setUp();
    const answer = ask();
    await vi.waitFor(() => expect(asked).toHaveLength(1), { timeout: 30_000 });
    links.answer({ send: () => {} }, { id: asked[0], placements: { items: [{ name: 'of another' }] } });
    links.answer(link, { id: asked[0], placements: { items: [{ name: 'p' }] } });
    expect((await answer).placements?.items).toEqual([{ name: 'p' }]);
  });

  it('count until they are answered, also when those who asked have left', async () => {
    const { links, link, asked, leave, ask } = setUp();
    for (let i = 0; i < most; i++) await leave();
    expect(asked).toHaveLength(most);
    await expect(ask()).rejects.toMatchObject(exhausted);
    expect(asked).toHaveLength(most);
    links.answer(link, { id: asked[0], placements: {} });
    const next = ask();
    await vi.waitFor(() => expect(asked).toHaveLength(most + 1), { timeout: 30_000 });
    links.answer(link, { id: asked[most], placements: {} });
    expect(await next).toMatchObject({ placements: {} });
  });

  it('of one scheduler do not stand in the way of those to another, nor of those to the same when it comes again', async () => {
    const { links, asked, disconnect, leave, ask } = setUp();
    for (let i = 0; i < most; i++) await leave();
    const other = { send: vi.fn() };
    links.connect('other', other);
    void links.ask('other', { list: {} }, signal).catch(() => {});
    await vi.waitFor(() => expect(other.send).toHaveBeenCalledOnce(), { timeout: 30_000 });
    disconnect();
    links.connect('s', { send: () => void asked.push(0) });
    void ask().catch(() => {});
    await vi.waitFor(() => expect(asked.at(-1)).toBe(0), { timeout: 30_000 });
  });

  it('wait for a scheduler to connect, so many at most', async () => {
    const links = new SchedulerLinks();
    const ask = () => links.ask('late', { list: {} }, new AbortController().signal).catch((error: unknown) => error);
    const waiting = Array.from({ length: most }, ask);
    await expect(links.ask('late', { list: {} }, signal)).rejects.toMatchObject(exhausted);
    await vi.advanceTimersByTimeAsync(3_000);
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ code: 'UNAVAILABLE' });
  });
});
