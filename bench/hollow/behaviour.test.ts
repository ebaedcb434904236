import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { decideBehaviour, hollowAnnotations as said } from './behaviour.ts';

const pod = (annotations: Record<string, string>, restartPolicy?: string): Pod => ({
  metadata: { annotations },
  spec: { ...(restartPolicy !== undefined && { restartPolicy }) },
});

const plain = { readyAfterMs: 0, end: undefined, stopAfterMs: 0, failsToPull: false, problems: [] };

describe('the behaviour of a hollow pod', () => {
  it.each([
    ['runs and is ready at once without annotations', pod({}), {}, plain],
    ['is ready after what the options say', pod({}), { readyAfterMs: 500 }, { readyAfterMs: 500 }],
    [
      'is ready after what its annotation says instead',
      pod({ [said.readyAfter]: '2s' }),
      { readyAfterMs: 500 },
      { readyAfterMs: 2_000 },
    ],
    ['is never ready when told so', pod({ [said.neverReady]: 'true' }), {}, { readyAfterMs: Number.POSITIVE_INFINITY }],
    ['ends after what the options say', pod({}), { runForMs: 5_000 }, { end: { afterMs: 5_000, exitCode: 0 } }],
    ['does not end at once where it would start again', pod({}, 'Always'), { runForMs: 0 }, { end: undefined }],
    ['ends at once as a pod of a Job', pod({}, 'Never'), { runForMs: 0 }, { end: { afterMs: 0, exitCode: 0 } }],
    ['ends at once with an exit code alone', pod({ [said.exitCode]: '3' }), {}, { end: { afterMs: 0, exitCode: 3 } }],
    [
      'ends with its exit code after its time',
      pod({ [said.exitCode]: '3', [said.runFor]: '1m30s' }),
      {},
      { end: { afterMs: 90_000, exitCode: 3 } },
    ],
    ['takes its time to stop', pod({ [said.stopAfter]: '4s' }), {}, { stopAfterMs: 4_000 }],
    ['cannot pull its images when told so', pod({ [said.pullError]: 'true' }), {}, { failsToPull: true }],
  ] as const)('%s', (_, given, options, expected) => {
    expect(decideBehaviour(given, { readyAfterMs: 0, runForMs: undefined, ...options })).toEqual({ ...plain, ...expected });
  });

  it.each([
    [said.exitCode, '256'],
    [said.exitCode, '-1'],
    [said.runFor, 'soon'],
    [said.readyAfter, ''],
    [said.stopAfter, '5 parsecs'],
    [said.neverReady, 'yes'],
    [said.pullError, '1'],
  ])('tells that %s: "%s" cannot be read, and goes on without it', (key, text) => {
    const decided = decideBehaviour(pod({ [key]: text }), { readyAfterMs: 0, runForMs: undefined });
    expect(decided).toEqual({ ...plain, problems: [`annotation ${key}: "${text}" cannot be read`] });
  });
});
