import { expect, it } from 'vitest';
import type { Pod } from '../generated/types.ts';
import { kindNamed } from '../kinds/index.ts';
import { storeQuantities } from './canonical.ts';
import { fromJson, toJson } from './json.ts';

const amount = (string: string) => ({ string });

it('brings every quantity of a pod into its stored text: in lists, maps and volumes', () => {
  const pod: Pod = {
    spec: {
      containers: [
        {
          name: 'c',
          resources: { limits: { cpu: amount('0.5'), memory: amount('1024Mi') }, requests: { cpu: amount('1000m') } },
          env: [{ name: 'E', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: amount('1000m') } } }],
        },
      ],
      overhead: { cpu: amount('0.25') },
      volumes: [{ name: 'v', volumeSource: { emptyDir: { sizeLimit: amount('2048Ki') } } }],
    },
  };
  storeQuantities('berth.core.v1.Pod', pod);
  expect(toJson(kindNamed('Pod'), pod)).toMatchObject({
    spec: {
      containers: [
        {
          resources: { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '1' } },
          env: [{ valueFrom: { resourceFieldRef: { divisor: '1' } } }],
        },
      ],
      overhead: { cpu: '250m' },
      volumes: [{ emptyDir: { sizeLimit: '2Mi' } }],
    },
  });
});

it.each([
  ['ResourceQuota', { spec: { hard: { 'limits.memory': '1024Mi' } }, status: { used: { pods: '1000m' } } }],
  ['LimitRange', { spec: { limits: [{ type: 'Container', max: { cpu: '0.5' }, default: { cpu: '0.1' } }] } }],
  ['PersistentVolume', { spec: { capacity: { storage: '1024Gi' } } }],
  [
    'PersistentVolumeClaim',
    { spec: { resources: { requests: { storage: '0.5Gi' } } }, status: { capacity: { storage: '1e3' } } },
  ],
  ['Node', { status: { capacity: { cpu: '4000m' }, allocatable: { memory: '2048Ki' } } }],
  [
    'HorizontalPodAutoscaler',
    { spec: { metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { averageValue: '0.5' } } }] } },
  ],
  ['ConfigMap', { data: { cpu: '0.5' } }],
])('gives of a %s in protobuf what is read of it in JSON', (name, json) => {
  const kind = kindNamed(name as 'Pod');
  const read = fromJson<object>(kind, json);
  // "0500m" is "500m".
  const sent = JSON.parse(JSON.stringify(read), (key, value) => (key === 'string' ? `0${value}` : value));
  storeQuantities(kind.message, sent);
  expect(sent).toEqual(read);
});

it('leaves a text that is no quantity to those who refuse it', () => {
  const quota = { spec: { hard: { pods: amount('many') } } };
  storeQuantities('berth.core.v1.ResourceQuota', quota);
  expect(quota.spec.hard.pods).toEqual(amount('many'));
});
