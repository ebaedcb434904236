import { describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import { computeFailedRuns, createLogTails, lastLines } from './log-tails.ts';

const podWith = (state: object, lastState: object = {}) => ({
  status: { containerStatuses: [{ name: 'main', state, lastState }] },
});
const ended = (exitCode: number) => ({ terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } });

describe('the runs that failed', () => {
  it.each([
    ['a container that ended badly', podWith(ended(3)), [{ container: 'main', previous: false }]],
    [
      'one that waits to be run again',
      podWith({ waiting: { reason: 'CrashLoopBackOff' } }, ended(3)),
      [{ container: 'main', previous: false }],
    ],
    ['one that runs again after it ended badly', podWith({ running: {} }, ended(137)), [{ container: 'main', previous: true }]],
    ['no container that ended well', podWith(ended(0)), []],
    ['none that runs again after it ended well', podWith({ running: {} }, ended(0)), []],
    ['none that never ran', podWith({ waiting: { reason: 'ImagePullBackOff' } }), []],
    ['none of a pod without a status', {}, []],
    [
      'init containers too',
      { status: { initContainerStatuses: [{ name: 'init', state: ended(1) }] } },
      [{ container: 'init', previous: false }],
    ],
  ])('are those of %s', (_title, pod, runs) => expect(computeFailedRuns(pod)).toEqual(runs));
});

describe('last lines', () => {
  it('are ten at most, cut to a length, without what moves a cursor or hides text', () => {
    const log = Array.from({ length: 12 }, (_, i) => `line ${i}\n`).join('');
    expect(lastLines(log)).toHaveLength(10);
    expect(lastLines(log).at(-1)).toBe('line 11');
    expect(lastLines('\u001b[31;1mfatal\u001b[0m: \u001b[2Jno\tdata\u0007\u202ebase\r\n')).toEqual(['fatal: no    database']);
    expect(lastLines('x'.repeat(1000))[0]).toBe(`${'x'.repeat(300)}...`);
    expect(lastLines('')).toEqual([]);
  });
});

describe('reading last lines', () => {
  const pod = { namespace: 'default', name: 'web', node: 'n1' };

  it('asks for a bounded tail of the run that failed', async () => {
    const asked: unknown[] = [];
    const tails = createLogTails({
      async *logs(key, options) {
        asked.push(key, options);
        yield Buffer.from('one\ntw');
        yield Buffer.from('o\n');
      },
    });
    expect(await tails.read(pod, { container: 'main', previous: true })).toEqual(['one', 'two']);
    expect(asked).toEqual([
      { namespace: 'default', name: 'web' },
      { container: 'main', previous: true, tailLines: 10, limitBytes: 64 * 1024 },
    ]);
  });

  it('gives no lines when they cannot be had, and asks for none of a pod without a node', async () => {
    let calls = 0;
    const tails = createLogTails({
      // biome-ignore lint/correctness/useYield: a log that fails before its first piece
      async *logs() {
        calls++;
        throw unavailable('no agent');
      },
    });
    expect(await tails.read(pod, { container: 'main', previous: false })).toEqual([]);
    expect(await tails.read({ ...pod, node: '' }, { container: 'main', previous: false })).toEqual([]);
    expect(calls).toBe(1);
  });

  it('does not ask a node again that once did not answer in time', async () => {
    let calls = 0;
    const tails = createLogTails(
      {
        async *logs(_key, _options, call) {
          calls++;
          await new Promise((resolve) => call?.signal?.addEventListener('abort', resolve));
          throw unavailable('given up');
        },
      },
      1,
    );
    for (let i = 0; i < 3; i++) expect(await tails.read(pod, { container: 'main', previous: false })).toEqual([]);
    expect(calls).toBe(1);
  });
});
