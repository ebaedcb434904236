import { expect, it } from 'vitest';
import { callCancelled } from '../../api/errors/index.ts';
import { WriteQueue } from './write-queue.ts';

/** Writers that note their turn and leave when told. */
function createWriters(queue: WriteQueue) {
  const turns: string[] = [];
  const refused: string[] = [];
  const enter = (user: string, signal?: AbortSignal): void => {
    const waiting = queue.enter('a', { user, caller: signal && { signal, isCancelled: false } });
    if (!waiting) turns.push(user);
    else
      waiting.then(
        () => turns.push(user),
        (error: { code: string }) => refused.push(`${user} ${error.code}`),
      );
  };
  const leave = async (): Promise<void> => {
    queue.leave('a');
    await Promise.resolve();
  };
  return { turns, refused, enter, leave };
}

it('lets one writer of an object in at a time, and its users in turns', async () => {
  const queue = new WriteQueue();
  const { turns, enter, leave } = createWriters(queue);
  for (const user of ['anna', 'anna', 'anna', 'anna', 'bert', 'carl']) enter(user);
  expect(queue.enter('b', { user: 'anna' })).toBeUndefined();
  queue.leave('b');
  expect(turns).toEqual(['anna']);
  for (let i = 0; i < 6; i++) await leave();
  expect(turns).toEqual(['anna', 'anna', 'bert', 'carl', 'anna', 'anna']);
  expect(queue.size).toBe(0);
});

it('refuses the last writer of the user with the most, when too many wait', async () => {
  const { turns, refused, enter, leave } = createWriters(new WriteQueue(3));
  for (const user of ['first', 'anna', 'anna', 'anna', 'bert', 'anna']) enter(user);
  await Promise.resolve();
  expect(refused).toEqual(['anna RESOURCE_EXHAUSTED', 'anna RESOURCE_EXHAUSTED']);
  for (let i = 0; i < 4; i++) await leave();
  expect(turns).toEqual(['first', 'anna', 'bert', 'anna']);
});

it('forgets a writer whose caller has gone', async () => {
  const queue = new WriteQueue();
  const { turns, refused, enter, leave } = createWriters(queue);
  const call = new AbortController();
  enter('first');
  enter('anna', call.signal);
  enter('bert', AbortSignal.abort(callCancelled()));
  enter('carl');
  call.abort(callCancelled());
  await Promise.resolve();
  expect(refused.sort()).toEqual(['anna CANCELLED', 'bert CANCELLED']);
  await leave();
  await leave();
  expect(turns).toEqual(['first', 'carl']);
  expect(queue.size).toBe(0);
});
