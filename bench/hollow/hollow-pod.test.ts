import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../api/generated/types.ts';
import { decideBehaviour, hollowAnnotations } from './behaviour.ts';
import { hollowPod, readinessCommand } from './hollow-pod.ts';

function hollow(container: Container, annotations: Record<string, string> = {}): Container {
  const pod: Pod = { metadata: { annotations }, spec: { containers: [{ name: 'c', image: 'reg.io/team/web:1', ...container }] } };
  return hollowPod(pod, decideBehaviour(pod, { readyAfterMs: 0, runForMs: undefined })).spec!.containers![0]!;
}
const programOf = (handler: { exec?: { command?: string[] } } | undefined) => handler?.exec?.command?.[0];

describe('a pod as its hollow node sees it', () => {
  it('replaces probes by ones that run no program and open no connection, and keeps their periods', () => {
    const http = { handler: { httpGet: { port: { type: 0, intVal: 80 } } }, periodSeconds: 7 } as never;
    const { readinessProbe, livenessProbe, startupProbe } = hollow({
      readinessProbe: http,
      livenessProbe: http,
      startupProbe: http,
    });
    expect(programOf(readinessProbe?.handler)).toBe(readinessCommand);
    for (const probe of [livenessProbe, startupProbe]) expect(programOf(probe?.handler)).not.toBe(readinessCommand);
    for (const probe of [readinessProbe, livenessProbe, startupProbe]) {
      expect(probe?.periodSeconds).toBe(7);
      expect(probe?.handler?.httpGet).toBeUndefined();
    }
  });

  it('has no readiness probe when it is ready at once, and one that looks once when it is ready later', () => {
    expect(hollow({}).readinessProbe).toBeUndefined();
    expect(hollow({}, { [hollowAnnotations.readyAfter]: '2500ms' }).readinessProbe).toMatchObject({
      timeoutSeconds: 4,
      periodSeconds: 3_600,
    });
  });

  it('has an image that is there, or one that cannot be pulled', () => {
    expect(hollow({ imagePullPolicy: 'Always' })).toMatchObject({ image: 'reg.io/team/web:1', imagePullPolicy: 'IfNotPresent' });
    const failing = hollow({}, { [hollowAnnotations.pullError]: 'true' });
    expect(failing).toMatchObject({ image: 'pull-error.hollow.berth.io/web:1', imagePullPolicy: 'Always' });
  });

  it('has hooks that succeed, and keeps those that only wait', () => {
    const { lifecycle } = hollow({ lifecycle: { postStart: { exec: { command: ['rm'] } }, preStop: { sleep: { seconds: 2 } } } });
    expect(programOf(lifecycle?.postStart)).toBe('hollow-node-does-nothing');
    expect(lifecycle?.preStop).toEqual({ sleep: { seconds: 2 } });
  });
});
