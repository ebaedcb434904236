import { getMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ApiError, expired } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { ObjectsClient } from '../../client/index.ts';
import { waitForEach, waitForObject } from './wait.ts';

const target = { kind: kindNamed('Pod') as Kind, key: { name: 'web', namespace: 'default' } };
const away = () => new ApiError('UNAVAILABLE', 'ServiceUnavailable', 'the server does not answer');
const cancelled = () => new ApiError('CANCELLED', 'Cancelled', 'aborted');
const pod = (phase: string): JsonObject => ({ metadata: { name: 'web' }, status: { phase } });

type Answer = JsonObject | 'none' | Error;

/** A server that answers lists and watches as written; what the watch says last stays so. */
function server(lists: readonly Answer[], watches: readonly (readonly Answer[])[]): ObjectsClient {
  const [listsLeft, watchesLeft] = [[...lists], [...watches]];
  return {
    async list() {
      const next = listsLeft.shift() ?? new Error('one list too many');
      if (next instanceof Error) throw next;
      return { metadata: { resourceVersion: '1' }, items: next === 'none' ? [] : [next] };
    },
    async *watch() {
      for (const step of watchesLeft.shift() ?? []) {
        if (step instanceof Error) throw step;
        yield [step === 'none' ? { type: 'DELETED', object: {} } : { type: 'MODIFIED', object: step }];
      }
    },
  } as unknown as ObjectsClient;
}

const phaseOf = (object: JsonObject | undefined): unknown => (object?.status as JsonObject | undefined)?.phase;
const wait = (
  objects: ObjectsClient,
  isWanted: (object: JsonObject | undefined) => boolean,
  signal = new AbortController().signal,
) => waitForObject(objects, target, isWanted, signal, async () => undefined);
const running = (object: JsonObject | undefined): boolean => phaseOf(object) === 'Running';

describe('waiting for an object', () => {
  it('ends at once when it is as wanted already', async () => {
    expect(await wait(server([pod('Running')], []), running)).toEqual({ met: true, object: pod('Running') });
    expect(await wait(server(['none'], []), (object) => object === undefined)).toEqual({ met: true, object: undefined });
  });

  it('follows its changes, also its end', async () => {
    expect(await wait(server([pod('Pending')], [[pod('Pending'), pod('Running')]]), running)).toMatchObject({ met: true });
    const gone = await wait(server([pod('Running')], [[pod('Running'), 'none']]), (object) => object === undefined);
    expect(gone).toEqual({ met: true, object: undefined });
  });

  it('goes on when a watch ends, when it expires, and when the server was away', async () => {
    const objects = server(
      [pod('Pending'), pod('Pending'), pod('Pending'), away(), pod('Running')],
      [[], [expired('too old')], [away()]],
    );
    expect(await wait(objects, running)).toMatchObject({ met: true });
  });

  it('fails when there is no server from the start, and when the wish itself does', async () => {
    await expect(wait(server([away()], []), running)).rejects.toThrow('does not answer');
    const angry = (): boolean => {
      throw new Error('never');
    };
    await expect(wait(server([pod('Pending')], []), angry)).rejects.toThrow('never');
  });

  it('lets any number of others wait with the same signal', async () => {
    const { signal } = new AbortController();
    await wait(server([pod('Running')], []), running, signal);
    expect(getMaxListeners(signal)).toBe(Number.POSITIVE_INFINITY);
  });

  it('looks once more and gives up when the time is over', async () => {
    const over = AbortSignal.abort();
    expect(await wait(server([pod('Running')], []), running, over)).toMatchObject({ met: true });
    expect(await wait(server([pod('Pending')], [[cancelled()]]), running, over)).toEqual({ met: false });
  });
});

describe('waiting for many objects', () => {
  const isWanted = (_: unknown, object: JsonObject | undefined) => running(object);
  const targets = ['a', 'b', 'c'].map((name) => ({ ...target, key: { ...target.key, name } }));

  it('watches one at a time, and looks only once at those that are as wanted by then', async () => {
    const shown: string[] = [];
    const objects = server([pod('Pending'), pod('Running'), pod('Running')], [[pod('Running')]]);
    const waiting = { isWanted, show: ({ key }: typeof target, others: number) => void shown.push(`${key.name} ${others}`) };
    expect(await waitForEach(objects, targets, waiting, new AbortController().signal)).toBeUndefined();
    expect(shown).toEqual(['a 2', 'b 1', 'c 0']);
  });

  it('names the one that it waited for when the time is over', async () => {
    const objects = server([pod('Running'), pod('Pending')], [[cancelled()]]);
    const left = await waitForEach(objects, targets, { isWanted, show: () => {} }, AbortSignal.abort());
    expect(left?.key.name).toBe('b');
  });
});
