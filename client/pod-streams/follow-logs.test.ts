import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError, badRequest, isCancelled, notFound, unavailable } from '../../api/errors/index.ts';
import type { PodLogOptions, PodLogsResponse, Timestamp } from '../../api/generated/types.ts';
import { timestamp, toMillis } from '../../api/meta/time.ts';
import type { Clock } from '../clock.ts';
import { type FollowLogsOptions, followLogs } from './follow-logs.ts';
import type { LogKey, PodStreams } from './pod-streams.ts';

interface Line {
  /** Nanoseconds since the log's beginning. */
  readonly at: number;
  readonly text: string;
}

const beginning = Date.UTC(2026, 0, 1);
const stamp = (at: number): string =>
  `${new Date(beginning + Math.floor(at / 1e6)).toISOString().slice(0, 20)}${String(at % 1e9).padStart(9, '0')}Z`;
const written = (lines: readonly Line[], times = false): string =>
  lines.map(({ at, text }) => `${times ? `${stamp(at)} ` : ''}${text}\n`).join('');

/** Each call ends like this: after so many bytes, with an error; the last goes to the end of the log. */
interface Break {
  readonly afterBytes: number;
  readonly error?: ApiError;
  /** Or as if the container had ended. */
  readonly ends?: boolean;
  /** What the log has grown to when the call begins. */
  readonly lines?: number;
  /** How many of its first lines the node has deleted by then. */
  readonly deleted?: number;
}

/**
 * A node with one log in the order of its file: `since` works to the millisecond, as the agent's does;
 * pieces are `size` bytes.
 */
function fakeLog(lines: readonly Line[], breaks: readonly Break[], size = 7) {
  const requests: { key: LogKey; options: PodLogOptions }[] = [];
  const pods: Pick<PodStreams, 'logResponses'> = {
    async *logResponses(key, options = {}): AsyncGenerator<PodLogsResponse> {
      const end = breaks[requests.length];
      requests.push({ key, options });
      if (end?.error && end.afterBytes < 0) throw end.error;
      const kept = lines.slice(Math.max(0, ...breaks.slice(0, requests.length).map(({ deleted = 0 }) => deleted)));
      const visible = kept.slice(0, end?.lines);
      const openedAt: Timestamp = timestamp(new Date(beginning + Math.floor((visible.at(-1)?.at ?? 0) / 1e6) + 1));
      yield { containerID: 'c1', openedAt };
      const sinceMs = options.sinceTime ? toMillis(options.sinceTime) - beginning : 0;
      const asked = (end?.lines === undefined ? kept : visible).filter(({ at }) => at >= sinceMs * 1e6);
      const tail = options.tailLines === undefined ? asked : asked.slice(Math.max(0, asked.length - options.tailLines));
      const bytes = Buffer.from(written(tail, options.timestamps));
      const until = end ? Math.min(end.afterBytes, bytes.length) : bytes.length;
      for (let from = 0; from < until; from += size) yield { data: bytes.subarray(from, Math.min(until, from + size)) };
      if (end && !end.ends) throw end.error ?? unavailable('the connection was lost');
    },
  };
  return { pods, requests };
}

/** Waiting takes no time, but the clock moves. */
function instantClock(): Clock {
  let now = 0;
  return {
    now: () => now,
    after(ms, callback) {
      now += ms;
      queueMicrotask(callback);
      return () => {};
    },
  };
}

const key = { namespace: 'default', name: 'web' };

async function follow(pods: Pick<PodStreams, 'logResponses'>, log: PodLogOptions = {}, options: FollowLogsOptions = {}) {
  const pieces: string[] = [];
  for await (const data of followLogs(pods, key, log, { clock: instantClock(), random: () => 0, ...options }))
    pieces.push(data.toString());
  return pieces;
}

const three: Line[] = [
  { at: 1_000_000, text: 'one' },
  { at: 2_000_000, text: 'two' },
  { at: 3_000_000, text: 'three' },
];

describe('followLogs', () => {
  it('gives whole lines, without the times it needs itself', async () => {
    const { pods, requests } = fakeLog(three, []);
    const pieces = await follow(pods, { container: 'app' });
    expect(pieces.join('')).toBe('one\ntwo\nthree\n');
    for (const piece of pieces) expect(piece).toMatch(/\n$/);
    expect(requests[0]?.options).toEqual({ container: 'app', follow: true, timestamps: true });
  });

  it('gives times when they are asked for', async () => {
    expect((await follow(fakeLog(three, []).pods, { timestamps: true })).join('')).toBe(written(three, true));
  });

  it('goes on after lost connections without losing and without repeating a line, wherever they were cut', async () => {
    const logs = fc.array(fc.record({ step: fc.nat(2_000_000), back: fc.nat(3), text: fc.stringMatching(/^[a-z ]{0,9}$/) }), {
      minLength: 1,
      maxLength: 60,
    });
    const cuts = fc.array(fc.nat(900), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(logs, cuts, fc.integer({ min: 1, max: 50 }), async (steps, at, size) => {
        let now = 5_000_000;
        // Times grow, stand still, and go back a little, as those of two streams do.
        const lines = steps.map(({ step, back, text }) => {
          now += step;
          return { at: now - back * 300, text };
        });
        const { pods } = fakeLog(
          lines,
          at.map((afterBytes) => ({ afterBytes })),
          size,
        );
        expect((await follow(pods)).join('')).toBe(written(lines));
      }),
      { numRuns: 300 },
    );
  });

  it('goes on with the last lines only, when only those were asked for', async () => {
    // All in one millisecond: what the node sends again begins before what was wanted.
    const lines = Array.from({ length: 20 }, (_, i) => ({ at: 1_000_000 + i, text: `line ${i}` }));
    const { pods, requests } = fakeLog(lines, [{ afterBytes: 50 }, { afterBytes: 700 }]);
    expect((await follow(pods, { tailLines: 5 })).join('')).toBe(written(lines.slice(15)));
    expect(requests.map(({ options }) => options.tailLines)).toEqual([5, undefined, undefined, undefined]);
  });

  it('loses nothing of a log that was empty when the connection was lost', async () => {
    const { pods } = fakeLog(three, [{ afterBytes: 0, lines: 0 }]);
    expect((await follow(pods, { tailLines: 1 })).join('')).toBe('one\ntwo\nthree\n');
  });

  it('asks for the same beginning again when nothing has come of the last so many seconds', async () => {
    const { pods, requests } = fakeLog(three, [{ afterBytes: 0, lines: 1 }]);
    await follow(pods, { sinceSeconds: 60 });
    expect(requests[1]?.options.sinceSeconds).toBeUndefined();
    expect(toMillis(requests[1]?.options.sinceTime ?? {})).toBe(beginning + 2 - 60_000);
  });

  it('remembers enough of a long log, and reads little of it again', async () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => ({ at: i * 500, text: `line ${i}` }));
    const { pods, requests } = fakeLog(lines, [{ afterBytes: 300_000 }], 4_096);
    expect((await follow(pods)).join('')).toBe(written(lines));
    expect(toMillis(requests[1]?.options.sinceTime ?? {})).toBeGreaterThan(beginning);
  });

  it('goes on in the middle of a line that is too long to be held back', async () => {
    const lines = [...three, { at: 4_000_000, text: 'x'.repeat(300_000) }, { at: 5_000_000, text: 'end' }];
    const { pods } = fakeLog(lines, [{ afterBytes: 200_000 }, { afterBytes: 150_000 }], 10_000);
    const pieces = await follow(pods);
    expect(pieces.join('')).toBe(written(lines));
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(100_000);
  });

  it('reads what an engine has left out that ended the log before its reader had all', async () => {
    const { pods, requests } = fakeLog(three, [{ afterBytes: 50, ends: true }]);
    expect((await follow(pods)).join('')).toBe(written(three));
    expect(requests.map(({ options }) => options.follow)).toEqual([true, false]);
  });

  it('ends with what there was when the container was removed right after its end', async () => {
    const removed = { afterBytes: -1, error: notFound({ kind: 'Pod', name: 'web' }) };
    const { pods } = fakeLog(three, [{ afterBytes: 1_000, ends: true }, removed]);
    expect((await follow(pods)).join('')).toBe(written(three));
  });

  it('goes on after the clock of the node was set back', async () => {
    const lines = [...three, { at: 2_500_000, text: 'set back' }];
    const { pods } = fakeLog(lines, [{ afterBytes: 100 }]);
    expect((await follow(pods)).join('')).toBe(written(lines));
  });

  it('stays with the run of the container that it began with', async () => {
    const { pods, requests } = fakeLog(three, [{ afterBytes: 40 }]);
    await follow(pods);
    expect(requests.map((request) => request.key.containerID)).toEqual([undefined, 'c1', 'c1']);
  });

  it('stops after as many bytes as asked for, over all connections', async () => {
    const { pods } = fakeLog(three, [{ afterBytes: 40 }]);
    expect((await follow(pods, { limitBytes: 6 })).join('')).toBe('one\ntw');
  });

  it('throws what refuses the log at first, and what is no loss of the connection', async () => {
    const first = fakeLog(three, [{ afterBytes: -1, error: unavailable('no server') }]);
    await expect(follow(first.pods)).rejects.toThrow('no server');
    const refused = fakeLog(three, [{ afterBytes: -1, error: badRequest('waiting to start') }]);
    await expect(follow(refused.pods)).rejects.toThrow('waiting to start');
    const gone = notFound({ kind: 'Pod', name: 'web' });
    const later = fakeLog(three, [{ afterBytes: 40 }, { afterBytes: -1, error: gone }]);
    await expect(follow(later.pods)).rejects.toBe(gone);
  });

  it('says once that the connection was lost, however often it is tried, and once that it goes on', async () => {
    const failed = { afterBytes: -1, error: unavailable('still away') };
    const { pods } = fakeLog(three, [{ afterBytes: 40 }, failed, failed]);
    const notes: string[] = [];
    await follow(pods, {}, { onLost: (error) => notes.push((error as Error).message), onResumed: () => notes.push('on') });
    expect(notes).toEqual(['the connection was lost', 'on']);
  });

  describe('when the node has deleted lines', () => {
    const all = Array.from({ length: 5_000 }, (_, i) => ({ at: (i + 1) * 1_000_000, text: `line ${i}` }));
    /** What was read, and the gaps that were told, each with the last line that had been read by then. */
    async function followed(breaks: readonly Break[], log: PodLogOptions = {}, lines: readonly Line[] = all, size = 7) {
      const gaps: object[] = [];
      let text = '';
      const { pods, requests } = fakeLog(lines, breaks, size);
      const onGap = (gap: object) => gaps.push({ ...gap, read: text.trimEnd().split('\n').at(-1) });
      const lost: unknown[] = [];
      const options: FollowLogsOptions = { clock: instantClock(), random: () => 0, onGap, onLost: (error) => lost.push(error) };
      for await (const data of followLogs(pods, key, log, options)) text += data.toString();
      return { text, gaps, requests, lost };
    }
    const one = (afterBytes: number) => ({ afterBytes });
    const bytes = (count: number) => Buffer.byteLength(written(all.slice(0, count), true));

    it.each([
      ['of a short log', 100, {}],
      ['of a log longer than what is remembered', 3_000, {}],
      ['of the end of a log', 100, { tailLines: 4_990 }],
    ])('tells once between which lines %s', async (_title, read, log) => {
      const first = 'tailLines' in log ? 10 : 0;
      const cut = bytes(first + read) - bytes(first) + 5;
      const { text, gaps } = await followed(
        [one(cut), { afterBytes: 1e9, deleted: 4_000, error: unavailable('again') }, { afterBytes: 1e9, deleted: 4_500 }],
        log,
      );
      expect(text).toBe(written([...all.slice(first, first + read), ...all.slice(4_000)]));
      expect(gaps).toEqual([
        { after: stamp((first + read) * 1_000_000), before: stamp(4_001 * 1_000_000), read: `line ${first + read - 1}` },
      ]);
    });

    it('tells nothing while what was read last is still there', async () => {
      for (const deleted of [0, 1, 99]) {
        const { text, gaps } = await followed([one(bytes(100)), { afterBytes: 1e9, deleted }]);
        expect(text).toBe(written(all));
        expect(gaps).toEqual([]);
      }
    });

    it('goes on behind the gap when the node says that a slow reader was overtaken, and takes that for no loss of the connection', async () => {
      const overtaken = {
        afterBytes: bytes(2_000),
        error: new ApiError('OUT_OF_RANGE', 'Expired', 'lines of the log are missing'),
      };
      const { text, gaps, lost } = await followed([overtaken, { afterBytes: 1e9, deleted: 2_500, ends: true }]);
      expect(text).toBe(written([...all.slice(0, 2_000), ...all.slice(2_500)]));
      expect(gaps).toHaveLength(1);
      expect(lost).toEqual([]);
    });

    it('ends the line in the middle of which the gap begins', async () => {
      const lines = [...three, { at: 4_000_000, text: 'x'.repeat(300_000) }, { at: 5_000_000, text: 'end' }];
      const { text, gaps } = await followed([one(200_000), { afterBytes: 1e9, deleted: 4 }], {}, lines, 10_000);
      expect(text).toMatch(/^one\ntwo\nthree\nx+\nend\n$/);
      expect(gaps).toEqual([{ after: stamp(4_000_000), before: stamp(5_000_000), read: expect.stringMatching(/^x+$/) }]);
    });

    it('tells of every line that is missing, and repeats none, whatever is deleted and wherever the connection is cut', async () => {
      const steps = fc.array(fc.nat(3), { minLength: 1, maxLength: 60 });
      const cuts = fc.array(fc.record({ afterBytes: fc.nat(900), deleted: fc.nat(20) }), { maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(steps, cuts, fc.integer({ min: 1, max: 50 }), async (deltas, breaks, size) => {
          let now = 1_000_000;
          const lines = deltas.map((delta, i) => {
            now += 1 + delta * 700_000;
            return { at: now, text: `line ${i}` };
          });
          let deleted = 0;
          const growing = breaks.map((each) => {
            deleted += each.deleted;
            return { afterBytes: each.afterBytes, deleted: deleted - each.deleted };
          });
          const { text, gaps } = await followed([...growing, { afterBytes: 1e9, ends: true, deleted }], {}, lines, size);
          const read = text.split('\n').slice(0, -1);
          expect(read).toEqual(lines.map((each) => each.text).filter((line) => read.includes(line)));
          for (let i = 1; i < read.length; i++) {
            const [before, after] = [read[i - 1], read[i]].map((line) => lines.findIndex((each) => each.text === line)) as [
              number,
              number,
            ];
            const told = { after: stamp(lines[before]!.at), before: stamp(lines[after]!.at), read: read[i - 1] };
            if (after === before + 1) continue;
            expect(gaps).toContainEqual(told);
          }
        }),
        { numRuns: 300 },
      );
    });
  });

  it('gives up in the end', async () => {
    const failed = { afterBytes: -1, error: unavailable('away for good') };
    const { pods, requests } = fakeLog(three, [{ afterBytes: 40 }, ...Array.from({ length: 500 }, () => failed)]);
    await expect(follow(pods, {}, { giveUpAfterMs: 60_000 })).rejects.toThrow('away for good');
    expect(requests.length).toBeGreaterThan(10);
    expect(requests.length).toBeLessThan(40);
  });

  it('ends when it is aborted, also while it waits for the connection', async () => {
    const stop = new AbortController();
    const { pods } = fakeLog(three, [
      { afterBytes: 40 },
      { afterBytes: -1, error: new ApiError('CANCELLED', 'Cancelled', 'aborted by the caller') },
    ]);
    await expect(follow(pods, {}, { signal: stop.signal, onLost: () => stop.abort() })).rejects.toSatisfy(isCancelled);
  });
});
