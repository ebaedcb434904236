import { describe, expect, it } from 'vitest';
import { Places } from './places.ts';

const forever = new AbortController().signal;

/** A call that ends when it is told to. */
function held(places: Places, log: string[], name: string, signal = forever) {
  let end = (): void => {};
  const done = places.take(signal, () => {
    log.push(name);
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  return { done, end: () => end() };
}

describe('the places of a webhook', () => {
  it('are given in order, and calls beyond them wait', async () => {
    const log: string[] = [];
    const places = new Places(1);
    const [first, second] = [held(places, log, 'a'), held(places, log, 'b')];
    expect(log).toEqual(['a']);
    first.end();
    await first.done;
    expect(log).toEqual(['a', 'b']);
    second.end();
    await second.done;
    expect(places.taken).toBe(0);
  });

  it('are bounded with those that wait', async () => {
    const log: string[] = [];
    const places = new Places(1, 1);
    const [first, second] = [held(places, log, 'a'), held(places, log, 'b')];
    await expect(held(places, log, 'c').done).rejects.toThrow('1 calls to it are under way and 1 wait: it is too slow');
    first.end();
    await first.done;
    second.end();
    await second.done;
  });

  it('are not kept for a call whose time is over', async () => {
    const log: string[] = [];
    const places = new Places(1);
    const late = new AbortController();
    const first = held(places, log, 'a');
    const second = held(places, log, 'b', late.signal);
    late.abort(new Error('late'));
    await expect(second.done).rejects.toThrow('late');
    first.end();
    await first.done;
    expect(log).toEqual(['a']);
    expect(places.taken).toBe(0);
  });
});
