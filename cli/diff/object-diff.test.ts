import { expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { objectDiff } from './object-diff.ts';

const metadata = { name: 'web', namespace: 'default', resourceVersion: '7', managedFields: [{ manager: 'x' }] };
const then = (object: JsonObject | undefined) => ({ name: 'THEN', note: '12:00', object });
const now = (object: JsonObject | undefined) => ({ name: 'NOW', note: '13:00', object });

it('compares the YAML of two states, without what is different in every version', () => {
  const before = { kind: 'ConfigMap', metadata, data: { a: '1' } };
  const after = { kind: 'ConfigMap', metadata: { ...metadata, resourceVersion: '8', managedFields: [] }, data: { a: '2' } };
  const kind = kindNamed('ConfigMap');
  expect(objectDiff(kind, then(before), now(after))).toBe(
    [
      'diff -u -N THEN/v1.ConfigMap.default.web NOW/v1.ConfigMap.default.web',
      '--- THEN/v1.ConfigMap.default.web\t12:00',
      '+++ NOW/v1.ConfigMap.default.web\t13:00',
      '@@ -3,4 +3,4 @@',
      '   name: web',
      '   namespace: default',
      ' data:',
      '-  a: "1"',
      '+  a: "2"',
      '',
    ].join('\n'),
  );
  expect(objectDiff(kind, then(before), now({ ...after, data: { a: '1' } }))).toBe('');
  expect(objectDiff(kind, then(undefined), now(after))).toContain('@@ -0,0 +1,6 @@\n+kind: ConfigMap\n');
});

it('says which values of a secret have changed, never what they are', () => {
  const secret = (data: JsonObject) => ({ kind: 'Secret', metadata, data });
  const [before, after] = [
    secret({ same: 'QQ==', other: 'QQ==', old: 'QQ==' }),
    secret({ same: 'QQ==', other: 'Qg==', fresh: 'Qg==' }),
  ];
  const text = objectDiff(kindNamed('Secret'), then(before), now(after));
  expect(text).not.toMatch(/Q[Qg]==/);
  expect(text.split('\n').filter((line) => /^[-+] /.test(line))).toEqual([
    '-  other: "*** (before)"',
    '-  old: "***"',
    '+  other: "*** (after)"',
    '+  fresh: "***"',
  ]);
});
