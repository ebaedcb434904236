import { describe, expect, it } from 'vitest';
import type { Tree } from '../describe/json.ts';
import { podNames, troubleHeadline, troubleLine } from './trouble-text.ts';
import { groupTroubles, troubleOf } from './troubles.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

interface Parts {
  readonly name?: string;
  readonly metadata?: Tree;
  readonly spec?: Tree;
  readonly status?: Tree;
}

/** A pod that runs on a node, with one container. */
const pod = ({ name = 'web-1', metadata = {}, spec = {}, status = {} }: Parts): Tree => ({
  metadata: { name, uid: `uid-${name}`, ...metadata },
  spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i:1' }], ...spec },
  status: { phase: 'Running', ...status },
});
const condition = (type: string, status: string, more: Tree = {}): Tree => ({ type, status, ...more });
const container = (state: Tree, more: Tree = {}): Tree => ({ containerStatuses: [{ name: 'c', state, ...more }] });
const waiting = (reason: string, message = ''): Tree => container({ waiting: { reason, message } });
const ended = (exitCode: number, more: Tree = {}): Tree => ({ terminated: { exitCode, finishedAt: ago(9), ...more } });

describe('a pod without trouble', () => {
  it.each([
    ['is ready', pod({ status: { conditions: [condition('Ready', 'True')] } })],
    ['has done its work', pod({ status: { phase: 'Succeeded' } })],
    ['is being deleted and has time left', pod({ metadata: { deletionTimestamp: ago(-20) } })],
  ])('%s', (_title, object) => expect(troubleOf(object, now)).toBeUndefined());
});

describe('the trouble of a pod', () => {
  it.each<[string, Parts, string, string]>([
    [
      'that fits on no node is what the scheduler said',
      {
        spec: { nodeName: '' },
        status: {
          phase: 'Pending',
          conditions: [condition('PodScheduled', 'False', { reason: 'Unschedulable', message: '0/3 nodes are available' })],
        },
      },
      'unschedulable',
      'unschedulable: 0/3 nodes are available',
    ],
    [
      'with scheduling gates are those',
      {
        spec: { schedulingGates: [{ name: 'example.com/wait' }] },
        status: { conditions: [condition('PodScheduled', 'False', { reason: 'SchedulingGated' })] },
      },
      'gated',
      'held back by scheduling gates: example.com/wait',
    ],
    [
      'whose image cannot be pulled is what the node said',
      { status: waiting('ImagePullBackOff', 'Back-off pulling image "i:1"') },
      'start',
      'with container "c" not starting, ImagePullBackOff: Back-off pulling image "i:1"',
    ],
    [
      'whose volume is not there is what the node said',
      { status: waiting('ContainerCreating', 'config map "x" not found') },
      'start',
      'with container "c" not starting, config map "x" not found',
    ],
    [
      'that crashes is how its container ended',
      {
        status: container(
          { waiting: { reason: 'CrashLoopBackOff' } },
          { lastState: ended(1, { reason: 'Error', message: 'a\nno database\n' }), restartCount: 4 },
        ),
      },
      'crash',
      'with container "c" that ended with exit code 1: no database',
    ],
    [
      'that ends by itself without an error, again and again, is that',
      { status: container({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: ended(0, { reason: 'Completed' }) }) },
      'crash',
      'with container "c" that ended with exit code 0 (Completed)',
    ],
    [
      'that had too little memory names the limit',
      {
        spec: { containers: [{ name: 'c', resources: { limits: { memory: '64Mi' } } }] },
        status: container({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: ended(137, { reason: 'OOMKilled' }) }),
      },
      'crash',
      'with container "c" that ended with exit code 137 (OOMKilled); its memory limit is 64Mi',
    ],
    [
      'that a signal ended is the signal',
      { status: container(ended(139, { signal: 11 })) },
      'crash',
      'with container "c" that was ended by signal 11',
    ],
    [
      'that runs again after a crash is how its container ended before',
      { status: container({ running: {} }, { ready: false, lastState: ended(1), restartCount: 1 }) },
      'crash',
      'with container "c" that ended with exit code 1',
    ],
    [
      'that failed for good is how its container ended',
      { status: { phase: 'Failed', ...container(ended(2)) } },
      'failed',
      'failed: container "c" ended with exit code 2',
    ],
    [
      'that was evicted is the reason',
      { status: { phase: 'Failed', reason: 'Evicted', message: 'the disk is full' } },
      'failed',
      'failed, Evicted: the disk is full',
    ],
    [
      'on a node that does not report is the node',
      { status: { ...waiting('CrashLoopBackOff'), conditions: [condition('Ready', 'False', { reason: 'NodeNotReady' })] } },
      'node',
      'on node n1, which does not report',
    ],
    [
      'that runs and is not ready names the probe',
      {
        spec: { containers: [{ name: 'c', readinessProbe: {} }] },
        status: container({ running: { startedAt: ago(5) } }, { ready: false, started: true }),
      },
      'unready',
      'not ready: container "c" runs and does not pass its readiness probe',
    ],
    [
      'that does not pass its startup probe names that probe',
      {
        spec: { containers: [{ name: 'c', readinessProbe: {}, startupProbe: {} }] },
        status: container({ running: {} }, { ready: false, started: false }),
      },
      'unready',
      'not ready: container "c" runs and does not pass its startup probe',
    ],
    [
      'with readiness gates is what they lack',
      {
        status: {
          ...container({ running: {} }, { ready: true }),
          conditions: [condition('Ready', 'False', { reason: 'ReadinessGatesNotReady', message: 'gate "a" is not True' })],
        },
      },
      'unready',
      'not ready: gate "a" is not True',
    ],
    [
      'that does not go is the finalizer',
      { metadata: { deletionTimestamp: ago(60), finalizers: ['example.com/hold'] } },
      'deleting',
      'being deleted, which wait for finalizers: example.com/hold',
    ],
    ['that is only beginning is none yet', { status: waiting('ContainerCreating') }, 'starting', 'starting'],
    [
      'that no scheduler has seen is none yet',
      { spec: { nodeName: '' }, status: { phase: 'Pending' } },
      'starting',
      'waiting for the scheduler',
    ],
    [
      'whose init container crashes is that one',
      {
        spec: { initContainers: [{ name: 'init' }] },
        status: {
          initContainerStatuses: [{ name: 'init', state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended(3) }],
          ...waiting('PodInitializing'),
        },
      },
      'crash',
      'with container "init" that ended with exit code 3',
    ],
  ])('%s', (_title, parts, type, what) => expect(troubleOf(pod(parts), now)).toMatchObject({ type, what }));
});

describe('troubles of several pods', () => {
  const crashing = (name: string, restartCount: number) =>
    pod({ name, status: container({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: ended(1), restartCount }) });

  it('are told of together when they have one cause, most pods first, those on their way last', () => {
    const pulling = (name: string, reason: string) => pod({ name, status: waiting(reason, `${reason} of i:1 for ${name}`) });
    const found = groupTroubles(
      [
        pod({ name: 'new', status: waiting('ContainerCreating') }),
        pulling('a', 'ErrImagePull'),
        crashing('b', 2),
        pulling('c', 'ImagePullBackOff'),
        crashing('d', 7),
        pulling('e', 'ImagePullBackOff'),
        pod({ name: 'ready', status: { conditions: [condition('Ready', 'True')] } }),
      ],
      now,
    );
    expect(found.map((each) => troubleLine(each))).toEqual([
      '3 pods with container "c" not starting, ErrImagePull: ErrImagePull of i:1 for a (a, c and 1 more)',
      '2 pods with container "c" that ended with exit code 1, restarted up to 7 times (b, d)',
      '1 pod starting (new)',
    ]);
  });

  it('that name the pod are one all the same', () => {
    const broken = (name: string) => pod({ name, status: waiting('CreateContainerError', `cannot make ${name}: no`) });
    expect(groupTroubles([broken('web-1'), broken('web-2')], now)).toHaveLength(1);
  });

  it('name some of many pods', () => {
    const [trouble] = groupTroubles(
      Array.from({ length: 8 }, (_, at) => crashing(`p${at}`, 1)),
      now,
    );
    expect(podNames(trouble!)).toBe('p0, p1, p2, p3, p4 and 3 more');
    expect(podNames(trouble!, 100)).toBe('p0, p1, p2, p3, p4, p5, p6, p7');
    expect(troubleHeadline(trouble!)).toBe('8 pods with container "c" that ended with exit code 1, restarted once');
  });
});
