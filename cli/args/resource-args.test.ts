import { describe, expect, it } from 'vitest';
import { kinds } from '../../api/kinds/index.ts';
import { parsePodArgument, parseResourceArguments } from './resource-args.ts';

const plain = (words: string[]) => parseResourceArguments(words).map(({ kind, names }) => [kind.kind, ...names]);

const whatUsersRun = kinds.filter(({ categories }) => categories?.includes('all')).map(({ kind }) => [kind]);

describe('resource arguments', () => {
  it.each([
    ['a plural noun', ['pods'], [['Pod']]],
    ['a short name with names', ['po', 'web', 'db'], [['Pod', 'web', 'db']]],
    ['several nouns', ['pods,nodes'], [['Pod'], ['Node']]],
    [
      'slashed names of several kinds',
      ['pod/web', 'node/n1'],
      [
        ['Pod', 'web'],
        ['Node', 'n1'],
      ],
    ],
    [
      'names of one kind, together',
      ['pod/web', 'po/db', 'node/n1'],
      [
        ['Pod', 'web', 'db'],
        ['Node', 'n1'],
      ],
    ],
    ['what a user runs', ['all'], whatUsersRun],
    ['a group beside its own kind, once', ['all,pods,nodes'], [...whatUsersRun, ['Node']]],
    ['a kind in its own spelling', ['ConfigMap'], [['ConfigMap']]],
    ['a noun with its version', ['pods.v1'], [['Pod']]],
    ['a noun with version and the group without a name', ['pods.v1.'], [['Pod']]],
    ['a noun with its group', ['leases.coordination.k8s.io'], [['Lease']]],
    ['a noun with version and group', ['leases.v1.coordination.k8s.io'], [['Lease']]],
  ])('reads %s', (_title, words, expected) => expect(plain(words)).toEqual(expected));

  it.each([
    ['an unknown noun, with what lists those there are', ['things'], /no resource type "things"; "berth api-resources" lists/],
    ['a noun of a group that has none', ['pods.apps'], /no resource type "pods.apps"/],
    ['a noun of a version that is not there', ['pods.v2'], /no resource type "pods.v2"/],
    ['a slip, with what was meant', ['podz'], /no resource type "podz"; did you mean "pods"\?/],
    ['names for all', ['all', 'web'], /one resource type only/],
    ['names for several nouns', ['pods,nodes', 'web'], /one resource type only/],
    ['slashed and plain words together', ['pod/web', 'db'], /"db" is not TYPE\/NAME/],
    ['half a slashed name', ['pod/'], /not TYPE\/NAME/],
    ['nothing', [], /name a resource type/],
  ])('refuses %s', (_title, words, message) => expect(() => plain(words)).toThrow(message));

  it('takes a pod with and without its noun, and nothing else', () => {
    expect(parsePodArgument('web')).toBe('web');
    expect(parsePodArgument('po/web')).toBe('web');
    expect(() => parsePodArgument('node/n1')).toThrow('"node/n1" is not a pod');
  });
});
