import { expect, test } from 'vitest';
import { type KindName, kindNamed } from '../kinds/index.ts';
import { fromJson, toJson } from './json.ts';
import { findUnsayable } from './value-checks.ts';

const found = (kind: KindName, object: object): string[] => findUnsayable(kindNamed(kind), object).map(({ field }) => field);
const quantity = (string: string) => ({ string });

test('what JSON reads is in order', () => {
  const json = {
    metadata: { name: 'a', creationTimestamp: '2026-01-31T12:00:00Z', managedFields: [{ fieldsV1: { 'f:spec': {} } }] },
    spec: {
      activeDeadlineSeconds: 60,
      containers: [
        {
          name: 'c',
          resources: { limits: { cpu: '1.5', memory: '2Gi' } },
          livenessProbe: { httpGet: { port: 'web' } },
          readinessProbe: { tcpSocket: { port: 80 } },
        },
      ],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: 1e9 } }],
    },
  };
  const pod = kindNamed('Pod');
  const read = fromJson<object>(pod, json);
  expect(findUnsayable(pod, read)).toEqual([]);
  expect(fromJson(pod, toJson(pod, read))).toEqual(read);
});

test.each<[KindName, object, string]>([
  ['Node', { status: { allocatable: { memory: quantity('1Gi'), cpu: quantity('abc') } } }, 'status.allocatable[cpu]'],
  ['Node', { status: { capacity: { cpu: quantity('') } } }, 'status.capacity[cpu]'],
  [
    'Pod',
    { status: { containerStatuses: [{}, { resources: { requests: { cpu: quantity('1x') } } }] } },
    'status.containerStatuses[1].resources.requests[cpu]',
  ],
  ['Pod', { status: { startTime: { seconds: 1e15 } } }, 'status.startTime'],
  ['Pod', { status: { conditions: [{ lastTransitionTime: { nanos: -1 } }] } }, 'status.conditions[0].lastTransitionTime'],
  ['Pod', { spec: { activeDeadlineSeconds: 2 ** 60 } }, 'spec.activeDeadlineSeconds'],
  [
    'Pod',
    { spec: { containers: [{ livenessProbe: { handler: { httpGet: { port: { type: 7 } } } } }] } },
    'spec.containers[0].livenessProbe.httpGet.port',
  ],
  ['NodeMetrics', { window: { seconds: 1, nanos: -1 } }, 'window'],
  ['NodeMetrics', { window: { seconds: 2 ** 60 } }, 'window'],
  ['ConfigMap', { metadata: { managedFields: [{ fieldsV1: { Raw: Buffer.from('{') } }] } }, 'metadata.managedFields[0].fieldsV1'],
])('a %s with %j is refused where it is wrong', (kind, object, field) => {
  expect(found(kind, object)).toEqual([field]);
});

test('an amount is refused in the words that JSON refuses it with', () => {
  const node = kindNamed('Node');
  const [violation] = findUnsayable(node, { status: { allocatable: { cpu: quantity('abc') } } });
  expect(() => fromJson(node, { status: { allocatable: { cpu: 'abc' } } })).toThrow(
    expect.objectContaining({ violations: [violation] }),
  );
});
