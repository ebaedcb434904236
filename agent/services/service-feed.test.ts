import { beforeEach, describe, expect, it } from 'vitest';
import type { EndpointSlice, Pod, Service } from '../../api/generated/types.ts';
import { createFedSource } from '../../test/fakes/fed-source.ts';
import type { NamesChange } from '../names/changes.ts';
import { namespaceIndex, ServiceFeed, sliceIndex } from './service-feed.ts';

const service = (name: string): Service => ({
  metadata: { namespace: 'a', name },
  spec: { clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9'], ports: [{ protocol: 'TCP', port: 80 }] },
});
const headless = (name: string): Service => ({
  metadata: { namespace: 'a', name },
  spec: { clusterIP: 'None', clusterIPs: ['None'], ports: [] },
});
const slice = (name: string, owner: string | undefined, address = '10.42.0.2'): EndpointSlice => ({
  metadata: { namespace: 'a', name, ...(owner && { labels: { 'kubernetes.io/service-name': owner } }) },
  ...{ addressType: 'IPv4', endpoints: [{ addresses: [address] }], ports: [{ protocol: 'TCP', port: 8080 }] },
});
const pod = (status: Pod['status'], spec: Pod['spec'] = {}): Pod => ({ metadata: { namespace: 'a', name: 'p' }, spec, status });

let log: string[] = [];
let [services, slices, pods] = [
  createFedSource<Service>(namespaceIndex),
  createFedSource<EndpointSlice>(sliceIndex),
  createFedSource<Pod>(),
];
let feed: ServiceFeed;
const shown = (change: NamesChange): string => {
  if (change.kind === 'snapshot')
    return `names: all of ${[...change.services, ...change.slices, ...change.pods].map(({ name }) => name).join()}`;
  const { kind, ...what } = change;
  return `names: ${kind} ${Object.values(what)[0]?.name}`;
};

beforeEach(() => {
  log = [];
  [services, slices, pods] = [
    createFedSource<Service>(namespaceIndex),
    createFedSource<EndpointSlice>(sliceIndex),
    createFedSource<Pod>(),
  ];
  feed = new ServiceFeed({
    ...{ services, slices, pods },
    setTable: (key, entry) => {
      const endpoints = entry?.ports.flatMap((port) => port.endpoints.map(({ address }) => address));
      log.push(`table: ${key} ${endpoints ? `to ${endpoints.join() || 'nothing'}` : 'gone'}`);
    },
    applyNames: (changes) => log.push(...changes.map(shown)),
    changed: () => log.push('changed'),
  });
});
const take = (): string[] => log.splice(0).filter((line) => line !== 'changed');

describe('ServiceFeed', () => {
  it('tells each change of a Service and its slices in order, and asks to keep it', () => {
    feed.follow();
    services.set(service('web'));
    expect(log.splice(0)).toEqual(['table: a/web to nothing', 'changed', 'names: set-service web']);
    slices.set(slice('web-1', 'web'));
    slices.set(slice('web-1', 'web', '10.42.0.3'));
    slices.delete(slice('web-1', 'web'));
    services.delete(service('web'));
    expect(take()).toEqual([
      ...['table: a/web to 10.42.0.2', 'table: a/web to 10.42.0.3'],
      ...['table: a/web to nothing', 'table: a/web gone', 'names: delete-service web'],
    ]);
  });

  it('tells the resolver the slices of headless Services alone, whichever comes first', () => {
    slices.set(slice('db-1', 'db'));
    feed.follow();
    take();
    services.set(headless('db'));
    slices.set(slice('db-2', 'db'));
    slices.delete(slice('db-2', 'db'));
    expect(take().filter((line) => line.startsWith('names'))).toEqual([
      ...['names: set-service db', 'names: set-slice db-1', 'names: set-slice db-2', 'names: delete-slice db-2'],
    ]);
    expect(feed.snapshot().slices.map(({ name }) => name)).toEqual(['db-1']);
    services.set(service('db'));
    slices.set(slice('db-1', 'db', '10.42.0.8'));
    expect(feed.snapshot().slices).toEqual([]);
    services.set(headless('db'));
    services.set(headless('db'));
    services.delete(headless('db'));
    slices.delete(slice('db-1', 'db'));
    expect(take().filter((line) => line.startsWith('names'))).toEqual([
      ...['names: set-service db', 'names: delete-slice db-1', 'names: set-service db', 'names: set-slice db-1'],
      ...['names: set-service db', 'names: delete-service db', 'names: delete-slice db-1'],
    ]);
  });

  it('moves a slice that another Service has now, and drops one that belongs to none', () => {
    for (const name of ['web', 'db']) services.set(headless(name));
    services.set(service('other'));
    slices.set(slice('s', 'web'));
    feed.follow();
    take();
    slices.set(slice('s', 'db'));
    expect(take()).toEqual(['table: a/db gone', 'table: a/web gone', 'names: set-slice s']);
    slices.set(slice('s', 'other'));
    expect(take()).toEqual(['table: a/other to 10.42.0.2', 'table: a/db gone', 'names: delete-slice s']);
    slices.set(slice('s', 'db'));
    slices.set(slice('s', undefined));
    expect(take().filter((line) => line.startsWith('names'))).toEqual(['names: set-slice s', 'names: delete-slice s']);
  });

  it('knows pods by their addresses until they finish', () => {
    feed.follow();
    pods.set(pod({ phase: 'Pending' }));
    expect(take()).toEqual(['names: delete-pod p']);
    pods.set(pod({ phase: 'Running', podIP: '10.42.0.2' }));
    pods.set(pod({ phase: 'Running', podIP: '10.42.0.2', message: 'another' }));
    expect(take()).toEqual(['names: set-pod p']);
    pods.set(pod({ phase: 'Succeeded', podIP: '10.42.0.2' }));
    pods.delete(pod({}));
    expect(take()).toEqual(['names: delete-pod p', 'names: delete-pod p']);
    pods.set(pod({ phase: 'Running', podIP: '10.0.0.1' }, { hostNetwork: true }));
    expect([take(), feed.snapshot().pods]).toEqual([['names: delete-pod p'], []]);
  });

  it('says which Services a namespace has', () => {
    services.set(service('web'));
    services.set({ metadata: { namespace: 'b', name: 'other' } });
    expect(feed.servicesIn('a')).toEqual([service('web')]);
    expect(feed.servicesIn('none')).toEqual([]);
  });

  it('is silent after it was left', () => {
    feed.follow()();
    services.set(service('web'));
    slices.set(slice('s', 'web'));
    pods.set(pod({ phase: 'Running', podIP: '10.42.0.2' }));
    expect(log).toEqual([]);
  });
});

describe('ServiceFeed with what was kept', () => {
  const kept = { services: ['web', 'old'].map(service), slices: [slice('web-1', 'web'), slice('old-1', 'old', '10.42.0.9')] };
  beforeEach(() => {
    feed.follow();
    feed.useKept(kept);
  });

  it('begins with it', () => {
    expect(take()).toEqual(['table: a/web to 10.42.0.2', 'table: a/old to 10.42.0.9', 'names: all of web,old']);
    expect(feed.known()).toEqual(kept);
    services.set(service('new'));
    expect(feed.servicesIn('a')).toEqual(kept.services);
    expect(feed.servicesIn('b')).toEqual([]);
  });

  it('waits for both informers: a Service that comes before its slices keeps its endpoints', () => {
    take();
    services.set(service('web'));
    services.delete(service('web'));
    services.set(service('web'));
    expect(log).toEqual([]);
    expect(feed.known()).toEqual(kept);
    slices.set(slice('web-2', 'web', '10.42.0.7'));
    services.set(service('new'));
    feed.synced();
    expect(take()).toEqual([
      ...['table: a/web to 10.42.0.7', 'table: a/old gone', 'table: a/new to nothing', 'names: all of web,new'],
    ]);
    services.set(service('next'));
    expect(take()).toEqual(['table: a/next to nothing', 'names: set-service next']);
    feed.synced();
    expect(log).toEqual([]);
  });
});
