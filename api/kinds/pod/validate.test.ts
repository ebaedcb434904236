import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { Pod } from '../../generated/types.ts';
import { defaultPod } from './defaults.ts';
import { pod as kind } from './kind.ts';

type Json = Record<string, unknown>;

/** A pod as a user writes it, with defaults. */
function podOf(spec: Json, container: Json = {}): Pod {
  const base = { containers: [{ name: 'c', image: 'i:1', ...container }], ...spec };
  const pod = messageFromJson<Pod>('berth.core.v1.Pod', { metadata: { name: 'p', namespace: 'n' }, spec: base });
  defaultPod(pod);
  return pod;
}

/** Violations by field, without those of fields that Berth refuses altogether. */
function broken(spec: Json, container: Json = {}): string[] {
  return kind.validate(podOf(spec, container)).map(({ field, description }) => `${field}: ${description}`);
}

it('accepts a pod with everything in place', () => {
  const container = {
    ports: [{ name: 'http', containerPort: 80, hostPort: 8080 }],
    env: [
      { name: 'A', value: 'b' },
      { name: 'B', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
    ],
    envFrom: [{ configMapRef: { name: 'm' } }],
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
    resources: { requests: { cpu: '100m', 'example.com/gpu': 1 }, limits: { cpu: '1', 'example.com/gpu': '1' } },
  };
  expect(broken({ volumes: [{ name: 'v', configMap: { name: 'm' } }], nodeSelector: { a: 'b' } }, container)).toEqual([]);
});

it('lists all violations at once', () => {
  const spec = { restartPolicy: 'Sometimes', terminationGracePeriodSeconds: -1, dnsPolicy: 'Maybe' };
  const fields = kind.validate(podOf(spec, { name: 'Bad_Name', image: '' })).map(({ field }) => field);
  for (const field of [
    'spec.containers[0].name',
    'spec.containers[0].image',
    'spec.restartPolicy',
    'spec.terminationGracePeriodSeconds',
    'spec.dnsPolicy',
  ]) {
    expect(fields).toContain(field);
  }
});

const two = (name: string): Json[] => [
  { name: 'c', image: 'i' },
  { name, image: 'i' },
];

it.each<[string, Json, Json, string]>([
  ['no containers', { containers: [] }, {}, 'spec.containers: is required'],
  ['two containers of one name', { containers: two('c') }, {}, 'spec.containers[1].name: duplicate value "c"'],
  ['an image with spaces', {}, { image: ' i' }, 'spec.containers[0].image: invalid value " i"'],
  [
    'a pull policy that is none',
    {},
    { imagePullPolicy: 'Often' },
    'spec.containers[0].imagePullPolicy: unsupported value "Often"',
  ],
  [
    'a port beyond 65535',
    {},
    { ports: [{ containerPort: 70000 }] },
    'ports[0].containerPort: invalid value 70000: must be between 1 and 65535',
  ],
  ['a port without number', {}, { ports: [{ name: 'a' }] }, 'ports[0].containerPort: is required'],
  [
    'a protocol that is none',
    {},
    { ports: [{ containerPort: 1, protocol: 'tcp' }] },
    'ports[0].protocol: unsupported value "tcp"',
  ],
  ['a bad port name', {}, { ports: [{ containerPort: 1, name: 'HTTP' }] }, 'ports[0].name: invalid value "HTTP"'],
  [
    'two ports of one name',
    {},
    {
      ports: [
        { containerPort: 1, name: 'a' },
        { containerPort: 2, name: 'a' },
      ],
    },
    'ports[1].name: duplicate',
  ],
  [
    'one host port twice',
    {},
    {
      ports: [
        { containerPort: 1, hostPort: 9 },
        { containerPort: 2, hostPort: 9 },
      ],
    },
    'ports[1].hostPort: duplicate value 9',
  ],
  ['a variable without name', {}, { env: [{ value: 'x' }] }, 'env[0].name: is required'],
  ['a variable with "="', {}, { env: [{ name: 'A=B' }] }, 'env[0].name: invalid value "A=B"'],
  [
    'a value twice',
    {},
    { env: [{ name: 'A', value: 'x', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
    'env[0].valueFrom: invalid',
  ],
  [
    'two sources of a value',
    {},
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' }, configMapKeyRef: { name: 's', key: 'k' } } }] },
    'must have only one of',
  ],
  [
    'a field that cannot be read',
    {},
    { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] },
    'fieldRef.fieldPath: unsupported value "spec.x"',
  ],
  [
    'a mount of no volume',
    {},
    { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    'volumeMounts[0].name: invalid value "v": must be the name of one of spec.volumes',
  ],
  [
    'one mount path twice',
    { volumes: [{ name: 'v' }] },
    {
      volumeMounts: [
        { name: 'v', mountPath: '/v' },
        { name: 'v', mountPath: '/v' },
      ],
    },
    'volumeMounts[1].mountPath: duplicate',
  ],
  ['two volumes of one name', { volumes: [{ name: 'v' }, { name: 'v' }] }, {}, 'spec.volumes[1].name: duplicate value "v"'],
  [
    'two sources of a volume',
    { volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/x' } }] },
    {},
    'spec.volumes[0]: invalid value "emptyDir, hostPath"',
  ],
  [
    'huge pages as a volume',
    { volumes: [{ name: 'v', emptyDir: { medium: 'HugePages-2Mi' } }] },
    {},
    'spec.volumes[0].emptyDir.medium: forbidden: huge pages cannot be mounted',
  ],
  [
    'a part outside of its volume',
    { volumes: [{ name: 'v' }] },
    { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a/../..' }] },
    'volumeMounts[0].subPath: invalid',
  ],
  [
    'an absolute part of a volume',
    { volumes: [{ name: 'v' }] },
    { volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '/etc' }] },
    'volumeMounts[0].subPathExpr: invalid',
  ],
  [
    'a part said twice',
    { volumes: [{ name: 'v' }] },
    { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a', subPathExpr: 'b' }] },
    'volumeMounts[0].subPathExpr: invalid',
  ],
  [
    'a recursive mount that is written',
    { volumes: [{ name: 'v' }] },
    { volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: 'Enabled' }] },
    'volumeMounts[0].recursiveReadOnly: forbidden',
  ],
  [
    'a recursive mount that is shared',
    { volumes: [{ name: 'v' }] },
    {
      volumeMounts: [
        { name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible', mountPropagation: 'HostToContainer' },
      ],
    },
    'volumeMounts[0].recursiveReadOnly: forbidden',
  ],
  [
    'two projected files of one path',
    {
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [
              { secret: { name: 's', items: [{ key: 'k', path: 'x' }] } },
              { configMap: { name: 'm', items: [{ key: 'k', path: 'x' }] } },
            ],
          },
        },
      ],
    },
    {},
    'projected.sources[1].configMap: invalid',
  ],
  [
    'a token at the path of another file',
    {
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [{ secret: { name: 's', items: [{ key: 'k', path: 'x' }] } }, { serviceAccountToken: { path: 'x' } }],
          },
        },
      ],
    },
    {},
    'projected.sources[1].serviceAccountToken: invalid',
  ],
  [
    'a token that leaves its volume',
    { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'a/../../x' } }] } }] },
    {},
    'sources[0].serviceAccountToken.path: invalid',
  ],
  [
    'a token that ends at once',
    { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'x', expirationSeconds: 599 } }] } }] },
    {},
    'serviceAccountToken.expirationSeconds: invalid',
  ],
  [
    'a file with a name of the volume itself',
    { volumes: [{ name: 'v', secret: { secretName: 's', items: [{ key: 'k', path: '..data' }] } }] },
    {},
    'items[0].path: invalid',
  ],
  ['a host path with ..', { volumes: [{ name: 'v', hostPath: { path: '/a/../b' } }] }, {}, 'hostPath.path: invalid'],
  [
    'a file outside of its volume',
    { volumes: [{ name: 'v', secret: { secretName: 's', items: [{ key: 'k', path: '../x' }] } }] },
    {},
    'items[0].path: invalid',
  ],
  [
    'a mode beyond 0777',
    { volumes: [{ name: 'v', configMap: { name: 'm', defaultMode: 512 } }] },
    {},
    'configMap.defaultMode: invalid value 512',
  ],
  [
    'more requested than allowed',
    {},
    { resources: { requests: { cpu: '2' }, limits: { cpu: '1500m' } } },
    'requests[cpu]: invalid value "2": must be less than or equal to the limit 1500m',
  ],
  [
    'a negative amount',
    {},
    { resources: { limits: { memory: '-1' } } },
    'limits[memory]: invalid value "-1": must not be negative',
  ],
  [
    'an unknown resource',
    {},
    { resources: { limits: { memroy: '1' } } },
    'limits[memroy]: invalid value "memroy": must be cpu, memory',
  ],
  [
    'half a device',
    {},
    { resources: { limits: { 'example.com/gpu': '500m' } } },
    'limits[example.com/gpu]: invalid value "500m": must be an integer',
  ],
  ['a device without limit', {}, { resources: { requests: { 'example.com/gpu': '1' } } }, 'limits[example.com/gpu]: is required'],
  ['a probe without action', {}, { livenessProbe: { periodSeconds: 1 } }, 'livenessProbe: is required'],
  [
    'a probe with two actions',
    {},
    { livenessProbe: { exec: { command: ['a'] }, tcpSocket: { port: 1 } } },
    'livenessProbe: invalid value "exec, tcpSocket"',
  ],
  [
    'two successes of a liveness probe',
    {},
    { livenessProbe: { exec: { command: ['a'] }, successThreshold: 2 } },
    'successThreshold: invalid value 2',
  ],
  ['a probe of port 0', {}, { readinessProbe: { tcpSocket: { port: 0 } } }, 'tcpSocket.port: invalid value 0'],
  [
    'two successes of a startup probe',
    {},
    { startupProbe: { exec: { command: ['a'] }, successThreshold: 2 } },
    'successThreshold: invalid value 2',
  ],
  [
    'a probe that waits less than no time',
    {},
    { readinessProbe: { exec: { command: ['a'] }, initialDelaySeconds: -1 } },
    'initialDelaySeconds: invalid value -1',
  ],
  ['a probe without a command', {}, { livenessProbe: { exec: { command: [] } } }, 'livenessProbe.exec.command: is required'],
  ['a probe of a port beyond the range', {}, { livenessProbe: { grpc: { port: 65536 } } }, 'grpc.port: invalid value 65536'],
  [
    'a probe of a bad port name',
    {},
    { livenessProbe: { httpGet: { port: 'no_name' } } },
    'httpGet.port: invalid value "no_name"',
  ],
  [
    'an unknown scheme',
    {},
    { livenessProbe: { httpGet: { port: 1, scheme: 'FTP' } } },
    'httpGet.scheme: unsupported value "FTP"',
  ],
  [
    'a header without a name',
    {},
    { livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: 'x' }] } } },
    'httpHeaders[0].name: invalid value "a b"',
  ],
  [
    'a grace period of a readiness probe',
    {},
    { readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 1 } },
    'readinessProbe.terminationGracePeriodSeconds: forbidden',
  ],
  [
    'no grace period at all of a liveness probe',
    {},
    { livenessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 0 } },
    'livenessProbe.terminationGracePeriodSeconds: invalid value 0',
  ],
  [
    'a stop signal without a system',
    {},
    { lifecycle: { stopSignal: 'SIGUSR1' } },
    'stopSignal: invalid value "SIGUSR1": needs spec.os.name',
  ],
  [
    'an unknown stop signal',
    { os: { name: 'linux' } },
    { lifecycle: { stopSignal: 'SIGRTMIN+16' } },
    'stopSignal: invalid value "SIGRTMIN+16"',
  ],
  [
    'a hook over TCP, which is not supported',
    {},
    { lifecycle: { preStop: { tcpSocket: { port: 1 } } } },
    'preStop.tcpSocket: forbidden',
  ],
  [
    'last words by an unknown policy',
    {},
    { terminationMessagePolicy: 'Log' },
    'terminationMessagePolicy: unsupported value "Log"',
  ],
  ['a hook without action', {}, { lifecycle: { preStop: {} } }, 'lifecycle.preStop: is required'],
  [
    'a sleep beyond the grace period',
    {},
    { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
    'sleep.seconds: invalid value 31: must be between 0 and 30',
  ],
  ['a user beyond the range', { securityContext: { runAsUser: -1 } }, {}, 'spec.securityContext.runAsUser: invalid value -1'],
  [
    'privileges denied to a privileged container',
    {},
    { securityContext: { privileged: true, allowPrivilegeEscalation: false } },
    'allowPrivilegeEscalation: invalid value false: cannot be false for a privileged',
  ],
  ['a bad selector', { nodeSelector: { 'a b': 'x' } }, {}, 'spec.nodeSelector[a b]: invalid'],
  [
    'a toleration of everything with Equal',
    { tolerations: [{ operator: 'Equal' }] },
    {},
    'tolerations[0].operator: invalid value "Equal"',
  ],
  [
    'seconds of an effect that does not evict',
    { tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] },
    {},
    'tolerations[0].effect: invalid',
  ],
  ['dnsPolicy None without servers', { dnsPolicy: 'None' }, {}, 'spec.dnsConfig.nameservers: is required'],
  [
    'a host port that differs on the host network',
    { hostNetwork: true },
    { ports: [{ containerPort: 80, hostPort: 81 }] },
    'must be the same as hostPort',
  ],
  [
    'a probe of a plain init container',
    { initContainers: [{ name: 'i', image: 'i', livenessProbe: { exec: { command: ['a'] } } }] },
    {},
    'spec.initContainers[0].livenessProbe: forbidden: only init containers with',
  ],
  ['a host alias that is no address', { hostAliases: [{ ip: 'here' }] }, {}, 'spec.hostAliases[0].ip: invalid'],
])('refuses %s', (_what, spec, container, expected) => {
  expect(broken(spec, container).filter((line) => line.includes(expected))).toHaveLength(1);
});

describe('affinity', () => {
  const node = (matchExpressions: Json[]): Json => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } } },
  });

  it('takes the operators that exist, with as many values as they want', () => {
    const good = [
      { key: 'a', operator: 'In', values: ['x'] },
      { key: 'a', operator: 'Exists' },
      { key: 'a', operator: 'Gt', values: ['5'] },
    ];
    expect(broken(node(good))).toEqual([]);
    const bad = [
      { key: 'a', operator: 'Like', values: ['x'] },
      { key: 'a', operator: 'In' },
      { key: 'a', operator: 'Exists', values: ['x'] },
      { key: 'a', operator: 'Lt', values: ['x'] },
    ];
    expect(broken(node(bad))).toHaveLength(4);
  });

  it('wants terms, and weights from 1 to 100', () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {},
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101 }],
      },
    };
    expect(broken({ affinity })).toEqual([
      expect.stringContaining('nodeSelectorTerms: is required'),
      expect.stringContaining('[0].weight: invalid value 101: must be between 1 and 100'),
    ]);
  });
});

describe('limits of a pod as a whole', () => {
  const resources = { requests: { cpu: '1' }, limits: { cpu: '1', memory: '1Gi' } };

  it('are refused in a new pod, with what to do instead', () => {
    expect(kind.validateCreate?.(podOf({ resources }))).toMatchObject([
      { field: 'spec.resources.limits', description: expect.stringContaining('set them in spec.containers[].resources.limits') },
    ]);
    for (const none of [{ limits: {} }, { requests: { cpu: '1' } }])
      expect(kind.validateCreate?.(podOf({ resources: none }))).toEqual([]);
  });

  it('of a stored pod stay as they are through updates', () => {
    const stored = podOf({ resources });
    const next = structuredClone(stored);
    next.metadata!.labels = { a: 'b' };
    expect([...kind.validate(next), ...kind.validateUpdate(next, stored)]).toEqual([]);
  });
});

describe('an update', () => {
  const before = podOf({ activeDeadlineSeconds: 100, tolerations: [{ key: 'a', operator: 'Exists' }] });
  const fields = (change: (pod: Pod) => void): string[] => {
    const next = structuredClone(before);
    change(next);
    return kind.validateUpdate(next, before).map(({ field }) => field);
  };

  it('may change images, lower the deadline and add tolerations', () => {
    expect(fields(() => {})).toEqual([]);
    const change = (pod: Pod): void => {
      pod.spec!.containers![0]!.image = 'other:2';
      pod.spec!.activeDeadlineSeconds = 50;
      pod.spec!.tolerations!.push({ key: 'b', operator: 'Exists' });
    };
    expect(fields(change)).toEqual([]);
  });

  it('may change nothing else, and says where', () => {
    const change = (pod: Pod): void => {
      pod.spec!.containers![0]!.name = 'other';
      pod.spec!.nodeName = 'n2';
      pod.spec!.terminationGracePeriodSeconds = 5;
    };
    expect(fields(change).sort()).toEqual(['spec.containers[0].name', 'spec.nodeName', 'spec.terminationGracePeriodSeconds']);
  });

  it('may not raise the deadline, take tolerations away or add containers', () => {
    expect(
      fields((pod) => {
        pod.spec!.activeDeadlineSeconds = 200;
      }),
    ).toEqual(['spec.activeDeadlineSeconds']);
    expect(
      fields((pod) => {
        pod.spec!.tolerations = pod.spec!.tolerations!.slice(1);
      }),
    ).toEqual(['spec.tolerations']);
    expect(
      fields((pod) => {
        pod.spec!.containers!.push({ name: 'd', image: 'i' });
      }),
    ).toEqual(['spec.containers']);
  });

  it('of the status may not bring back a container that has ended for good', () => {
    const ended = (exitCode: number): Pod => ({
      spec: { restartPolicy: 'OnFailure' },
      status: { containerStatuses: [{ name: 'c', state: { terminated: { exitCode } } }] },
    });
    const running: Pod = { status: { containerStatuses: [{ name: 'c', state: { running: {} } }] } };
    expect(kind.validateStatusUpdate!(running, ended(0))).toHaveLength(1);
    expect(kind.validateStatusUpdate!(running, ended(1))).toEqual([]);
    expect(kind.validateStatusUpdate!({ status: { podIP: 'x' } }, {})).toHaveLength(1);
  });
});
