import { expect, it } from 'vitest';
import { toJson } from '../../api/codec/json.ts';
import type { EndpointSlice, NetworkPolicy, Pod, ServiceSpec, ServiceStatus } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { answerOfService } from './service-answer.ts';
import { answerText } from './workload-report.ts';

const selector = { app: 'web', tier: 'front' };
const podOf = (
  name: string,
  {
    ready = true,
    labels = selector,
    port = 'web',
    status = {},
  }: { ready?: boolean; labels?: Record<string, string>; port?: string; status?: object } = {},
): Pod => ({
  metadata: { name, namespace: 'default', labels },
  spec: { nodeName: 'n1', containers: [{ name: 'c', ports: [{ name: port, containerPort: 80 }] }] },
  status: { phase: 'Running', podIP: '10.42.0.5', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }], ...status },
});
const crashing = {
  containerStatuses: [
    {
      name: 'c',
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1 } },
    },
  ],
};

interface Facts {
  readonly name?: string;
  readonly status?: ServiceStatus;
  readonly slices?: readonly EndpointSlice[];
}

function why(
  pods: readonly Pod[],
  spec: ServiceSpec = {},
  policies: readonly NetworkPolicy[] = [],
  { name = 'web', status = {}, slices = [] }: Facts = {},
): string {
  const ports = [{ port: 80, protocol: 'TCP', targetPort: { type: 1, strVal: 'web' } }];
  const service = {
    metadata: { name, namespace: 'default' },
    spec: { type: 'ClusterIP', selector, ports, ...spec },
    status,
  };
  const trees = pods.map((pod) => toJson(kindNamed('Pod'), pod));
  return answerText(answerOfService({ service, pods, trees, slices, policies, now: 0 }));
}

it('a service whose pods serve is well', () => {
  expect(why([podOf('a'), podOf('b')])).toBe('service default/web has endpoints: 2 of 2 pods with app=web,tier=front serve.\n');
});

it('a selector that matches nothing is said, with the pod that comes nearest', () => {
  expect(why([])).toContain('its selector matches no pod: app=web,tier=front\n  there are no pods in the namespace');
  const text = why([podOf('a', { labels: { app: 'web', tier: 'back' } }), podOf('b', { labels: { x: 'y' } })]);
  expect(text).toBe(`service default/web has no endpoints.

its selector matches no pod: app=web,tier=front
  pod a comes near, but has tier=back
  "berth get pods --show-labels" shows the labels of all
`);
  expect(why([podOf('a', { labels: { app: 'web' } })])).toContain('pod a comes near, but has no label tier');
});

it('says of a pod that is ready and no endpoint that its address is not reached', () => {
  const [listed, left] = [podOf('a'), podOf('b', { status: { podIP: '172.17.0.2' } })].map((pod, i) => ({
    ...pod,
    metadata: { ...pod.metadata, uid: `u${i}` },
  }));
  const slices = [{ endpoints: [{ targetRef: { uid: 'u0' } }] }];
  const text = why([listed!, left!], {}, [], { slices });
  expect(text).toContain('has endpoints, but not all is well: 1 of 2 pods with app=web,tier=front serve.');
  expect(text).toContain('one pod is ready, and no endpoint\n  b\n  b has the address 172.17.0.2 of its engine');
});

it('pods that are not ready are said with the reason', () => {
  expect(why([podOf('a', { ready: false, status: crashing }), podOf('b', { ready: false, status: crashing })])).toBe(
    `service default/web has no endpoint that serves: 0 of 2 pods with app=web,tier=front serve.

2 pods with container "c" that ended with exit code 1
  a, b
  "berth why pod/a" and "berth describe pod a" say more
`,
  );
  expect(why([podOf('a', { ready: false, status: crashing }), podOf('b')])).toContain(
    'has endpoints, but not all is well: 1 of 2',
  );
});

it('a port by a name that pods do not have is said, with those that they have', () => {
  expect(why([podOf('a', { port: 'http' }), podOf('b')])).toContain(
    'port 80/TCP leads to the port "web", which 1 of 2 pods do not have\n  a\n  they have "http"\n',
  );
});

it('a service whose ports no pod has has no endpoints', () => {
  const text = why([podOf('a', { port: 'http' }), podOf('b', { port: 'http' })]);
  expect(text).toMatch(/^service default\/web has no endpoints: none of 2 pods with app=web,tier=front has its port\.\n/);
  expect(text).toContain('leads to the port "web", which 2 of 2 pods do not have\n  a, b\n  they have "http"\n');
});

it('a port by a number that pods do not declare is a note, where they declare others', () => {
  const note = 'Note: port 80/TCP leads to port 9999 of the pods, which they do not declare; they declare 80.\n';
  const leadingTo = (intVal: number, protocol = 'TCP') => ({ ports: [{ port: 80, protocol, targetPort: { type: 0, intVal } }] });
  expect(why([podOf('a')], leadingTo(9999))).toBe(
    `service default/web has endpoints: 1 of 1 pods with app=web,tier=front serve.\n\n${note}`,
  );
  expect(why([podOf('a')], leadingTo(80))).not.toContain('Note');
  expect(why([podOf('a')], leadingTo(9999, 'UDP'))).not.toContain('Note');
  expect(why([podOf('a')], { ...leadingTo(9999), clusterIP: 'None' })).not.toContain('Note');
});

it('services without pods of their own say so', () => {
  expect(why([], { selector: {} })).toContain('has no selector: its endpoints are those that a user writes');
  expect(why([], { selector: {} }, [], { name: 'berth' })).toBe(
    'service default/berth stands for the API server, to which each agent leads the pods of its node, and has no endpoints.\n',
  );
  expect(why([], { type: 'ExternalName', externalName: 'example.com' })).toContain('stands for the name example.com');
});

it('pods on the way out and ended ones are not waited for', () => {
  const leaving = podOf('a');
  leaving.metadata = { ...leaving.metadata, deletionTimestamp: { seconds: 99, nanos: 0 } };
  expect(why([leaving, podOf('b'), podOf('c', { status: { phase: 'Succeeded' } })])).toBe(
    'service default/web has endpoints, but not all is well: 1 of 2 pods with app=web,tier=front serve.\n\n1 pod on the way out\n  a\n',
  );
});

it('a policy that closes the door of its pods is a note, whatever else is said', () => {
  const deny: NetworkPolicy = { metadata: { name: 'deny' }, spec: { podSelector: {}, policyTypes: ['Ingress'] } };
  const note = 'the network policy "deny" has no ingress rule, and no other policy allows any.\n';
  expect(why([podOf('a')], {}, [deny])).toMatch(/^service default\/web has endpoints: 1 of 1 .*\n\nNote: 1 of 1 pods accept no/);
  for (const pods of [[podOf('a')], [podOf('a', { ready: false })], [podOf('a', { port: 'http' }), podOf('b')]])
    expect(why(pods, {}, [deny])).toContain(note);
});

it('why a load balancer has no address, or another than it should have, is said', () => {
  const waiting = (message: string, ...ips: string[]): ServiceStatus => ({
    loadBalancer: { ingress: ips.map((ip) => ({ ip })) },
    conditions: [{ type: 'berth.io/LoadBalancerAddress', status: 'False', reason: 'AddressTaken', message }],
  });
  const balanced: ServiceSpec = { type: 'LoadBalancer' };
  expect(
    why([podOf('a')], balanced, [], { status: waiting('all are taken') }),
  ).toBe(`service default/web has endpoints, but not all is well: 1 of 1 pods with app=web,tier=front serve.

its EXTERNAL-IP is pending
  all are taken
`);
  expect(why([podOf('a')], balanced, [], { status: waiting('it keeps another', '192.0.2.1') })).toContain(
    'its EXTERNAL-IP is another than spec.loadBalancerIP\n  it keeps another',
  );
  expect(why([], { ...balanced, selector: {} }, [], { status: waiting('none') })).toContain('EXTERNAL-IP is pending\n  none');
  expect(why([], balanced)).toContain('the controller "load-balancer" has not given it one yet');
  expect(why([podOf('a')], { ...balanced, loadBalancerClass: 'example.com/lb' })).toContain('of its class, "example.com/lb"');
  expect(why([podOf('a')], balanced, [], { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } })).not.toContain(
    'EXTERNAL-IP',
  );
});
