import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { copiedPod } from './copied-pod.ts';
import { checkFlags, checkNodeFlags, type DebugFlags, debugContainer, debuggerName } from './debug-container.ts';
import { nodePod, nodePodName } from './node-pod.ts';

const flags = (more: Partial<DebugFlags> = {}): DebugFlags => ({ profile: 'general', shareProcesses: true, ...more });

describe('the container that is added', () => {
  it('is what the flags say, and may trace processes', () => {
    const more = { image: 'busybox', stdin: true, tty: true, env: ['A=b=c'], imagePullPolicy: 'Never' };
    expect(debugContainer('sh', ['ls', '/'], flags(more))).toEqual({
      name: 'sh',
      image: 'busybox',
      command: ['ls', '/'],
      imagePullPolicy: 'Never',
      env: [{ name: 'A', value: 'b=c' }],
      securityContext: { capabilities: { add: ['SYS_PTRACE'] } },
      stdin: true,
      tty: true,
      terminationMessagePolicy: 'File',
    });
    expect(debugContainer('sh', ['-v'], flags({ argumentsOnly: true, profile: 'legacy' }))).toEqual({
      name: 'sh',
      args: ['-v'],
      terminationMessagePolicy: 'File',
    });
  });

  it('ends its input with that of the one client when there is no terminal', () => {
    expect(debugContainer('sh', [], flags({ stdin: true }))).toMatchObject({ stdin: true, stdinOnce: true });
  });

  it('gets a name that the pod does not have', () => {
    const draws = [0, 0, 0, 0, 0, 0.99, 0.99, 0.99, 0.99, 0.99];
    expect(debuggerName(['debugger-bbbbb'], () => draws.shift() ?? 0)).toBe('debugger-99999');
  });
});

describe('a copy', () => {
  const pod: JsonObject = {
    metadata: { name: 'web', namespace: 'n', uid: 'u', labels: { app: 'web' } },
    spec: {
      nodeName: 'n1',
      containers: [
        { name: 'app', image: 'app:1', livenessProbe: { exec: { command: ['x'] } } },
        { name: 'side', image: 'side:1' },
      ],
    },
    status: { phase: 'Running' },
  };

  it('has another name, no labels, no probes, no node, and one container more', () => {
    const copy = copiedPod({ pod, flags: { ...flags({ image: 'busybox' }), copyTo: 'copy' }, words: [], container: 'sh' });
    expect(copy).toMatchObject({ metadata: { name: 'copy', namespace: 'n' }, spec: { shareProcessNamespace: true } });
    expect(copy.metadata).not.toHaveProperty('labels');
    expect(copy.spec).not.toHaveProperty('nodeName');
    const containers = (copy.spec as { containers: { name: string }[] }).containers;
    expect(containers.map(({ name }) => name)).toEqual(['app', 'side', 'sh']);
    expect(containers[0]).not.toHaveProperty('livenessProbe');
  });

  it('runs other images and another command where that is asked for', () => {
    const wanted = { ...flags({ setImage: ['*=debug:1', 'app=app:2'], sameNode: true, shareProcesses: false }), copyTo: 'copy' };
    const { spec } = copiedPod({ pod, flags: wanted, words: ['sh'], container: 'app' });
    expect(spec).toMatchObject({
      nodeName: 'n1',
      containers: [
        { name: 'app', image: 'app:2', command: ['sh'] },
        { name: 'side', image: 'debug:1' },
      ],
    });
    expect(spec).not.toHaveProperty('shareProcessNamespace');
    const strange = { ...flags({ setImage: ['web=x'] }), copyTo: 'copy' };
    expect(() => copiedPod({ pod, flags: strange, words: [], container: 'app' })).toThrow(/names container "web"/);
  });
});

it.each([
  [{}, /--image is required/],
  [{ image: 'i', copyTo: 'c', target: 'app' }, /--target is for a container that joins/],
  [{ image: 'i', setImage: ['a=b'] }, /add --copy-to/],
  [{ image: 'i', tty: true }, /--tty needs --stdin/],
])('the flags %j do not belong together', (more, message) => {
  expect(() => checkFlags(flags(more))).toThrow(message);
});

describe('the pod for looking into a node', () => {
  const made = (more: Partial<DebugFlags> = {}) =>
    nodePod({ name: 'node-debugger-n1-bbbbb', node: 'n1', words: ['sh'], flags: flags({ image: 'busybox', ...more }) });

  it('is on the node whatever its taints, in its namespaces, with its files', () => {
    expect(made({ stdin: true, tty: true })).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'node-debugger-n1-bbbbb' },
      spec: {
        nodeName: 'n1',
        restartPolicy: 'Never',
        tolerations: [{ operator: 'Exists' }],
        hostNetwork: true,
        hostPID: true,
        hostIPC: true,
        containers: [
          {
            name: 'debugger',
            image: 'busybox',
            command: ['sh'],
            stdin: true,
            tty: true,
            terminationMessagePolicy: 'File',
            volumeMounts: [{ name: 'host-root', mountPath: '/host' }],
          },
        ],
        volumes: [{ name: 'host-root', hostPath: { path: '/' } }],
      },
    });
  });

  it('has what its profile leaves it', () => {
    expect(made({ profile: 'sysadmin' }).spec).toMatchObject({
      hostPID: true,
      containers: [{ securityContext: { privileged: true } }],
    });
    expect(made({ profile: 'netadmin' }).spec).toMatchObject({ hostNetwork: true });
    expect(made({ profile: 'netadmin' }).spec).not.toHaveProperty('volumes');
    for (const profile of ['baseline', 'restricted'] as const) {
      expect(made({ profile }).spec).not.toHaveProperty('hostPID');
      expect(made({ profile }).spec).not.toHaveProperty('volumes');
    }
  });

  it('has a name of the node that a pod may have', () => {
    expect(nodePodName('n1', () => 0)).toBe('node-debugger-n1-bbbbb');
    const long = nodePodName(`${'a'.repeat(232)}.b${'c'.repeat(19)}`, () => 0);
    expect(long).toBe(`node-debugger-${'a'.repeat(232)}-bbbbb`);
  });

  it('takes no flags of a pod', () => {
    expect(() => checkNodeFlags(flags())).toThrow('--image is required');
    for (const more of [
      { copyTo: 'x' },
      { target: 'x' },
      { container: 'x' },
      { setImage: ['a=b'] },
      { sameNode: true },
      { replace: true },
    ])
      expect(() => checkNodeFlags(flags({ image: 'busybox', ...more }))).toThrow(/are for pods/);
    expect(() => checkNodeFlags(flags({ image: 'busybox', tty: true }))).toThrow('--tty needs --stdin');
  });
});
