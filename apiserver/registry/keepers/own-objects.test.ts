import { expect, it } from 'vitest';
import type { AnyObject } from '../any-object.ts';
import { decideOwnObject, type Wanted } from './own-objects.ts';

const wanted: Wanted = { labels: { a: '1' }, fields: { data: { key: 'value' } } };
const stored = (more: object = {}): AnyObject =>
  ({ metadata: { name: 'x', labels: { a: '1', others: 'yes' } }, data: { key: 'value' }, ...more }) as AnyObject;

it.each<[string, AnyObject | undefined, Wanted, string]>([
  ['is made', undefined, wanted, 'create'],
  ['stays, with the labels of others', stored(), wanted, 'nothing'],
  ['gets its fields back', stored({ data: {} }), wanted, 'change'],
  ['loses fields that it should not have', stored({ immutable: true }), wanted, 'change'],
  ['gets its labels back', stored({ metadata: { name: 'x' } }), wanted, 'change'],
  [
    'is made anew when something holds its deletion',
    stored({ metadata: { deletionTimestamp: { seconds: 1 } } }),
    wanted,
    'remove',
  ],
  ['goes when it should not be', stored(), 'none', 'remove'],
  ['is not made when it should not be', undefined, 'none', 'nothing'],
  ['stays as it is when it is of another', stored({ data: {} }), 'leave', 'nothing'],
])('an object of the server %s', (_title, object, should, step) => expect(decideOwnObject(object, should)).toBe(step));
