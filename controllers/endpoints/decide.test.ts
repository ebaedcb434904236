import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoints, Pod, Service } from '../../api/generated/types.ts';
import { podOf, podRanges, serviceOf } from '../endpoint-slice/test-services.ts';
import { decideEndpoints, mostAddresses } from './decide.ts';

const decide = (pods: readonly Pod[], before?: Endpoints, service: Service = serviceOf()): Endpoints | undefined =>
  decideEndpoints({ service, pods, before, rangesOf: () => podRanges });

describe('the endpoints of a service', () => {
  it('have the name of the service, the pods that serve, and those that do not', () => {
    expect(decide([podOf('p1'), podOf('p2', { ready: false }), podOf('p3', { leaving: true })])).toEqual({
      metadata: {
        name: 'web',
        namespace: 'default',
        labels: { team: 'a', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
      },
      subsets: [
        {
          addresses: [{ ip: '10.42.0.1', nodeName: 'n1', targetRef: expect.objectContaining({ name: 'p1', uid: 'uid-p1' }) }],
          notReadyAddresses: [{ ip: '10.42.0.2', nodeName: 'n1', targetRef: expect.objectContaining({ name: 'p2' }) }],
          ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        },
      ],
    });
  });

  it('have all pods where what is not ready is published', () => {
    const pods = [podOf('p1', { ready: false }), podOf('p2', { leaving: true })];
    const [subset] = decide(pods, undefined, serviceOf({ publishNotReadyAddresses: true }))?.subsets ?? [];
    expect(subset?.addresses).toHaveLength(2);
    expect(subset).not.toHaveProperty('notReadyAddresses');
  });

  it('have no ports for a headless service without any, and the names of its pods', () => {
    const service = serviceOf({ clusterIP: 'None', ports: [] });
    const next = decide([podOf('p1', { spec: { hostname: 'db-0', subdomain: 'web' } })], undefined, service);
    expect(next?.subsets).toEqual([{ addresses: [expect.objectContaining({ hostname: 'db-0' })] }]);
    expect(next?.metadata?.labels).toHaveProperty(['service.kubernetes.io/headless'], '');
  });

  it('leave out a pod that has no port of the name', () => {
    const service = serviceOf({ ports: [{ port: 80, targetPort: { type: 1, strVal: 'web' } }] });
    expect(decide([podOf('p1')], undefined, service)?.subsets).toEqual([]);
  });

  it('have the first 1000 that serve, and say that there are more', () => {
    const pods = Array.from({ length: 1100 }, (_, i) => podOf(`p${i}`, { ready: i >= 50 }));
    const next = decide(pods);
    const [{ addresses = [], notReadyAddresses = [] } = {}] = next?.subsets ?? [];
    expect([addresses.length, notReadyAddresses.length]).toEqual([mostAddresses, 0]);
    expect(next?.metadata?.annotations).toEqual({ 'endpoints.kubernetes.io/over-capacity': 'truncated' });
    const fewer = decide(pods.slice(0, 900), next);
    expect(fewer?.metadata).not.toHaveProperty('annotations');
  });

  it('keep the annotations of others, and are written again when a label is gone', () => {
    const before = decide([podOf('p1')])!;
    expect(decide([podOf('p1')], before)).toBeUndefined();
    const broken: Endpoints = { ...before, metadata: { ...before.metadata, labels: {}, annotations: { a: 'b' } } };
    expect(decide([podOf('p1')], broken)?.metadata).toMatchObject({ labels: { team: 'a' }, annotations: { a: 'b' } });
  });

  it('are equal whatever the order of the pods, and settle in one look', () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(60), { maxLength: 40 }),
        fc.array(fc.boolean(), { minLength: 61, maxLength: 61 }),
        (at, ready) => {
          const pods = at.map((i) => podOf(`p${i}`, { ready: ready[i]! }));
          const one = decide(pods)!;
          expect(decide(pods.toReversed(), one)).toBeUndefined();
          const names = (one.subsets ?? []).flatMap(({ addresses = [], notReadyAddresses = [] }) => [
            ...addresses.map(({ targetRef }) => [targetRef?.name, true]),
            ...notReadyAddresses.map(({ targetRef }) => [targetRef?.name, false]),
          ]);
          expect(names.toSorted()).toEqual(at.map((i) => [`p${i}`, ready[i]]).toSorted());
        },
      ),
    ));
});
