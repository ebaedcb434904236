import { beforeEach, describe, expect, it } from 'vitest';
import type { NetworkPolicy, Pod, PodAddress, PodAddressSlice } from '../../api/generated/types.ts';
import { createFedSource } from '../../test/fakes/fed-source.ts';
import { type KnownPolicies, PolicyFeed } from './policy-feed.ts';

const policy = (name: string, spec = {}): NetworkPolicy => ({ metadata: { namespace: 'shop', name }, spec });
const address = (name: string, more: PodAddress = {}): PodAddress => ({
  ...{ name, uid: `uid-${name}`, labels: { app: name }, podIPs: [`10.42.1.${name.slice(1)}`], nodeName: 'other' },
  ...more,
});
const slice = (name: string, pods: PodAddress[], namespaceLabels = { team: 's' }): PodAddressSlice => ({
  ...{ metadata: { namespace: 'shop', name }, namespaceLabels, pods },
});
const pod = (name: string, app = name, annotations?: Record<string, string>): Pod => ({
  metadata: { namespace: 'shop', name, uid: `uid-${name}`, labels: { app }, ...(annotations && { annotations }) },
  spec: { containers: [{ name: 'c', ports: [{ name: 'web', protocol: 'TCP', containerPort: 80 }] }] },
});
const facts = (app: string) => ({ namespace: 'shop', labels: { app }, ports: [] });

const newSources = () => ({
  policies: createFedSource<NetworkPolicy>(),
  slices: createFedSource<PodAddressSlice>(),
  pods: createFedSource<Pod>(),
});
let sources = newSources();
let log: string[] = [];
let changes = 0;
let feed: PolicyFeed;

beforeEach(() => {
  [sources, log, changes] = [newSources(), [], 0];
  feed = new PolicyFeed({
    ...{ nodeName: 'here', ...sources },
    table: {
      setPolicy: (key, value) => log.push(`policy ${key}${value ? '' : ' gone'}`),
      setPeer: (key, value) =>
        log.push(
          value
            ? `peer ${key}: ${value.labels.app} of ${value.namespaceLabels.team ?? 'no team'} at ${value.addresses.join()}${value.ports.map((port) => ` ${port.name}`).join('')}`
            : `peer ${key} gone`,
        ),
      setLocal: (at, value) => log.push(`local ${at}: ${value === null ? 'gone' : (value?.labels.app ?? 'unknown')}`),
    },
    changed: () => void changes++,
  });
  feed.follow();
});
const take = (): string[] => log.splice(0);

describe('before the server has told all policies', () => {
  it('waits with what informers tell, and tells all of it then', () => {
    sources.policies.set(policy('p'));
    sources.slices.set(slice('s', [address('p1')]));
    sources.pods.set(pod('p9', 'new'));
    feed.found([{ address: '10.42.0.9', uid: 'uid-p9' }]);
    expect(take()).toEqual(['local 10.42.0.9: unknown', 'peer here 10.42.0.9 gone']);
    feed.synced();
    expect(take()).toEqual([
      'policy shop/p',
      'peer uid-p1: p1 of s at 10.42.1.1',
      'local 10.42.0.9: new',
      'peer here 10.42.0.9: new of s at 10.42.0.9 web',
    ]);
    expect(changes).toBe(1);
  });

  it('goes by what an agent before knew, and drops of it what is not there any more', () => {
    const kept: KnownPolicies = {
      policies: [policy('old'), policy('p')],
      slices: [slice('s', [address('p1')]), slice('t', [address('p2')])],
      pods: [['uid-p9', facts('kept')]],
    };
    feed.found([{ address: '10.42.0.9', uid: 'uid-p9' }]);
    take();
    feed.useKept(kept);
    const local = ['local 10.42.0.9: kept', 'peer here 10.42.0.9: kept of s at 10.42.0.9'];
    const peers = ['peer uid-p1: p1 of s at 10.42.1.1', 'peer uid-p2: p2 of s at 10.42.1.2'];
    expect(take()).toEqual(['policy shop/old', 'policy shop/p', ...local, ...peers, ...local]);
    expect(feed.known()).toEqual(kept);
    sources.policies.set(policy('p'));
    sources.slices.set(slice('s', [address('p1')]));
    sources.pods.set(pod('p9', 'now'));
    expect(take()).toEqual([]);
    feed.synced();
    const told = take();
    expect(told).toContain('policy shop/old gone');
    expect(told).not.toContain('policy shop/p gone');
    expect(told.filter((line) => line.includes('uid-p1')).at(-1)).toBe('peer uid-p1: p1 of s at 10.42.1.1');
    expect(told.filter((line) => line.includes('uid-p2')).at(-1)).toBe('peer uid-p2 gone');
    expect(told.filter((line) => line.startsWith('local')).at(-1)).toBe('local 10.42.0.9: now');
  });
});

describe('afterwards', () => {
  beforeEach(() => {
    feed.synced();
    take();
  });

  it('tells each policy', () => {
    sources.policies.set(policy('p'));
    sources.policies.set(policy('p', { podSelector: {} }));
    sources.policies.delete(policy('p'));
    expect(take()).toEqual(['policy shop/p', 'policy shop/p', 'policy shop/p gone']);
  });

  it('tells of a slice the pods that have changed', () => {
    sources.slices.set(slice('s', [address('p1'), address('p2')]));
    expect(take()).toHaveLength(2);
    const ports = [{ name: 'dns', protocol: 'UDP', containerPort: 53 }];
    sources.slices.set(slice('s', [address('p1'), address('p2', { ports })]));
    expect(take()).toEqual(['peer uid-p2: p2 of s at 10.42.1.2 dns']);
    sources.slices.set(slice('s', [address('p1')]));
    expect(take()).toEqual(['peer uid-p2 gone']);
    sources.slices.set(slice('s', [address('p1')], { team: 't' }));
    expect(take()).toEqual(['peer uid-p1: p1 of t at 10.42.1.1']);
    sources.slices.delete(slice('s', []));
    expect(take()).toEqual(['peer uid-p1 gone']);
  });

  it('keeps a pod that moves from slice to slice', () => {
    sources.slices.set(slice('s', [address('p1')]));
    sources.slices.set(slice('t', [address('p1')]));
    take();
    sources.slices.set(slice('s', []));
    expect(take()).toEqual([]);
    sources.slices.set(slice('t', []));
    expect(take()).toEqual(['peer uid-p1 gone']);
  });

  it('knows pods of its own node before a slice names them, follows their labels, and forgets them with their links', () => {
    feed.admit('10.42.0.5', 'uid-p5', facts('p5'));
    expect(take()).toEqual(['local 10.42.0.5: p5', 'peer here 10.42.0.5: p5 of no team at 10.42.0.5']);
    sources.slices.set(slice('s', [address('p5', { nodeName: 'here', podIPs: ['10.42.0.5'], labels: { app: 'late' } })]));
    expect(take()).toEqual(['local 10.42.0.5: p5', 'peer here 10.42.0.5: p5 of s at 10.42.0.5']);
    sources.pods.set(pod('p5', 'other'));
    expect(take()).toEqual(['local 10.42.0.5: other', 'peer here 10.42.0.5: other of s at 10.42.0.5 web']);
    sources.pods.set({ ...pod('p5', 'other'), status: { phase: 'Running' } });
    expect(take()).toEqual([]);
    sources.pods.delete(pod('p5'));
    feed.found([{ address: '10.42.0.5', uid: 'uid-p5' }]);
    expect(take()).toEqual([]);
    expect(feed.known().pods.map(([uid]) => uid)).toEqual(['uid-p5']);
    feed.left('10.42.0.5');
    expect(take()).toEqual(['local 10.42.0.5: gone', 'peer here 10.42.0.5 gone']);
    feed.left('10.42.0.5');
    expect(take()).toEqual([]);
    expect(feed.known().pods).toEqual([]);
  });

  it('has newer labels from the server than those that a pod was started with', () => {
    sources.pods.set(pod('p5', 'new'));
    feed.admit('10.42.0.5', 'uid-p5', facts('old'));
    expect(take()[0]).toBe('local 10.42.0.5: new');
  });

  it('knows a static pod by its mirror', () => {
    feed.found([{ address: '10.42.0.5', uid: 'static' }]);
    expect(take()[0]).toBe('local 10.42.0.5: unknown');
    sources.pods.set(pod('p5', 'mirror', { 'kubernetes.io/config.mirror': 'static' }));
    expect(take()[0]).toBe('local 10.42.0.5: mirror');
  });
});
