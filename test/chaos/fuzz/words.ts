import fc from 'fast-check';
import { kinds } from '../../../api/kinds/index.ts';

// Words that get past the first check, and words that were made for falling over.

export const names = ['a', 'b', 'c', 'd', 'fuzz', 'fuzz-2', 'n1', 'n2'] as const;

const long = 'x'.repeat(20_000);

export const strangeTexts: readonly string[] = [
  '',
  ' ',
  '/',
  '..',
  '../../etc/passwd',
  'a/b',
  'a\0b',
  '\n',
  '%00',
  '%',
  'ä',
  '💥',
  '\u202e',
  '\ud800',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'null',
  'undefined',
  '-1',
  '0',
  '1e309',
  'NaN',
  '0x10',
  '９',
  '9007199254740993',
  '18446744073709551616',
  'A',
  'a.b-c',
  '*',
  '$(x)',
  "' OR 1=1 --",
  'x'.repeat(64),
  'x'.repeat(254),
  long,
];

const versions = ['', '0', '1', '2', '100', '999999999', '-1', '1.5', 'x', '9007199254740992', ' 1', '01'];
const selectors = [
  '',
  'app=web',
  'app in (a,b)',
  'app notin ()',
  '!app',
  'app',
  '=',
  ',',
  'app in (',
  'app==',
  'app=a,app!=a',
  'metadata.name=a',
  'spec.nodeName=n1',
  'status.phase!=Running',
  'metadata.name=a,,',
  '\\',
  'metadata.name\\=a',
  'app in (a'.repeat(500),
  'a=b,'.repeat(3_000),
];
const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokens = ['', 'x', token([1, 1, '', '']), token([1, -1, 'pods/', 'x']), token([]), token(null), token({ length: 4 }), long];
const quantities = [
  '1',
  '100m',
  '1Gi',
  '-1',
  '1e3',
  '0.5',
  '9223372036854775808',
  '1.5Ki',
  'Gi',
  '1e-400',
  '1E400',
  `${'9'.repeat(400)}`,
];
const times = ['2026-01-01T00:00:00Z', '2026-13-01T00:00:00Z', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00.001Z', 'now'];
const types = [
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
  'x',
];

/** What a field of this name mostly holds. */
const byField: Readonly<Record<string, readonly string[]>> = {
  name: names,
  nodeName: names,
  generateName: ['a-', 'b-', '-', 'A', ''],
  namespace: ['default', 'fuzz', 'fuzz-2', '', 'nowhere'],
  kind: kinds.map(({ kind }) => kind),
  apiVersion: kinds.map(({ apiVersion }) => apiVersion),
  resourceVersion: versions,
  resourceVersionMatch: ['', 'Exact', 'NotOlderThan', 'x'],
  labelSelector: selectors,
  fieldSelector: selectors,
  continue: tokens,
  type: types,
  subresource: ['', 'status', 'scale', 'x'],
  format: ['', 'json', 'protobuf', 'table'],
  accept: ['', 'json', 'protobuf', 'table'],
  dryRun: ['All', 'All', ''],
  fieldValidation: ['', 'Strict', 'Ignore'],
  propagationPolicy: ['Background', 'Foreground', 'Orphan', 'x'],
  finalizers: ['example.com/wait', 'foregroundDeletion', 'orphan'],
  string: quantities,
  time: times,
};

const strange = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...strangeTexts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary' }) },
);

/** A text for a field of this name. */
export function textFor(field: string): fc.Arbitrary<string> {
  const usual = byField[field];
  if (!usual) return strange;
  return fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: strange });
}
