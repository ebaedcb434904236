import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Session } from '../session.ts';
import { describerOf } from './index.ts';
import { createLines } from './lines.ts';

const asked: JsonObject[] = [];

/** The description of a policy, where its selector matches these pods. */
async function described(spec: JsonObject, pods: readonly JsonObject[] = []): Promise<string> {
  const list = async (kind: string, { namespace, labelSelector }: { namespace: string; labelSelector: string }) => {
    asked.push({ kind, namespace, labelSelector });
    return { metadata: {}, items: pods };
  };
  const context = {
    session: { client: { objects: { list } } } as unknown as Session,
    now: new Date(0),
    logTails: { read: async () => [] },
  };
  const lines = createLines();
  const metadata = { name: 'web', namespace: 'shop', creationTimestamp: '2026-11-21T11:24:08Z' };
  (await describerOf('NetworkPolicy')({ metadata, spec }, context))(lines);
  return lines.text();
}
const podOf = (name: string, phase = 'Running', spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec,
  status: { phase },
});

it('a policy shows its rules as kubectl does, and the pods that it selects', async () => {
  const spec: JsonObject = {
    podSelector: { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'tier', operator: 'In', values: ['b', 'a'] }] },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        ports: [{ port: 80, protocol: 'TCP' }, { port: 8000, endPort: 8010, protocol: 'UDP' }, { protocol: 'TCP' }],
        from: [
          { namespaceSelector: { matchLabels: { team: 'a' } }, podSelector: { matchLabels: { app: 'proxy' } } },
          { podSelector: {} },
          { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.0.0/16'] } },
        ],
      },
      {},
    ],
    egress: [{ to: [{ namespaceSelector: {} }] }],
  };
  const pods = [podOf('a'), podOf('b', 'Pending'), podOf('c', 'Succeeded'), podOf('d', 'Running', { hostNetwork: true })];
  expect(await described(spec, pods)).toBe(`Name:         web
Namespace:    shop
Created on:   Sat, 21 Nov 2026 11:24:08 +0000
Labels:       <none>
Annotations:  <none>
Spec:
  PodSelector: app=web,tier in (a,b)
  Allowing ingress traffic:
    To Port: 80/TCP
    To Port Range: 8000-8010/UDP
    To Port: <any>/TCP
    From:
      NamespaceSelector: team=a
      PodSelector: app=proxy
    From:
      PodSelector: <none>
    From:
      IPBlock:
        CIDR: 10.0.0.0/8
        Except: 10.1.0.0/16, 10.2.0.0/16
    ----------
    To Port: <any> (traffic allowed to all ports)
    From: <any> (traffic not restricted by source)
  Allowing egress traffic:
    To Port: <any> (traffic allowed to all ports)
    To:
      NamespaceSelector: <none>
  Policy Types: Ingress, Egress
Selected Pods:  2 (a, b)
`);
  expect(asked).toEqual([{ kind: 'Pod', namespace: 'shop', labelSelector: 'app=web,tier in (a,b)' }]);
});

it('a policy without rules says what it isolates, and of many pods the first', async () => {
  const pods = Array.from({ length: 7 }, (_, i) => podOf(`p${i}`));
  const text = await described({ podSelector: {}, policyTypes: ['Egress'] }, pods);
  expect(text.slice(text.indexOf('Spec:'))).toBe(`Spec:
  PodSelector: <none> (Allowing the specific traffic to all pods in this namespace)
  Not affecting ingress traffic
  Allowing egress traffic:
    <none> (Selected pods are isolated for egress connectivity)
  Policy Types: Egress
Selected Pods:  7 (p0, p1, p2, p3, p4, and 2 more)
`);
  expect(await described({ podSelector: {}, policyTypes: ['Ingress'] })).toContain('Selected Pods:  none\n');
});
