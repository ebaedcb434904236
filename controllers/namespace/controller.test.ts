import { expect, it } from 'vitest';
import type { EmptyNamespaceResponse, Namespace } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createNamespaces, type NamespacesOptions } from './controller.ts';

/** A controller of one empty namespace, with a condition of before if it was not always empty; and what it lets go. */
function createController(conditions: object[] = [], extensions: EmptyNamespaceResponse = {}) {
  const metadata = { name: 'a', uid: 'u', deletionTimestamp: { seconds: 1 } };
  const spec = { finalizers: ['kubernetes', 'example.com/early'] };
  const namespace: Namespace = { metadata: { ...metadata, resourceVersion: '5' }, spec, status: { conditions } };
  const finalized: Namespace[] = [];
  const namespaces = {
    get: async () => namespace,
    patch: async () => ({
      metadata: { ...metadata, resourceVersion: '7' },
      spec: { finalizers: ['kubernetes', 'example.com/late'] },
    }),
    finalize: async (sent: Namespace) => void finalized.push(sent),
  };
  const controller = createNamespaces({
    client: { namespaces, objects: { kinds: async () => [] }, extensions: { emptyNamespace: async () => extensions } },
    namespaces: { lister: { get: () => namespace } },
    contents: [],
    clock: createFakeClock(),
    logger: createFakeLogger(),
  } as unknown as NamespacesOptions);
  return { finalized, reconcile: () => controller.reconcile('a', new AbortController().signal) };
}

it('lets go of the very version whose finalizers it has read, so that none that came since is lost', async () => {
  const { finalized, reconcile } = createController();
  await reconcile();
  expect(finalized).toEqual([
    { metadata: { name: 'a', uid: 'u', resourceVersion: '5' }, spec: { finalizers: ['example.com/early'] } },
  ]);
});

it('goes on from the version that its own report made', async () => {
  const { finalized, reconcile } = createController([{ type: 'NamespaceContentRemaining', status: 'True' }]);
  await reconcile();
  expect(finalized).toEqual([
    { metadata: { name: 'a', uid: 'u', resourceVersion: '7' }, spec: { finalizers: ['example.com/late'] } },
  ]);
});

it.each<EmptyNamespaceResponse>([
  { remains: [{ resource: 'flunders.example.com', count: 1 }] },
  { remains: [{ resource: 'flunders.example.com', failure: 'no answer within 10 s' }] },
  { undiscovered: [{ groupVersion: 'example.com/v1', message: 'its APIService is not available' }] },
])('keeps a namespace in which extension servers have, or may have, objects: %j', async (extensions) => {
  const { finalized, reconcile } = createController([], extensions);
  await reconcile();
  expect(finalized).toEqual([]);
});

it('looks into a namespace when its last object has gone, without reading the others at each deletion', () => {
  const left = new Set(['one', 'two']);
  let deleted: (object: object) => void = () => {};
  const informer = {
    addHandler: ({ onDelete }: { onDelete: typeof deleted }) => {
      deleted = onDelete;
      return () => {};
    },
    lister: {
      isInIndex: (index: string, value: string) => index === 'namespace' && value === 'a' && left.size > 0,
      byIndex: () => {
        throw new Error('all objects of the namespace were read');
      },
    },
  };
  const kind = { kind: { namespaced: true }, informer };
  const namespace: Namespace = { metadata: { name: 'a', deletionTimestamp: { seconds: 1 } } };
  const { sources } = createNamespaces({
    namespaces: { lister: { get: () => namespace }, addHandler: () => () => {} },
    contents: Object.assign([kind], {
      follow: (come: (each: typeof kind) => void) => {
        come(kind);
        return () => {};
      },
    }),
    clock: createFakeClock(),
    logger: createFakeLogger(),
  } as unknown as NamespacesOptions);
  const woken: string[] = [];
  for (const source of sources) source.connect((key) => void woken.push(key));
  for (const name of ['one', 'two']) {
    left.delete(name);
    deleted({ metadata: { namespace: 'a', name } });
    expect(woken).toEqual(left.size === 0 ? ['a'] : []);
  }
});
