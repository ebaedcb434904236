import { expect, it } from 'vitest';
import { kinds } from '../../api/kinds/index.ts';
import { chooseKinds, printKinds } from './api-resources.ts';

const some = kinds.filter((kind) => ['Namespace', 'Pod', 'Lease'].includes(kind.kind));

it('shows kinds with their names, versions and whether they have namespaces', () => {
  expect(printKinds(some, { headers: true })).toBe(
    [
      'NAME         SHORTNAMES   APIVERSION               NAMESPACED   KIND',
      'namespaces   ns           v1                       false        Namespace',
      'pods         po           v1                       true         Pod',
      'leases                    coordination.k8s.io/v1   true         Lease',
      '',
    ].join('\n'),
  );
});

it('shows full names alone, and verbs when asked', () => {
  expect(printKinds(some, { headers: true, output: 'name' })).toBe('namespaces\npods\nleases.coordination.k8s.io\n');
  expect(printKinds(some, { headers: false, output: 'wide' })).toMatch(
    /^namespaces +ns +v1 +false +Namespace +create,delete,deletecollection,get,list,patch,update,watch\n/,
  );
});

it('shows every kind there is', () => {
  expect(printKinds(kinds, { headers: false }).trim().split('\n')).toHaveLength(kinds.length);
});

it('chooses kinds by group and verbs', () => {
  const named = (flags: { apiGroup?: string; verbs?: string }) =>
    chooseKinds(some, { headers: true, ...flags }).map(({ plural }) => plural);
  expect(named({ apiGroup: '' })).toEqual(['namespaces', 'pods']);
  expect(named({ apiGroup: 'coordination.k8s.io' })).toEqual(['leases']);
  expect(named({ apiGroup: 'none' })).toEqual([]);
  expect(named({ verbs: 'list,watch' })).toHaveLength(3);
  expect(named({ verbs: 'list,fly' })).toEqual([]);
});
