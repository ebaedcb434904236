import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { ContainerStatus, Pod } from '../../generated/types.ts';
import { defaultPod, pullPolicyFor } from './defaults.ts';
import { pod as kind } from './kind.ts';
import { qosClass } from './qos.ts';
import { podLimits, podRequests } from './resources.ts';

type Json = Record<string, unknown>;

const podOf = (spec: Json): Pod => messageFromJson<Pod>('berth.core.v1.Pod', { metadata: { name: 'p' }, spec });

function defaulted(spec: Json): Pod {
  const pod = podOf(spec);
  defaultPod(pod);
  return pod;
}

describe('defaults', () => {
  it("are Kubernetes', and stay as they are when they run again", () => {
    const pod = defaulted({ containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] });
    expect(pod.spec).toMatchObject({
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      terminationGracePeriodSeconds: 30,
      enableServiceLinks: true,
      securityContext: {},
      containers: [
        {
          imagePullPolicy: 'Always',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          ports: [{ protocol: 'TCP' }],
        },
      ],
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
    });
    const again = structuredClone(pod);
    defaultPod(again);
    expect(again).toEqual(pod);
  });

  it('keep what the user said', () => {
    const said = {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      enableServiceLinks: false,
      containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Never' }],
    };
    expect(defaulted(said).spec).toMatchObject(said);
    const tolerant = defaulted({ tolerations: [{ operator: 'Exists' }] });
    expect(tolerant.spec?.tolerations).toHaveLength(1);
  });

  it.each([
    ['i', 'Always'],
    ['i:latest', 'Always'],
    ['i:1', 'IfNotPresent'],
    ['host:5000/i', 'Always'],
    ['host:5000/i:2', 'IfNotPresent'],
    ['i@sha256:ab', 'IfNotPresent'],
  ])('choose for the image %s the pull policy %s', (image, policy) => {
    expect(pullPolicyFor(image)).toBe(policy);
  });

  it('request what is limited, volume by volume and probe by probe', () => {
    const pod = defaulted({
      hostNetwork: true,
      volumes: [{ name: 'a' }, { name: 'b', secret: { secretName: 's' } }, { name: 'c', hostPath: { path: '/x' } }],
      containers: [
        {
          name: 'c',
          image: 'i',
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } },
          livenessProbe: { httpGet: { port: 80 } },
          env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        },
      ],
    });
    expect(pod.spec).toMatchObject({
      volumes: [
        { volumeSource: { emptyDir: {} } },
        { volumeSource: { secret: { defaultMode: 420 } } },
        { volumeSource: { hostPath: { type: '' } } },
      ],
      containers: [
        {
          ports: [{ hostPort: 80 }],
          resources: { requests: { cpu: { string: '100m' }, memory: { string: '1Gi' } } },
          livenessProbe: {
            handler: { httpGet: { path: '/', scheme: 'HTTP' } },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
          env: [{ valueFrom: { fieldRef: { apiVersion: 'v1' } } }],
        },
      ],
    });
  });
});

describe('requests', () => {
  const container = (name: string, cpu: string, extra: Json = {}): Json => ({
    name,
    image: 'i',
    resources: { requests: { cpu } },
    ...extra,
  });

  it('are the sum of the containers, or the hungriest init container', () => {
    expect(podRequests(podOf({ containers: [container('a', '100m'), container('b', '200m')] }))).toEqual({ cpu: 300, memory: 0 });
    expect(
      podRequests(podOf({ containers: [container('a', '100m')], initContainers: [container('i', '2'), container('j', '1')] }))
        .cpu,
    ).toBe(2000);
  });

  it('count sidecars beside the containers, and beside the init containers after them', () => {
    const sidecar = container('s', '500m', { restartPolicy: 'Always' });
    expect(podRequests(podOf({ containers: [container('a', '100m')], initContainers: [sidecar] })).cpu).toBe(600);
    expect(podRequests(podOf({ containers: [container('a', '100m')], initContainers: [sidecar, container('i', '1')] })).cpu).toBe(
      1500,
    );
    expect(podRequests(podOf({ containers: [container('a', '100m')], initContainers: [container('i', '1'), sidecar] })).cpu).toBe(
      1000,
    );
  });

  it('of a pod with limits as a whole are what its containers request, and the limit of what none requests', () => {
    const resources = { limits: { cpu: '4', memory: '4Gi', 'hugepages-2Mi': '4Mi' } };
    const sized = { resources: { requests: { cpu: '100m', 'hugepages-2Mi': '2Mi' }, limits: { 'hugepages-2Mi': '2Mi' } } };
    const { spec } = defaulted({ containers: [container('a', '1'), { name: 'b', image: 'i', ...sized }], resources });
    const quantity = (string: string) => ({ string });
    expect(spec?.resources?.requests).toEqual({
      cpu: quantity('1100m'),
      memory: quantity('4Gi'),
      'hugepages-2Mi': quantity('4Mi'),
    });
    expect(spec?.containers?.map((each) => each.resources?.requests?.memory)).toEqual([undefined, undefined]);
    expect(podRequests({ spec } as Pod)).toMatchObject({ cpu: 1100, memory: 4 * 1024 ** 3 });
    const asked = defaulted({ containers: [container('a', '1')], resources: { ...resources, requests: { cpu: '2' } } });
    expect(asked.spec?.resources?.requests?.cpu).toEqual(quantity('2'));
    const unlimited = defaulted({ containers: [container('a', '1')], resources: { requests: { memory: '1Gi' } } });
    expect(unlimited.spec?.resources?.requests).toEqual({ memory: quantity('1Gi') });
  });

  it('add the overhead, and take the amounts of the pod as a whole', () => {
    const spec = {
      containers: [container('a', '100m')],
      overhead: { cpu: '50m', memory: '1Mi' },
      resources: { requests: { cpu: '1' } },
    };
    expect(podRequests(podOf(spec))).toEqual({ cpu: 1050, memory: 1048576 });
  });

  it('count the most of what a container wants, was given and has while that changes', () => {
    const requests = (cpu: string): Json => ({ cpu, memory: '64Mi' });
    const sized = (conditions: Json[], more: Json = {}): Pod =>
      messageFromJson<Pod>('berth.core.v1.Pod', {
        spec: { containers: [{ name: 'a', image: 'i', resources: { requests: requests('300m') } }] },
        status: {
          containerStatuses: [
            { name: 'a', allocatedResources: requests('100m'), resources: { requests: requests('500m') }, ...more },
          ],
          conditions,
        },
      });
    expect(podRequests(sized([]))).toEqual({ cpu: 500, memory: 67108864 });
    expect(podRequests(sized([], { resources: {} })).cpu).toBe(300);
    const pending = (reason: string): Json => ({ type: 'PodResizePending', status: 'True', reason });
    expect(podRequests(sized([pending('Deferred')], { resources: {} })).cpu).toBe(300);
    expect(podRequests(sized([pending('Infeasible')], { resources: {} })).cpu).toBe(100);
  });

  it('count limits in the same way', () => {
    const limited = { name: 'a', image: 'i', resources: { limits: { memory: '1Mi' } } };
    expect(podLimits(podOf({ containers: [limited, { ...limited, name: 'b' }] }))).toEqual({ memory: 2097152 });
  });

  it.each([
    [{}, 'BestEffort'],
    [{ limits: { cpu: '1', memory: '1Gi' } }, 'Guaranteed'],
    [{ limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1000m' } }, 'Guaranteed'],
    [{ limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } }, 'Burstable'],
    [{ requests: { cpu: '500m' } }, 'Burstable'],
    [{ requests: { cpu: '0' } }, 'BestEffort'],
  ])('%j make a pod of class %s', (resources, expected) => {
    expect(qosClass(defaulted({ containers: [{ name: 'c', image: 'i', resources }] }))).toBe(expected);
  });
});

describe('life', () => {
  it('starts Pending, whatever the client says', () => {
    const pod: Pod = { ...defaulted({ containers: [{ name: 'c', image: 'i' }] }), status: { phase: 'Running' } };
    kind.lifecycle?.prepareForCreate?.(pod);
    expect(pod.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
  });

  it('keeps what admission decided when an update does not say it', () => {
    const previous = { spec: { priority: 7, preemptionPolicy: 'Never', serviceAccountName: 'bot', serviceAccount: 'bot' } };
    const update = (next: Pod, before: Pod = previous): Pod['spec'] => {
      kind.lifecycle!.prepareForUpdate!(next, before);
      return next.spec;
    };
    expect(update({ spec: {} })).toEqual(previous.spec);
    expect(update({ spec: { serviceAccountName: 'x' } })).toMatchObject({ serviceAccountName: 'x' });
    // Pods of older versions have no account.
    expect(update({ spec: {} }, { spec: {} })).toEqual({});
  });

  it('keeps the token, the node and what the account gave it when an update does not say it', () => {
    const [token, own] = [{ name: 'kube-api-access-12345' }, { name: 'own' }];
    const mount = { name: token.name, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    const previous: Pod = {
      spec: {
        nodeName: 'n',
        imagePullSecrets: [{ name: 's' }],
        volumes: [own, token],
        containers: [{ name: 'c', volumeMounts: [{ name: 'own', mountPath: '/own' }, mount] }, { name: 'without' }],
      },
    };
    const update = (next: Pod): Pod => {
      kind.lifecycle!.prepareForUpdate!(next, previous);
      return next;
    };
    const sent: Pod = {
      spec: {
        volumes: [own],
        containers: [{ name: 'c', volumeMounts: [{ name: 'own', mountPath: '/own' }] }, { name: 'without' }],
      },
    };
    expect(update(structuredClone(sent))).toEqual(previous);
    expect(update(structuredClone(previous))).toEqual(previous);
    const other = { ...sent.spec, nodeName: 'other', imagePullSecrets: [{ name: 't' }] };
    expect(update({ spec: structuredClone(other) }).spec).toMatchObject({ nodeName: 'other', imagePullSecrets: [{ name: 't' }] });
  });

  it('ends at once when unbound, finished or asked to, else after the grace period', () => {
    const grace = (pod: Pod, requested?: number): number | undefined => kind.lifecycle?.gracePeriodSeconds?.(pod, requested);
    const bound: Pod = { spec: { nodeName: 'n', terminationGracePeriodSeconds: 7 }, status: { phase: 'Running' } };
    expect([grace(bound), grace(bound, 3), grace(bound, 0)]).toEqual([7, 3, undefined]);
    expect([grace(bound, 9e12), grace({ spec: { nodeName: 'n', terminationGracePeriodSeconds: 9e12 } })]).toEqual([
      2 ** 31 - 1,
      2 ** 31 - 1,
    ]);
    expect([grace({ spec: {} }), grace({ ...bound, status: { phase: 'Failed' } }, 5)]).toEqual([undefined, undefined]);
  });
});

describe('columns', () => {
  const now = new Date('2026-01-31T12:00:00Z');
  const cells = (pod: Pod): Record<string, string> =>
    Object.fromEntries(kind.columns.map((column) => [column.name, column.cell(pod, now)]));
  const running = { name: 'c', ready: true, started: true, state: { running: {} } };
  const withStatus = (status: Pod['status'], spec: Pod['spec'] = {}): Pod => ({
    spec: { containers: [{ name: 'c' }], ...spec },
    status: status ?? {},
  });
  const status = (pod: Pod): string | undefined => cells(pod).STATUS;
  const terminated = (reason: string, exitCode = 1): ContainerStatus => ({
    name: 'c',
    state: { terminated: { reason, exitCode } },
  });
  const waiting = (reason: string): ContainerStatus => ({ name: 'c', state: { waiting: { reason } } });

  it("are kubectl's, in its order", () => {
    expect(kind.columns.map(({ name, priority }) => (priority === 0 ? name : `+${name}`))).toEqual([
      'NAME',
      'READY',
      'STATUS',
      'RESTARTS',
      'AGE',
      '+IP',
      '+NODE',
      '+NOMINATED NODE',
      '+READINESS GATES',
    ]);
  });

  it('show a running pod', () => {
    const pod = withStatus({ phase: 'Running', podIP: '10.0.0.1', containerStatuses: [running] }, { nodeName: 'n1' });
    expect(cells(pod)).toMatchObject({
      READY: '1/1',
      STATUS: 'Running',
      RESTARTS: '0',
      IP: '10.0.0.1',
      NODE: 'n1',
      'NOMINATED NODE': '<none>',
    });
  });

  it.each<[string, Pod]>([
    ['Pending', withStatus({ phase: 'Pending' })],
    ['Evicted', withStatus({ phase: 'Failed', reason: 'Evicted' })],
    ['ContainerCreating', withStatus({ phase: 'Pending', containerStatuses: [waiting('ContainerCreating')] })],
    ['ImagePullBackOff', withStatus({ phase: 'Pending', containerStatuses: [waiting('ImagePullBackOff')] })],
    ['CrashLoopBackOff', withStatus({ phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] })],
    ['Error', withStatus({ phase: 'Failed', containerStatuses: [terminated('Error')] })],
    ['OOMKilled', withStatus({ phase: 'Failed', containerStatuses: [terminated('OOMKilled', 137)] })],
    ['ExitCode:3', withStatus({ phase: 'Failed', containerStatuses: [terminated('', 3)] })],
    ['Completed', withStatus({ phase: 'Succeeded', containerStatuses: [terminated('Completed', 0)] })],
    ['NotReady', withStatus({ phase: 'Running', containerStatuses: [terminated('Completed', 0), running] })],
    [
      'Running',
      withStatus({
        phase: 'Running',
        containerStatuses: [terminated('Completed', 0), running],
        conditions: [{ type: 'Ready', status: 'True' }],
      }),
    ],
    ['Terminating', { ...withStatus({ phase: 'Running' }), metadata: { deletionTimestamp: { seconds: 1 } } }],
    [
      'SchedulingGated',
      withStatus({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
    ],
    [
      'Init:1/2',
      withStatus(
        { initContainerStatuses: [terminated('Completed', 0), { name: 'j', state: { running: {} } }] },
        { initContainers: [{ name: 'c' }, { name: 'j' }] },
      ),
    ],
    [
      'Init:CrashLoopBackOff',
      withStatus({ initContainerStatuses: [waiting('CrashLoopBackOff')] }, { initContainers: [{ name: 'c' }] }),
    ],
    ['Init:Error', withStatus({ initContainerStatuses: [terminated('Error')] }, { initContainers: [{ name: 'c' }] })],
  ])('show the status %s', (expected, pod) => {
    expect(status(pod)).toBe(expected);
  });

  it('count no container as ready on a node that does not report', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'NodeNotReady' }];
    const pod = withStatus({ phase: 'Running', containerStatuses: [running], conditions });
    expect(cells(pod)).toMatchObject({ READY: '0/1', STATUS: 'Running' });
  });

  it('count restarts and say when the last was, sidecars among the ready', () => {
    const restarted = {
      ...running,
      restartCount: 3,
      lastState: { terminated: { finishedAt: { seconds: now.getTime() / 1000 - 125 } } },
    };
    const pod = withStatus(
      { containerStatuses: [restarted], initContainerStatuses: [{ ...running, name: 's' }] },
      { initContainers: [{ name: 's', restartPolicy: 'Always' }] },
    );
    expect(cells(pod)).toMatchObject({ RESTARTS: '3 (2m5s ago)', READY: '2/2' });
  });
});
