import { describe, expect, it } from 'vitest';
import { toJson } from '../../api/codec/json.ts';
import type { Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { node, pod } from '../../test/builders/index.ts';
import type { Session } from '../session.ts';
import { describerOf } from './index.ts';
import type { Tree } from './json.ts';
import { createLines } from './lines.ts';
import { writeNode } from './node.ts';
import { writePod } from './pod.ts';
import { writeEvents } from './sections.ts';

const now = new Date(Date.UTC(2026, 0, 1, 12));
const at = (secondsAgo: number) => ({ seconds: now.getTime() / 1000 - secondsAgo });
const time = (secondsAgo: number) => new Date(now.getTime() - secondsAgo * 1000).toISOString();

async function whole(kindName: string, object: Tree): Promise<string> {
  const lines = createLines();
  const context = { session: {} as Session, now, logTails: { read: async () => [] } };
  (await describerOf(kindName)(object, context))(lines);
  return lines.text();
}

function podText(object: Pod, logs: ReadonlyMap<string, readonly string[]> = new Map()): string {
  const lines = createLines();
  writePod(toJson(kindNamed('Pod'), object) as Tree, logs, lines, now);
  return lines.text();
}

describe('the description of a pod', () => {
  it('shows its readiness gates and what is said of them', () => {
    const gates = [{ conditionType: 'example.com/a' }, { conditionType: 'b' }];
    const text = podText(pod('web').spec({ readinessGates: gates }).condition({ type: 'b', status: 'True' }).build());
    expect(text).toMatch(/Readiness Gates:\n +Type +Status\n +---- +------\n +example.com\/a +<none>\n +b +True\n/);
  });

  const crashing = pod('web')
    .labels({ app: 'web' })
    .on('n1')
    .phase('Running')
    .ip('10.0.0.5')
    .container('main', {
      image: 'shop:1',
      command: ['serve'],
      ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 8080 }],
      env: [
        { name: 'MODE', value: 'fast' },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { localObjectReference: { name: 's' }, key: 'pw' } } },
      ],
      volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true }],
    })
    .requests({ memory: '32Mi' })
    .volume({ name: 'data', volumeSource: { hostPath: { path: '/srv', type: '' } } })
    .condition({
      type: 'Ready',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [main]',
    })
    .status({
      hostIP: '192.0.2.1',
      startTime: at(60),
      qosClass: 'Burstable',
      containerStatuses: [
        {
          name: 'main',
          ready: false,
          restartCount: 4,
          containerID: 'docker://abc',
          imageID: 'sha256:def',
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
          lastState: { terminated: { exitCode: 3, reason: 'Error', startedAt: at(30), finishedAt: at(20) } },
        },
      ],
    })
    .build();

  it('names the fields and resources that a volume of the downward API holds', () => {
    const items = [
      { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
      { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } },
    ];
    const object = pod('web')
      .volume({ name: 'facts', volumeSource: { downwardAPI: { items } } })
      .build();
    const text = podText(object);
    expect(text).toContain('metadata.labels as labels\n');
    expect(text).toContain('limits.cpu of main as cpu\n');
  });

  it('names the sources of a projected volume, as kubectl does', () => {
    const object = pod('web')
      .volume({
        name: 'all',
        volumeSource: {
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { localObjectReference: { name: 'root' }, items: [{ key: 'a', path: 'a' }] } },
              { secret: { localObjectReference: { name: 's' }, optional: true } },
              { downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
            ],
          },
        },
      })
      .build();
    expect(podText(object)).toMatch(
      /Type: +Projected\n +TokenExpirationSeconds: +3607\n +ConfigMapName: +root\n +Optional: +false\n +SecretName: +s\n +Optional: +true\n +DownwardAPI: +true\n/,
    );
  });

  it('says of a container that fails why, with its exit code and its last lines', () => {
    expect(podText(crashing, new Map([['main', ['fatal: no database', '  at start']]]))).toBe(`Name:         web
Namespace:    default
Priority:     0
Node:         n1/192.0.2.1
Start Time:   Thu, 01 Jan 2026 11:59:00 +0000
Labels:       app=web
Annotations:  <none>
Status:       Running
IP:           10.0.0.5
Containers:
  main:
    Container ID:  docker://abc
    Image:         shop:1
    Image ID:      sha256:def
    Port:          80/TCP
    Host Port:     8080/TCP
    Command:
      serve
    State:          Waiting
      Reason:       CrashLoopBackOff
      Message:      back-off 40s
    Last State:     Terminated
      Reason:       Error
      Exit Code:    3
      Started:      Thu, 01 Jan 2026 11:59:30 +0000
      Finished:     Thu, 01 Jan 2026 11:59:40 +0000
    Ready:          False
    Restart Count:  4
    Last Log Lines:
      fatal: no database
        at start
    Requests:
      memory:  32Mi
    Environment:
      MODE:      fast
      PASSWORD:  <the key "pw" of secret "s">
    Mounts:
      /data from data (ro)
Conditions:
  Type   Status  Reason              Message
  ----   ------  ------              -------
  Ready  False   ContainersNotReady  containers with unready status: [main]
Volumes:
  data:
    Type:        HostPath
    Path:        /srv
QoS Class:       Burstable
Node-Selectors:  <none>
Tolerations:     <none>
`);
  });

  it("shows the scheduler's message for a pod without a node", () => {
    const waiting = pod('web').condition({
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 insufficient cpu.',
    });
    expect(podText(waiting.build())).toContain(
      'Status:       Pending\nReason:       Unschedulable\nMessage:      0/1 nodes are available: 1 insufficient cpu.\n',
    );
  });

  it('says how important a pod is, what holds it back, and where room is being made for it', () => {
    const schedulingGates = [{ name: 'example.com/a' }, { name: 'example.com/b' }];
    const waiting = pod('web')
      .priority(5)
      .spec({ priorityClassName: 'high', schedulingGates })
      .status({ nominatedNodeName: 'n1' });
    expect(podText(waiting.build())).toMatch(
      /\nPriority: +5\nPriority Class Name: +high\nNode: +<none>\nNominatedNodeName: +n1\nScheduling Gates: +example\.com\/a\n +example\.com\/b\n/,
    );
  });

  it('says how it would be probed', () => {
    const httpGet = { path: '/healthz', port: { type: 0, intVal: 80 } };
    const probe = { handler: { httpGet }, periodSeconds: 10, timeoutSeconds: 1, failureThreshold: 3, successThreshold: 1 };
    expect(podText(pod('web').container('main', { livenessProbe: probe }).build())).toMatch(
      /Liveness: +httpGet path=\/healthz port=80 delay=0s timeout=1s period=10s #success=1 #failure=3\n/,
    );
  });

  it('says of a pod that is deleted since when it has been ending', () => {
    const text = podText(
      pod('web')
        .phase('Running')
        .deleting(now.getTime() - 5000, 30)
        .build(),
    );
    expect(text).toMatch(/Status: +Terminating \(lasts 5s\)\nTermination Grace Period: +30s\n/);
  });
});

describe('the description of a node', () => {
  const one = node('n1')
    .allocatable({ cpu: '2', memory: '4Gi', 'ephemeral-storage': '10Gi', pods: '10' })
    .labels({ 'node-role.kubernetes.io/edge': '' })
    .taint('zone', 'NoSchedule', 'a')
    .usage({ cpu: '500m', memory: '1025Mi' }, now.getTime() - 10_000)
    .build();
  const pods = [
    pod('web')
      .on('n1')
      .phase('Running')
      .requests({ cpu: '500m', memory: '1Gi' })
      .limits({ memory: '2Gi' })
      .createdAt(now.getTime() - 60_000)
      .build(),
    pod('done').on('n1').phase('Succeeded').requests({ cpu: '2' }).build(),
  ];
  const lease = { spec: { holderIdentity: 'agent-1', renewTime: time(12), acquireTime: time(600) } };
  const text = (facts = { node: one, pods, lease }) => {
    const lines = createLines();
    writeNode(toJson(kindNamed('Node'), facts.node) as Tree, facts, lines, now);
    return lines.text();
  };

  it('adds up what pods reserve, beside what the machine really uses', () => {
    expect(text()).toContain(`Non-terminated Pods (1 in total):
  Namespace  Name  CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------  ----  ------------  ----------  ---------------  -------------  ---
  default    web   500m (25%)    0 (0%)      1Gi (25%)        2Gi (50%)      60s
Allocated resources:
  Resource           Requests    Limits     In Use
  --------           --------    ------     ------
  cpu                500m (25%)  0 (0%)     500m (25%)
  memory             1Gi (25%)   2Gi (50%)  1025Mi (25%)
  ephemeral-storage  0 (0%)      0 (0%)
  pods               1 (10%)
In Use:
  Read:  Thu, 01 Jan 2026 11:59:50 +0000 (10s ago)
`);
  });

  it('tells roles, taints and when the agent was heard last', () => {
    expect(text()).toMatch(/Roles: +edge\n/);
    expect(text()).toMatch(/Taints: +zone=a:NoSchedule\n/);
    expect(text()).toContain('  RenewTime:       Thu, 01 Jan 2026 11:59:48 +0000 (12s ago)\n');
  });

  it('says when there is no measurement, and when there never was a heartbeat', () => {
    const silent = text({ node: node('n1').build(), pods: [], lease: undefined as unknown as typeof lease });
    expect(silent).toMatch(/Lease: +<none>\n/);
    expect(silent).toMatch(/In Use: +not reported yet\n$/);
  });
});

describe('the descriptions of other kinds', () => {
  const metadata = { name: 'it', namespace: 'default', creationTimestamp: time(60) };

  it('of a Secret never shows a value', async () => {
    const data = { password: Buffer.from('hunter2').toString('base64') };
    const text = await whole('Secret', { metadata, type: 'Opaque', data });
    expect(text).toBe(
      'Name:         it\nNamespace:    default\nLabels:       <none>\nAnnotations:  <none>\n\nType:  Opaque\n\nData\n====\npassword:  7 bytes\n\n',
    );
  });

  it('of a Secret that was applied does not show what was applied', async () => {
    const applied = { 'kubectl.kubernetes.io/last-applied-configuration': '{"stringData":{"password":"hunter2"}}' };
    expect(await whole('Secret', { metadata: { ...metadata, annotations: applied } })).not.toContain('hunter2');
  });

  it('of a ConfigMap shows the data, and of binary data the size', async () => {
    const text = await whole('ConfigMap', { metadata, data: { 'a.conf': 'x=1\ny=2\n' }, binaryData: { logo: 'AAEC' } });
    expect(text.slice(text.indexOf('\nData'))).toBe(
      '\nData\n====\na.conf:\n----\nx=1\ny=2\n\n\nBinaryData\n==========\nlogo:  3 bytes\n\n',
    );
  });

  it('of a Namespace says whether it is in use', async () => {
    expect(await whole('Namespace', { metadata: { name: 'it' }, status: { phase: 'Active' } })).toMatch(/Status: +Active\n$/);
  });

  it('of node metrics shows what each container uses', async () => {
    const pods = [{ namespace: 'default', name: 'web', containers: [{ name: 'main', usage: { cpu: '100m', memory: '64Mi' } }] }];
    const text = await whole('NodeMetrics', {
      metadata: { name: 'n1' },
      timestamp: time(5),
      window: '15s',
      node: { load1: 0.5 },
      pods,
    });
    expect(text).toContain('Read:         Thu, 01 Jan 2026 11:59:55 +0000 (5s ago)\n');
    expect(text).toContain('  default    web  main       100m  64Mi\n');
  });

  it('of a kind without one of its own is all that it has, field by field', async () => {
    const spec = {
      holderIdentity: 'a',
      leaseDurationSeconds: 40,
      list: [{ machineID: 'x' }, { osImage: 'y' }],
      words: ['p', 'q'],
    };
    const text = await whole('Lease', { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
    expect(text.slice(text.indexOf('API'))).toBe(`API Version:  coordination.k8s.io/v1
Kind:         Lease
Metadata:
  Creation Timestamp:  2026-01-01T11:59:00.000Z
Spec:
  Holder Identity:         a
  Lease Duration Seconds:  40
  List:
    Machine ID:  x
    OS Image:    y
  Words:         p
                 q
`);
  });
});

it('shows events with how often and since when, the latest last', () => {
  const lines = createLines();
  writeEvents(
    [
      {
        type: 'Warning',
        reason: 'BackOff',
        count: 5,
        firstTimestamp: time(600),
        lastTimestamp: time(5),
        source: { component: 'a' },
      },
      { type: 'Normal', reason: 'Scheduled', lastTimestamp: time(900), message: 'assigned' },
    ],
    lines,
    now,
  );
  expect(lines.text()).toBe(`Events:
  Type     Reason     Age               From  Message
  ----     ------     ---               ----  -------
  Normal   Scheduled  15m                     assigned
  Warning  BackOff    5s (x5 over 10m)  a
`);
});

describe('the description of a budget', () => {
  it('says how many pods must stay and how many may go now', async () => {
    const text = await whole('PodDisruptionBudget', {
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        minAvailable: '50%',
        selector: {
          matchLabels: { app: 'web' },
          matchExpressions: [
            { key: 'tier', operator: 'NotIn', values: ['a', 'b'] },
            { key: 'old', operator: 'DoesNotExist' },
          ],
        },
      },
      status: { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 4 },
    });
    expect(text).toBe(`Name:           web
Namespace:      default
Labels:         <none>
Annotations:    <none>
Min available:  50%
Selector:       app=web,tier notin (a,b),!old
Status:
  Allowed disruptions:  1
  Current:              3
  Desired:              2
  Total:                4
`);
  });
});

it('describes a priority class with what its pods get', async () => {
  const text = await whole('PriorityClass', {
    metadata: { name: 'high' },
    value: 1000,
    preemptionPolicy: 'Never',
    description: 'first',
  });
  expect(text).toBe(`Name:              high
Labels:            <none>
Annotations:       <none>
Value:             1000
GlobalDefault:     false
PreemptionPolicy:  Never
Description:       first
`);
});
