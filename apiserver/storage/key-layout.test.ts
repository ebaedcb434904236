import { expect, it } from 'vitest';
import { groupOf, keyPrefixOf } from '../../api/kinds/identity.ts';
import { kinds } from '../../api/kinds/index.ts';
import { presentKey } from './key-layout.ts';

/** Groups whose kinds have come since: there are no keys of theirs in layout 1. */
const newer: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apps',
  'batch',
  'autoscaling',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'discovery.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'networking.k8s.io',
  'networking.berth.io',
]);
/** The same of kinds whose group was there. */
const newerKinds: ReadonlySet<string> = new Set(['CSIDriver', 'CSINode', 'CSIStorageCapacity', 'VolumeAttachment']);
const before = kinds.filter(({ kind, apiVersion }) => !newer.has(groupOf(apiVersion)) && !newerKinds.has(kind));

it.each(before.map((kind) => [kind.plural, kind] as const))('keys of %s are those of the kind', (plural, kind) => {
  expect(presentKey(`${plural}/a/b`)).toBe(`${keyPrefixOf(kind)}a/b`);
  // A second time changes nothing.
  expect(presentKey(presentKey(`${plural}/a/b`))).toBe(`${keyPrefixOf(kind)}a/b`);
});

it.each(['server/start', 'leases', 'constructor/x', '', '/'])('key "%s" of no kind stays as it is', (key) => {
  expect(presentKey(key)).toBe(key);
});
