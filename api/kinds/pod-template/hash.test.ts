import { expect, it, vi } from 'vitest';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { defaultTemplate } from './defaults.ts';
import { computeTemplateHash } from './hash.ts';

const templateOf = (variables: number, restartPolicy?: string): PodTemplateSpec => {
  const env = Array.from({ length: variables }, (_, at) => ({ name: `a${at}`, value: 'b' }));
  return { spec: { containers: [{ name: 'c', image: 'i', env }], ...(restartPolicy && { restartPolicy }) } };
};

it('the hash of a template of a megabyte is found without a trial of each of its fields', () => {
  const defaults = vi.fn(defaultTemplate);
  computeTemplateHash(templateOf(10), undefined, defaults);
  expect(defaults.mock.calls.length).toBeGreaterThan(1);
  defaults.mockClear();
  const hash = computeTemplateHash(templateOf(10_000), undefined, defaults);
  expect(defaults).toHaveBeenCalledTimes(1);
  expect(computeTemplateHash(templateOf(10_000, 'Always'))).toBe(hash);
  expect(computeTemplateHash(templateOf(10_000, 'Never'))).not.toBe(hash);
});
