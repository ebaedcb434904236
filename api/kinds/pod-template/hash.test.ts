import { expect, it, vi } from 'vitest';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { defaultTemplate } from './defaults.ts';
import { computeTemplateHash } from './hash.ts';

vi.mock('./defaults.ts', async (original) => {
  const real = await original<typeof import('./defaults.ts')>();
  return { ...real, defaultTemplate: vi.fn(real.defaultTemplate) };
});

const templateOf = (variables: number, restartPolicy?: string): PodTemplateSpec => {
  const env = Array.from({ length: variables }, (_, at) => ({ name: `a${at}`, value: 'b' }));
  return { spec: { containers: [{ name: 'c', image: 'i', env }], ...(restartPolicy && { restartPolicy }) } };
};

it('the hash of a template of a megabyte is found without a trial of each of its fields', () => {
  computeTemplateHash(templateOf(10));
  expect(vi.mocked(defaultTemplate).mock.calls.length).toBeGreaterThan(1);
  vi.mocked(defaultTemplate).mockClear();
  const hash = computeTemplateHash(templateOf(10_000));
  expect(defaultTemplate).toHaveBeenCalledTimes(1);
  expect(computeTemplateHash(templateOf(10_000, 'Always'))).toBe(hash);
  expect(computeTemplateHash(templateOf(10_000, 'Never'))).not.toBe(hash);
});
