import { describe, expect, it } from 'vitest';
import { coarsen, type FieldSet, subtract, unite } from './field-set.ts';

const leaf: FieldSet = {};

describe('sets of fields', () => {
  it('are united member by member, and a field named as a whole stays so', () => {
    expect(unite({ 'f:a': leaf, 'f:b': { 'f:c': leaf } }, { 'f:b': { 'f:d': leaf }, 'f:e': leaf })).toEqual({
      'f:a': {},
      'f:b': { 'f:c': {}, 'f:d': {} },
      'f:e': {},
    });
    expect(unite({ 'f:a': leaf }, { 'f:a': { 'f:b': leaf } })).toEqual({ 'f:a': { '.': {}, 'f:b': {} } });
    expect(unite({ 'f:a': { '.': leaf, 'f:b': leaf } }, { 'f:a': leaf })).toEqual({ 'f:a': { '.': {}, 'f:b': {} } });
  });

  it('lose what is taken, with everything below a field that is taken as a whole', () => {
    const set: FieldSet = { 'f:a': leaf, 'f:b': { '.': leaf, 'f:c': leaf, 'f:d': leaf } };
    expect(subtract(set, { 'f:a': leaf })).toEqual({ 'f:b': { '.': {}, 'f:c': {}, 'f:d': {} } });
    expect(subtract(set, { 'f:b': leaf })).toEqual({ 'f:a': {} });
    expect(subtract(set, { 'f:b': { 'f:c': leaf, 'f:d': leaf } })).toEqual({ 'f:a': {}, 'f:b': {} });
    expect(subtract({ 'f:a': leaf }, { 'f:a': leaf, 'f:z': leaf })).toBeUndefined();
  });

  it('keep a field named as a whole when only a part of it is taken', () => {
    expect(subtract({ 'f:data': leaf }, { 'f:data': { 'f:x': leaf } })).toEqual({ 'f:data': {} });
  });

  it('leave their arguments as they are', () => {
    const [a, b]: FieldSet[] = [{ 'f:a': { 'f:b': leaf, 'f:c': leaf } }, { 'f:a': { 'f:b': leaf } }];
    subtract(a!, b!);
    unite(a!, b!);
    expect([a, b]).toEqual([{ 'f:a': { 'f:b': {}, 'f:c': {} } }, { 'f:a': { 'f:b': {} } }]);
  });

  it('become smaller by naming less finely', () => {
    expect(coarsen({ 'f:a': { 'f:b': { 'f:c': leaf } }, 'f:d': leaf }, 2)).toEqual({ 'f:a': { 'f:b': {} }, 'f:d': {} });
  });
});
