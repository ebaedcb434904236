import { describe, expect, it } from 'vitest';
import type { Pod } from '../../generated/types.ts';
import { checkMirror, isStatic } from './static-pods.ts';
import { validatePodUpdate } from './validate-update.ts';

const key = 'kubernetes.io/config.mirror';
const mirror = (spec: Pod['spec'] = { nodeName: 'n1' }, hash?: string): Pod => ({
  metadata: { name: 'web', annotations: hash === '' ? {} : { [key]: hash ?? 'hash' } },
  ...(spec && { spec }),
});
const said = (list: { field: string; description: string }[]) => list.map(({ field, description }) => `${field}: ${description}`);

describe('a mirror pod', () => {
  it('is bound to its node from the beginning', () => {
    expect(checkMirror(mirror())).toEqual([]);
    expect(said(checkMirror(mirror({})))).toEqual([
      `metadata.annotations[${key}]: invalid value "hash": must set spec.nodeName if mirror pod annotation is set`,
    ]);
    expect(checkMirror({ metadata: { name: 'web' }, spec: { serviceAccountName: 'x' } })).toEqual([]);
  });

  it('refers to nothing that only the API server has', () => {
    expect(said(checkMirror(mirror({ nodeName: 'n1', serviceAccountName: 'x' })))).toEqual([
      'spec.serviceAccountName: forbidden: static pods may not reference service accounts: they run without the API server',
    ]);
  });

  it('stays one, and no other pod becomes one', () => {
    const field = `metadata.annotations[${key}]`;
    expect(said(validatePodUpdate(mirror(undefined, 'other'), mirror()))).toEqual([
      `${field}: forbidden: may not remove or update mirror pod annotation`,
    ]);
    expect(said(validatePodUpdate(mirror(undefined, ''), mirror()))).toEqual([
      `${field}: forbidden: may not remove or update mirror pod annotation`,
    ]);
    expect(said(validatePodUpdate(mirror(), mirror(undefined, '')))).toEqual([
      `${field}: forbidden: may not add mirror pod annotation`,
    ]);
  });

  it('cannot be changed: it shows a file', () => {
    expect(said(validatePodUpdate(mirror({ nodeName: 'n1', activeDeadlineSeconds: 1 }), mirror()))).toEqual([
      'spec.activeDeadlineSeconds: forbidden: a mirror pod shows what a file on node "n1" says: change that file',
    ]);
    expect(validatePodUpdate(mirror(), mirror())).toEqual([]);
  });
});

it.each([
  ['0123456789abcdef0123456789abcdef', true],
  ['01234567-89ab-cdef-0123-456789abcdef', false],
  [undefined, false],
])('the uid %s is that of a static pod: %s', (uid, expected) => {
  expect(isStatic({ metadata: { name: 'web', ...(uid && { uid }) } })).toBe(expected);
});
