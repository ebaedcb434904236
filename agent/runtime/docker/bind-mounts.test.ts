import { describe, expect, it } from 'vitest';
import type { Mount } from '../runtime.ts';
import { bindMounts } from './bind-mounts.ts';

const mount = (change: Partial<Mount>): Mount => ({
  hostPath: '/a',
  containerPath: '/b',
  readOnly: true,
  propagation: 'rprivate',
  ...change,
});
const optionsOf = (change: Partial<Mount>, version: string) =>
  (bindMounts([mount(change)], version)[0] as { BindOptions: object }).BindOptions;

describe('a read-only mount', () => {
  it.each([
    ['1.41', 'no', {}],
    ['1.41', 'preferred', {}],
    ['1.44', 'no', { ReadOnlyNonRecursive: true }],
    ['1.44', 'preferred', {}],
    ['1.44', 'required', { ReadOnlyForceRecursive: true }],
    ['1.51', undefined, { ReadOnlyNonRecursive: true }],
  ] as const)('of an engine with API %s, recursive: %s', (version, recursive, expected) => {
    expect(optionsOf({ recursive }, version)).toEqual(expected);
  });

  it('is refused where the engine cannot reach what is mounted inside and must', () => {
    expect(() => optionsOf({ recursive: 'required' }, '1.41')).toThrow('mount /b with recursiveReadOnly Enabled');
  });

  it('that is none has nothing to say about it', () => {
    expect(optionsOf({ readOnly: false, recursive: 'preferred' }, '1.44')).toEqual({});
  });
});

it.each([
  ['rprivate', {}],
  ['rslave', { Propagation: 'rslave' }],
  ['rshared', { Propagation: 'rshared' }],
] as const)('names the propagation %s only where it is not the default of the engine', (propagation, expected) => {
  expect(optionsOf({ readOnly: false, propagation }, '1.41')).toEqual(expected);
});
