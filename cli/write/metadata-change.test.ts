import { expect, it } from 'vitest';
import { computeChange, splitChanges } from './metadata-change.ts';

const split = (text: string) => {
  const { objects, change } = splitChanges(text.split(' ').filter(Boolean));
  return [objects.join(' '), Object.fromEntries(change.set), [...change.remove]];
};

it.each([
  ['pod web app=x tier-', 'pod web', { app: 'x' }, ['tier']],
  ['pod/a pod/b a.b/c=d=e empty=', 'pod/a pod/b', { 'a.b/c': 'd=e', empty: '' }, []],
  ['pods old-', 'pods', {}, ['old']],
  ['pods', 'pods', {}, []],
])('reads "%s"', (text, objects, set, remove) => expect(split(text)).toEqual([objects, set, remove]));

it.each([
  ['pod a=b web', '"web" is neither KEY=VALUE nor KEY-'],
  ['pod =b', '"=b" is neither'],
  ['pod a=b a-', '"a" cannot be set and removed at once'],
])('refuses "%s"', (text, message) => expect(() => split(text)).toThrow(message));

const change = (text: string) => splitChanges(text.split(' ')).change;
const present = { app: 'web', tier: 'front' };

it('patches only what is another, and says what there was not to remove', () => {
  expect(computeChange(present, change('app=web new=1 tier- none-'), false)).toEqual({
    patch: { new: '1', tier: null },
    sets: true,
    absent: ['none'],
  });
  expect(computeChange(present, change('app=web none-'), false).patch).toBeUndefined();
  expect(computeChange(present, change('tier-'), false).sets).toBe(false);
});

it('changes a value only when told to overwrite', () => {
  expect(() => computeChange(present, change('app=db'), false)).toThrow('"app" has the value "web" already; add --overwrite');
  expect(computeChange(present, change('app=db'), true).patch).toEqual({ app: 'db' });
});
