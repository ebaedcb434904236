import { expect, it } from 'vitest';
import type { PodTemplateSpec } from '../api/generated/types.ts';
import { meanSame, readTemplates } from './template-digests.ts';

const templateOf = (variables: number, value = 'b'): PodTemplateSpec => ({
  spec: {
    containers: [{ name: 'c', image: 'i', env: Array.from({ length: variables }, (_, at) => ({ name: `a${at}`, value })) }],
  },
});

it('templates mean the same by what they say, and absent ones nothing', () => {
  expect(meanSame(templateOf(2), templateOf(2))).toBe(true);
  expect(meanSame(templateOf(2), templateOf(3))).toBe(false);
  expect(meanSame(undefined, {})).toBe(true);
});

it('others have their turn between large templates, once', async () => {
  const signal = new AbortController().signal;
  const templates = [templateOf(10_000, 'a'), templateOf(10_000), templateOf(10_000, 'c')];
  let turns = 0;
  const count = (): void => {
    turns++;
    waiting = setImmediate(count);
  };
  let waiting = setImmediate(count);
  await readTemplates(templates, signal);
  const first = turns;
  await readTemplates(templates, signal);
  clearImmediate(waiting);
  expect(first).toBeGreaterThanOrEqual(templates.length - 1);
  expect(turns).toBe(first);
});
