import { expect, it } from 'vitest';
import type { KindStore } from '../registry/kind-store.ts';
import { isStale, mergedGroups } from './merged-groups.ts';
import { RemoteGroups } from './remote-groups.ts';

interface Service {
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum?: number;
  readonly versionPriority?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The groups of APIServices with a Service, which are available. */
function remoteOf(...services: Service[]): RemoteGroups {
  const entries = services.map(({ labels, ...spec }) => ({
    key: `apiregistration.k8s.io/apiservices/${spec.version}.${spec.group}`,
    object: { metadata: { labels }, spec: { ...spec, service: { namespace: 'a', name: 'b' } }, status: undefined },
  }));
  const cache = {
    decoder: { decode: ({ object }: (typeof entries)[number]) => object },
    attempt: (_: string, work: () => void) => work(),
    observe: ({ reset }: { reset(all: typeof entries): void }) => {
      reset(entries);
      return () => {};
    },
  };
  const groups = new RemoteGroups({ cache } as unknown as KindStore, new Set(['apps/v1']));
  groups.observe();
  return groups;
}
const resource = (name: string) => ({ name, singularName: '', namespaced: true, kind: 'Toy', verbs: ['get'] });
const served = new Map([
  ['', new Map([['v1', [resource('pods')]]])],
  ['apps', new Map([['v1', [resource('deployments')]]])],
  ['batch', new Map([['v1', [resource('jobs')]]])],
  ['toys.example.com', new Map([['v1', [resource('toys')]]])],
]);

it('is what the server serves while no extension server does', () => {
  expect(mergedGroups(served, remoteOf())).toBe(served);
});

it('puts groups where their priorities put them', () => {
  const remote = remoteOf(
    { group: 'low.example.com', version: 'v1', groupPriorityMinimum: 10 },
    { group: 'high.example.com', version: 'v1', groupPriorityMinimum: 17_600 },
    { group: 'b.example.com', version: 'v1', groupPriorityMinimum: 2_000 },
    { group: 'a.example.com', version: 'v1', groupPriorityMinimum: 2_000 },
  );
  expect([...mergedGroups(served, remote).keys()]).toEqual([
    ...['', 'apps', 'high.example.com', 'batch', 'a.example.com', 'b.example.com', 'toys.example.com', 'low.example.com'],
  ]);
});

it('puts versions where their priorities put them, equal ones by their names', () => {
  const of = (version: string, versionPriority: number) => ({ group: 'toys.example.com', version, versionPriority });
  const remote = remoteOf(of('v2', 10), of('v1alpha1', 20), of('v1beta1', 20), of('v3', 200));
  expect([...mergedGroups(served, remote).get('toys.example.com')!.keys()]).toEqual(['v3', 'v1', 'v1beta1', 'v1alpha1', 'v2']);
});

it('has no group of the program, and none that the server keeps itself, served by others', () => {
  const labels = { 'kube-aggregator.kubernetes.io/automanaged': 'true' };
  const remote = remoteOf({ group: 'apps', version: 'v1' }, { group: 'toys.example.com', version: 'v1', labels });
  expect(mergedGroups(served, remote)).toBe(served);
});

it('tells what a server said last, and whether that is old', () => {
  const remote = remoteOf({ group: 'a.example.com', version: 'v1' });
  const found = remote.find('a.example.com', 'v1')!;
  const resources = () => mergedGroups(served, remote).get('a.example.com')!.get('v1');
  expect([resources(), isStale(remote, 'a.example.com', 'v1')]).toEqual([[], true]);
  remote.note(found, [resource('flunders')]);
  expect([resources(), isStale(remote, 'a.example.com', 'v1')]).toEqual([[resource('flunders')], false]);
  remote.note(found, undefined);
  expect([resources(), isStale(remote, 'a.example.com', 'v1')]).toEqual([[resource('flunders')], true]);
  expect(isStale(remote, 'apps', 'v1')).toBe(false);
});
