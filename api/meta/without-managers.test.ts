import { expect, it } from 'vitest';
import { withoutManagers } from './without-managers.ts';

it('leaves out managed fields and nothing else, and changes no object', () => {
  const metadata = { name: 'a', labels: { x: '1' } };
  const whole = { metadata: { ...metadata, managedFields: [{ manager: 'm' }] }, data: { k: 'v' } };
  expect(withoutManagers(whole)).toStrictEqual({ metadata, data: { k: 'v' } });
  expect(whole.metadata.managedFields).toHaveLength(1);
  const bare = { metadata };
  expect(withoutManagers(bare)).toBe(bare);
  expect(withoutManagers({})).toEqual({});
});
