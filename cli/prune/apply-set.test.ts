import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { applySetId, mergeContents, parentMetadata, readContents, type SetParent } from './apply-set.ts';
import { readPruneFlags } from './prune-flags.ts';

const parent: SetParent = { kind: kindNamed('Secret'), namespace: 'shop', name: 'web' };
const [configMap, deployment] = [kindNamed('ConfigMap'), kindNamed('Deployment')];
const live = (change: { labels?: JsonObject; annotations?: JsonObject } = {}): JsonObject => {
  const { labels, annotations } = parentMetadata(parent, { kinds: [deployment, configMap], namespaces: ['shop', 'b', 'a'] }) as {
    labels: JsonObject;
    annotations: JsonObject;
  };
  return { metadata: { labels: { ...labels, ...change.labels }, annotations: { ...annotations, ...change.annotations } } };
};

it('computes the id of a set as Kubernetes does: of name, namespace, kind and group', () => {
  const digest = createHash('sha256').update('web.shop.Secret.').digest('base64');
  const urlSafe = digest.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  expect(applySetId(parent)).toBe(`applyset-${urlSafe}-v1`);
  expect(applySetId(parent)).toMatch(/^applyset-[\w-]{43}-v1$/);
});

it('writes what a set holds in order, without the namespace of its parent, and reads it again', () => {
  expect(parentMetadata(parent, { kinds: [deployment, configMap], namespaces: ['shop', 'b', 'a'] })).toEqual({
    labels: { 'applyset.kubernetes.io/id': applySetId(parent) },
    annotations: {
      'applyset.kubernetes.io/tooling': 'berth/v1',
      'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap,Deployment.apps',
      'applyset.kubernetes.io/additional-namespaces': 'a,b',
    },
  });
  const read = readContents(parent, live());
  expect(read).toEqual({ kinds: [configMap, deployment], namespaces: ['a', 'b'] });
  expect(mergeContents(read, { kinds: [deployment], namespaces: ['c'] })).toEqual({
    kinds: [configMap, deployment],
    namespaces: ['a', 'b', 'c'],
  });
});

it.each<[string, JsonObject, string]>([
  ['keeps no set', { metadata: {} }, 'exists and keeps no set'],
  [
    'keeps the set of another tool',
    live({ annotations: { 'applyset.kubernetes.io/tooling': 'kubectl/v1.27' } }),
    'keeps a set of kubectl/v1.27, which only that tool changes',
  ],
  ['has the id of another', live({ labels: { 'applyset.kubernetes.io/id': 'x' } }), 'it was copied or changed'],
  [
    'names a kind that is not there',
    live({ annotations: { 'applyset.kubernetes.io/contains-group-kinds': 'Toy.example.com' } }),
    'names the kind Toy.example.com',
  ],
])('refuses a parent that %s', (_title, object, message) => expect(() => readContents(parent, object)).toThrow(message));

it('reads which objects may be pruned', () => {
  expect(readPruneFlags({ selector: 'a=b' })).toBeUndefined();
  expect(readPruneFlags({ prune: true, applyset: 'configmaps/web' })).toEqual({
    by: 'set',
    parent: { kind: configMap, name: 'web' },
  });
  expect(readPruneFlags({ prune: true, all: true, pruneAllowlist: ['core/v1/ConfigMap', 'apps/v1/Deployment'] })).toEqual({
    by: 'labels',
    selector: undefined,
    kinds: [configMap, deployment],
    kindsGiven: true,
  });
  const usual = readPruneFlags({ prune: true, selector: 'a=b' });
  expect(usual?.by === 'labels' && usual.kinds.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['Pod', 'Deployment', 'Namespace', 'PersistentVolume']),
  );
});

it.each([
  [{ prune: true }, 'say which objects may be pruned'],
  [{ prune: true, all: true, selector: 'a=b' }, '--all and --selector cannot'],
  [{ all: true }, '--all goes with --prune'],
  [{ pruneAllowlist: ['core/v1/Pod'] }, '--prune-allowlist goes with --prune'],
  [{ applyset: 'x' }, '--applyset goes with --prune'],
  [{ prune: true, applyset: 'x', selector: 'a=b' }, '--selector does not go with it'],
  [{ prune: true, applyset: 'pod/x' }, 'not "pod/x"'],
  [{ prune: true, applyset: 'secret/' }, 'not "secret/"'],
  [{ prune: true, all: true, pruneAllowlist: ['v1/Pod'] }, 'not "v1/Pod"'],
  [{ prune: true, all: true, pruneAllowlist: ['core/v1/Nothing'] }, 'Berth has no kind "core/v1/Nothing"'],
])('refuses the flags %j', (flags, message) => expect(() => readPruneFlags(flags)).toThrow(message));
