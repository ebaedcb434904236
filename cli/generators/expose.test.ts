import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { checkExposable, type ExposeFlags, exposedService } from './expose.ts';

const containers = [
  {
    name: 'c',
    ports: [
      { containerPort: 80, protocol: 'TCP' },
      { containerPort: 53, protocol: 'UDP' },
    ],
  },
];
const deployment = {
  metadata: { name: 'web', labels: { team: 'a' } },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { spec: { containers } } },
};
const of = (kind: 'Pod' | 'Service' | 'Deployment' | 'ReplicationController', object: JsonObject, flags: ExposeFlags = {}) =>
  exposedService(kindNamed(kind), object, flags);

describe('a service that expose makes', () => {
  it('has the labels, the selector and the ports of a Deployment', () => {
    expect(of('Deployment', deployment)).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', labels: { team: 'a' } },
      spec: {
        selector: { app: 'web' },
        ports: [
          { name: 'port-1', port: 80, protocol: 'TCP', targetPort: 80 },
          { name: 'port-2', port: 53, protocol: 'UDP', targetPort: 53 },
        ],
      },
    });
  });

  it.each<[string, ExposeFlags, object]>([
    [
      'one port without a name, by the protocol of the container',
      { port: '53' },
      { ports: [{ port: 53, protocol: 'UDP', targetPort: 53 }] },
    ],
    ['another target', { port: '8080', targetPort: 'web' }, { ports: [{ port: 8080, protocol: 'TCP', targetPort: 'web' }] }],
    ['another protocol', { port: '80', protocol: 'UDP' }, { ports: [{ port: 80, protocol: 'UDP', targetPort: 80 }] }],
    ['another selector', { selector: 'a=b,c=d' }, { selector: { a: 'b', c: 'd' } }],
    [
      'what else is said',
      {
        type: 'LoadBalancer',
        clusterIp: 'None',
        externalIp: '192.0.2.1,192.0.2.2',
        loadBalancerIp: '192.0.2.9',
        sessionAffinity: 'ClientIP',
      },
      {
        type: 'LoadBalancer',
        clusterIP: 'None',
        externalIPs: ['192.0.2.1', '192.0.2.2'],
        loadBalancerIP: '192.0.2.9',
        sessionAffinity: 'ClientIP',
      },
    ],
  ])('has %s', (_title, flags, spec) => expect(of('Deployment', deployment, flags)).toMatchObject({ spec }));

  it('finds the pods of a pod, a service and a replication controller', () => {
    const pod = { metadata: { name: 'p', labels: { a: 'b' } }, spec: { containers } };
    expect(of('Pod', pod, { name: 'x', labels: 'l=m' })).toMatchObject({
      metadata: { name: 'x', labels: { l: 'm' } },
      spec: { selector: { a: 'b' } },
    });
    const service = { metadata: { name: 's' }, spec: { selector: { a: 'b' }, ports: [{ port: 443, protocol: 'TCP' }] } };
    expect(of('Service', service, { targetPort: '8443' })).toMatchObject({ spec: { ports: [{ port: 443, targetPort: 8443 }] } });
    expect(of('ReplicationController', service, { port: '1' })).toMatchObject({ spec: { selector: { a: 'b' } } });
  });

  const bare = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }] } };
  it.each<[string, () => unknown, string]>([
    ['a pod without labels', () => of('Pod', bare), 'the pod has no labels and cannot be exposed: give --selector'],
    ['a service without a selector', () => of('Service', bare), 'it has no selector: give --selector'],
    [
      'what has no port',
      () => of('Pod', bare, { selector: 'a=b' }),
      "couldn't find port via --port flag or introspection: give --port",
    ],
    ['a port that is none', () => of('Deployment', deployment, { port: '0' }), '--port'],
    [
      'a target that is none',
      () => of('Deployment', deployment, { targetPort: 'A b' }),
      '--target-port: "A b" is neither the number nor the name of a port',
    ],
    [
      'a selector with expressions',
      () => of('Deployment', { ...deployment, spec: { selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } } }),
      'its selector has expressions, and that of a service has labels alone: give --selector',
    ],
    ['a kind without pods', () => checkExposable(kindNamed('ConfigMap')), 'cannot expose a configmap'],
  ])('is refused for %s', (_title, make, why) => expect(make).toThrow(why));
});
