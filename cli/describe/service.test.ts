import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Session } from '../session.ts';
import { describerOf } from './index.ts';
import type { Tree } from './json.ts';
import { createLines } from './lines.ts';

/** The description of an object, where its service has these slices. */
async function described(kind: string, object: Tree, slices: readonly JsonObject[] = []): Promise<string> {
  const objects = { list: async () => ({ metadata: {}, items: slices }) };
  const context = {
    session: { client: { objects } } as unknown as Session,
    now: new Date(0),
    logTails: { read: async () => [] },
  };
  const lines = createLines();
  (await describerOf(kind)(object, context))(lines);
  return lines.text();
}

const metadata = { name: 'web', namespace: 'default' };
const endpoint = (ip: string, ready: boolean, more: JsonObject = {}): JsonObject => ({
  addresses: [ip],
  conditions: { ready, serving: ready, terminating: false },
  ...more,
});

it('a service shows its addresses, and behind each port what is ready', async () => {
  const spec = {
    type: 'NodePort',
    clusterIP: '10.43.0.20',
    clusterIPs: ['10.43.0.20'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    selector: { app: 'web' },
    ports: [
      { name: 'http', port: 80, targetPort: 'web', protocol: 'TCP', nodePort: 30080 },
      { name: 'dns', port: 53, targetPort: 53, protocol: 'UDP' },
    ],
    sessionAffinity: 'None',
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
  };
  const slices = [
    {
      endpoints: [1, 2, 3, 4].map((i) => endpoint(`10.42.0.${i}`, true)).concat(endpoint('10.42.0.9', false)),
      ports: [{ name: 'http', port: 8080 }],
    },
    { endpoints: [endpoint('fd00::1', true)], ports: [{ name: 'dns', port: 53 }] },
  ];
  expect(await described('Service', { metadata, spec }, slices)).toBe(`Name:                     web
Namespace:                default
Labels:                   <none>
Annotations:              <none>
Selector:                 app=web
Type:                     NodePort
IP Family Policy:         SingleStack
IP Families:              IPv4
IP:                       10.43.0.20
IPs:                      10.43.0.20
Port:                     http  80/TCP
TargetPort:               web/TCP
NodePort:                 http  30080/TCP
Endpoints:                10.42.0.1:8080,10.42.0.2:8080,10.42.0.3:8080 + 1 more...
Port:                     dns  53/UDP
TargetPort:               53/UDP
Endpoints:                [fd00::1]:53
Session Affinity:         None
External Traffic Policy:  Cluster
Internal Traffic Policy:  Cluster
`);
});

it('a headless service without ports shows the addresses of its pods', async () => {
  const spec = { type: 'ClusterIP', clusterIP: 'None', selector: { app: 'web' }, sessionAffinity: 'None' };
  const text = await described('Service', { metadata, spec }, [{ endpoints: [endpoint('10.42.0.1', true)] }]);
  expect(text).toContain('Endpoints:         10.42.0.1\n');
  expect(text).toContain('IP:                None\n');
});

it('endpoints show what serves and what does not', async () => {
  const subsets = [{ addresses: [{ ip: '10.42.0.1' }, { ip: '10.42.0.2' }], ports: [{ port: 8080, protocol: 'TCP' }] }];
  expect(await described('Endpoints', { metadata, subsets })).toContain(`Subsets:
  Addresses:          10.42.0.1,10.42.0.2
  NotReadyAddresses:  <none>
  Ports:
    Name     Port  Protocol
    ----     ----  --------
    <unset>  8080  TCP
`);
});

it('a slice shows each endpoint, where it is, and that it leaves', async () => {
  const leaving = {
    addresses: ['10.42.0.2'],
    conditions: { ready: false, serving: true, terminating: true },
    targetRef: { kind: 'Pod', name: 'web-2' },
  };
  const slice = { metadata, addressType: 'IPv4', ports: [{ name: 'http', port: 8080, protocol: 'TCP' }], endpoints: [leaving] };
  expect(await described('EndpointSlice', slice)).toContain(`AddressType:  IPv4
Ports:
  Name  Port  Protocol
  ----  ----  --------
  http  8080  TCP
Endpoints:
  - Addresses:  10.42.0.2
    Ready:      false (terminating, still serving)
    Hostname:   <unset>
    TargetRef:  Pod/web-2
    NodeName:   <unset>
    Zone:       <unset>
`);
  expect(await described('EndpointSlice', { metadata, addressType: 'IPv4' })).toContain('Endpoints:    <none>\n');
});
