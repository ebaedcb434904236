import { expect, it } from 'vitest';
import { defineKind } from './define-kind.ts';

const names = { apiVersion: 'example.com/v1', kind: 'Website', plural: 'websites' };

it('defines a kind of objects in namespaces, unless told otherwise', () => {
  expect(defineKind(names)).toMatchObject({ ...names, singular: 'website', namespaced: true });
  expect(defineKind({ ...names, namespaced: false })).toMatchObject({ namespaced: false });
});

it('refuses an apiVersion without a group, which no definition can have', () => {
  expect(() => defineKind({ ...names, apiVersion: 'v1' })).toThrow('has no group, as "example.com/v1" has');
});
