import { describe, expect, it } from 'vitest';
import type { PriorityClass } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';
import { systemPriorityClasses } from './system.ts';

const kind = kindNamed('PriorityClass');
const made = (name: string, more: PriorityClass = {}): PriorityClass => {
  const object: PriorityClass = { metadata: { name }, ...more };
  kind.defaults(object);
  return object;
};
const refused = (object: PriorityClass) => kind.validate(object).map(({ field }) => field);

describe('a priority class', () => {
  it('is worth 0 and lets its pods preempt unless it says otherwise', () => {
    expect(made('plain')).toMatchObject({ value: 0, preemptionPolicy: 'PreemptLowerPriority' });
    expect(kindOf('pc')).toBe(kind);
  });

  it.each<[string, PriorityClass, string[]]>([
    ['as much as users may', made('a', { value: 1_000_000_000 }), []],
    ['below zero', made('a', { value: -10 }), []],
    ['more than users may', made('a', { value: 1_000_000_001 }), ['value']],
    ['with a policy that does not exist', made('a', { preemptionPolicy: 'Always' }), ['preemptionPolicy']],
    ["under a name of the system's", made('system-mine', { value: 1 }), ['metadata.name']],
    ["the system's own with another value", made('system-node-critical', { value: 1 }), ['value']],
    [
      "the system's own as the default of all",
      made('system-node-critical', { value: 2_000_001_000, globalDefault: true }),
      ['globalDefault'],
    ],
  ])('is judged: %s', (_title, object, fields) => {
    expect(refused(object)).toEqual(fields);
  });

  it("is valid when it is the system's own", () => {
    for (const own of systemPriorityClasses) expect(refused(made(own.metadata.name, { ...own }))).toEqual([]);
  });

  it('shows what kubectl shows', () => {
    const now = new Date();
    const cells = kind.columns.map(({ name, cell }) => [name, cell(made('high', { value: 7, globalDefault: true }), now)]);
    expect(cells.filter(([name]) => name !== 'AGE')).toEqual([
      ['NAME', 'high'],
      ['VALUE', '7'],
      ['GLOBAL-DEFAULT', 'true'],
      ['PREEMPTIONPOLICY', 'PreemptLowerPriority'],
    ]);
  });
});
