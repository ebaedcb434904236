import { describe, expect, it } from 'vitest';
import type { Container, Pod, Probe } from '../../api/generated/types.ts';
import { createFakeClock, type FakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { advance, createRecord, type PodRecord } from '../pod/pod-record.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import type { CheckResult } from './check-result.ts';
import { createProbes } from './probes.ts';

const ok: CheckResult = { outcome: 'success', output: '' };
const bad: CheckResult = { outcome: 'failure', output: 'no' };

interface Look {
  readonly kind: string;
  readonly atMs: number;
  readonly timeoutMs: number;
}

/** A pod "web" with a container "app" that has just been started, and what its probes see. */
function house(container: Container, change: { status?: Pod['status']; random?: () => number; startedAgoMs?: number } = {}) {
  const clock = createFakeClock();
  const beganAt = clock.now();
  const looks: Look[] = [];
  const told: string[] = [];
  const hooks: ((ok: boolean) => void)[] = [];
  const hangs: { signal: AbortSignal; end: (result: CheckResult) => void }[] = [];
  const answers: Record<string, CheckResult | 'hang'> = {};
  let wakes = 0;
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { containers: [{ name: 'app', ...container }] },
    ...(change.status === undefined ? {} : { status: change.status }),
  };
  const record = createRecord('u', pod);
  const probes = createProbes({
    check: async (handler, { podIP, containerId }, timeoutMs, signal) => {
      const kind = handler.exec?.command?.[0] ?? '';
      looks.push({ kind, atMs: clock.now() - beganAt, timeoutMs });
      expect({ podIP, containerId }).toEqual({
        podIP: '172.17.0.2',
        containerId: record.containers.get('app-1') ? 'app-1' : 'app-0',
      });
      const answer = answers[kind] ?? ok;
      return answer === 'hang' ? new Promise((end) => hangs.push({ signal, end })) : answer;
    },
    hooks: { postStart: () => new Promise((resolve) => hooks.push(resolve)) },
    events: (_pod, _type, reason, message, name) => told.push(`${reason} ${name}: ${message}`),
    clock,
    random: change.random ?? (() => 0.5),
    hostIP: '10.0.0.1',
    look: () => wakes++,
  });
  const run = (id: string, more: Partial<ObservedContainer> = {}) => put(record, one(id, clock, change.startedAgoMs ?? 0, more));
  run('POD-0', { ip: '172.17.0.2' });
  run('app-0');
  probes.sync(record);
  const health = () => probes.of(record.containers.get(record.containers.has('app-1') ? 'app-1' : 'app-0')!);
  return {
    clock,
    probes,
    record,
    run,
    looks,
    told,
    hooks,
    hangs,
    answers,
    health,
    times: (kind: string) => timesOf(looks, kind),
    wakes: () => wakes,
  };
}

function timesOf(looks: readonly Look[], kind: string): number[] {
  return looks.filter((look) => look.kind === kind).map(({ atMs }) => atMs / 1000);
}

function put(record: PodRecord, container: ObservedContainer): void {
  record.containers.set(container.id, container);
}

function one(id: string, clock: FakeClock, startedAgoMs: number, more: Partial<ObservedContainer>): ObservedContainer {
  const at = new Date(clock.now() - startedAgoMs);
  return {
    podUid: 'u',
    podName: 'web',
    podNamespace: 'default',
    containerName: id.split('-')[0] ?? '',
    attempt: 0,
    specHash: '',
    gracePeriodSeconds: 30,
    id,
    state: 'running',
    image: 'i',
    imageId: 'i',
    createdAt: at,
    startedAt: at,
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: undefined,
    pid: 1,
    ...more,
  };
}

const probe = (kind: string, more: Partial<Probe> = {}): Probe => ({
  handler: { exec: { command: [kind] } },
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
  ...more,
});

describe('a readiness probe', () => {
  it('makes a container ready as soon as it succeeds, and unready after as many failures as it says', async () => {
    const h = house({ readinessProbe: probe('ready') });
    expect(h.health()).toEqual({ started: true, ready: false });
    await h.clock.advance(0);
    expect(h.health()).toEqual({ started: true, ready: true });
    h.answers.ready = bad;
    await h.clock.advance(20_000);
    expect(h.health().ready).toBe(true);
    await h.clock.advance(10_000);
    expect(h.health()).toEqual({ started: true, ready: false });
    expect(h.times('ready')).toEqual([0, 10, 20, 30]);
    expect(h.told).toEqual(Array(3).fill('Unhealthy app: Readiness probe failed: no'));
    expect(h.wakes()).toBe(2);
  });

  it('needs as many successes in a row as it says', async () => {
    const h = house({ readinessProbe: probe('ready', { successThreshold: 2, periodSeconds: 2 }) });
    await h.clock.advance(0);
    expect(h.health().ready).toBe(false);
    await h.clock.advance(2_000);
    expect(h.health().ready).toBe(true);
  });

  it('looks often in its first period for a success, and keeps quiet about failures in it', async () => {
    const h = house({ readinessProbe: probe('ready') });
    h.answers.ready = bad;
    await h.clock.advance(21_000);
    expect(h.times('ready')).toEqual([0, 1, 3, 7, 10, 20]);
    expect(h.told).toHaveLength(2);
  });

  it('waits for its initial delay, and then for its periods', async () => {
    const h = house({ readinessProbe: probe('ready', { initialDelaySeconds: 7 }) });
    h.answers.ready = bad;
    await h.clock.advance(18_000);
    expect(h.times('ready')).toEqual([7, 17]);
    expect(h.told).toHaveLength(2);
  });

  it('goes on while its pod goes, and ends with its container', async () => {
    const h = house({ readinessProbe: probe('ready') });
    await h.clock.advance(1);
    advance(h.record, { type: 'delete', gracePeriodSeconds: 30 });
    h.probes.sync(h.record);
    await h.clock.advance(10_000);
    expect(h.times('ready')).toEqual([0, 10]);
    h.run('app-0', { state: 'exited' });
    h.probes.sync(h.record);
    await h.clock.advance(60_000);
    expect(h.times('ready')).toHaveLength(2);
    expect(h.clock.pending).toBe(0);
    expect(h.health()).toEqual({ started: false, ready: false });
  });

  it('that says nothing of the container changes nothing and is told', async () => {
    const h = house({ readinessProbe: probe('ready') });
    await h.clock.advance(1);
    h.answers.ready = { outcome: 'error', output: 'the engine is away' };
    await h.clock.advance(60_000);
    expect(h.health().ready).toBe(true);
    expect(h.told[0]).toBe('Unhealthy app: Readiness probe errored and resulted in unknown state: the engine is away');
  });

  it('that says nothing of the container does not end a row of failures either', async () => {
    const h = house({ livenessProbe: probe('alive') });
    for (const [answer, seconds] of [
      [bad, 20],
      [{ outcome: 'error', output: 'the engine is away' }, 10],
      [bad, 10],
    ] as const) {
      expect(h.health().failed).toBeUndefined();
      h.answers.alive = answer;
      await h.clock.advance(seconds * 1000);
    }
    expect(h.times('alive')).toEqual([5, 15, 25, 35]);
    expect(h.health().failed).toMatchObject({ probe: 'liveness' });
  });

  it('with a warning counts as a success', async () => {
    const h = house({ readinessProbe: probe('ready') });
    h.answers.ready = { outcome: 'warning', output: 'Probe terminated redirects' };
    await h.clock.advance(1);
    expect(h.health().ready).toBe(true);
    expect(h.told).toEqual(['ProbeWarning app: Readiness probe warning: Probe terminated redirects']);
  });

  it('is never overlapped: one that hangs is the only one until it ends', async () => {
    const h = house({ readinessProbe: probe('ready', { periodSeconds: 1, timeoutSeconds: 30 }) });
    h.answers.ready = 'hang';
    await h.clock.advance(10_000);
    expect(h.looks).toEqual([{ kind: 'ready', atMs: 0, timeoutMs: 30_000 }]);
    h.answers.ready = ok;
    h.hangs[0]?.end(bad);
    await settle();
    await h.clock.advance(0);
    expect(h.times('ready')).toEqual([0, 10]);
  });

  it('drifts within a twentieth of its period', async () => {
    const h = house({ readinessProbe: probe('ready') }, { random: () => 0 });
    await h.clock.advance(20_000);
    expect(h.times('ready')).toEqual([0, 9.5, 19]);
  });
});

describe('a liveness probe', () => {
  it('fails its container after as many failures as it says, and looks no more', async () => {
    const h = house({ livenessProbe: probe('live', { terminationGracePeriodSeconds: 4 }) });
    h.answers.live = bad;
    await h.clock.advance(24_999);
    expect(h.health()).toEqual({ started: true, ready: true });
    await h.clock.advance(1);
    const failed = { probe: 'liveness', message: 'Container app failed liveness probe', gracePeriodSeconds: 4 };
    expect(h.health()).toEqual({ started: true, ready: true, failed });
    expect(h.wakes()).toBe(1);
    await h.clock.advance(60_000);
    expect(h.times('live')).toEqual([5, 15, 25]);
  });

  it('forgets failures with a success', async () => {
    const h = house({ livenessProbe: probe('live', { failureThreshold: 2 }) });
    h.answers.live = bad;
    await h.clock.advance(6_000);
    h.answers.live = ok;
    await h.clock.advance(10_000);
    h.answers.live = bad;
    await h.clock.advance(10_000);
    expect(h.health().failed).toBeUndefined();
    await h.clock.advance(10_000);
    expect(h.health().failed?.probe).toBe('liveness');
  });

  it('does not begin before the startup probe has succeeded, and stops when the pod goes', async () => {
    const h = house({
      startupProbe: probe('start'),
      livenessProbe: probe('live', { initialDelaySeconds: 1 }),
      readinessProbe: probe('ready'),
    });
    h.answers.start = bad;
    await h.clock.advance(10_000);
    expect(h.health()).toEqual({ started: false, ready: false });
    expect(h.looks.every(({ kind }) => kind === 'start')).toBe(true);
    h.answers.start = ok;
    await h.clock.advance(10_000);
    expect(h.health()).toEqual({ started: true, ready: true });
    expect(h.times('live')).toEqual([20]);
    advance(h.record, { type: 'delete', gracePeriodSeconds: 30 });
    h.probes.sync(h.record);
    await h.clock.advance(30_000);
    expect(h.times('live')).toEqual([20]);
    expect(h.times('start').at(-1)).toBe(20);
  });

  it('of a container that failed does not concern the one that comes after it', async () => {
    const h = house({ livenessProbe: probe('live', { failureThreshold: 1 }) });
    h.answers.live = bad;
    await h.clock.advance(5_000);
    expect(h.health().failed).toBeDefined();
    h.run('app-0', { state: 'exited' });
    h.run('app-1');
    h.probes.sync(h.record);
    expect(h.health()).toEqual({ started: true, ready: true });
    await h.clock.advance(5_000);
    expect(h.health().failed).toBeDefined();
  });
});

describe('a startup probe', () => {
  it('fails its container when it never succeeds in all its periods', async () => {
    const h = house({ startupProbe: probe('start', { failureThreshold: 2, periodSeconds: 5 }) });
    h.answers.start = bad;
    await h.clock.advance(9_999);
    expect(h.health()).toEqual({ started: false, ready: false });
    await h.clock.advance(1);
    expect(h.health().failed).toEqual({ probe: 'startup', message: 'Container app failed startup probe' });
  });
});

describe('a postStart hook', () => {
  const container = { lifecycle: { postStart: { sleep: { seconds: 1 } } }, readinessProbe: probe('ready') };

  it('keeps its container from being started, and its probes from beginning', async () => {
    const h = house(container);
    await h.clock.advance(30_000);
    expect(h.health()).toEqual({ started: false, ready: false, starting: true });
    expect(h.looks).toEqual([]);
    h.hooks[0]?.(true);
    await settle();
    await h.clock.advance(0);
    expect(h.health()).toEqual({ started: true, ready: true });
  });

  it('that fails fails its container', async () => {
    const h = house(container);
    h.hooks[0]?.(false);
    await settle();
    expect(h.health()).toEqual({ started: false, ready: false, failed: { probe: 'hook', message: 'FailedPostStartHook' } });
    expect(h.wakes()).toBe(1);
  });
});

describe('an agent that starts again', () => {
  const said = (started: boolean, ready: boolean, id = 'app-0'): Pod['status'] => ({
    containerStatuses: [{ name: 'app', containerID: `docker://${id}`, state: { running: {} }, started, ready }],
  });
  const container = {
    startupProbe: probe('start'),
    readinessProbe: probe('ready'),
    livenessProbe: probe('live'),
    lifecycle: { postStart: { sleep: { seconds: 1 } } },
  };

  it('goes on with what the API says of the same container, and spreads its probes over their periods', async () => {
    const h = house(container, { status: said(true, true), startedAgoMs: 3_600_000, random: () => 0.25 });
    expect(h.health()).toEqual({ started: true, ready: true });
    expect(h.hooks).toHaveLength(0);
    h.answers.ready = bad;
    await h.clock.advance(20_000);
    expect(h.health().ready).toBe(true);
    expect(h.times('start')).toEqual([]);
    expect(h.times('ready')[0]).toBe(2.5);
    expect(h.times('live')[0]).toBe(2.5);
    await h.clock.advance(10_000);
    expect(h.health().ready).toBe(false);
  });

  it('waits on for a startup probe that had not succeeded', async () => {
    const h = house(container, { status: said(false, false) });
    expect(h.health()).toEqual({ started: false, ready: false });
    await h.clock.advance(5_000);
    expect(h.times('start')).toEqual([5]);
    expect(h.health().started).toBe(true);
  });

  it('takes nothing from what was said of another container of that name', () => {
    const h = house(container, { status: said(true, true, 'app-9') });
    expect(h.health()).toEqual({ started: false, ready: false, starting: true });
    expect(h.hooks).toHaveLength(1);
  });

  it('is not confused by a clock that was set back', async () => {
    const h = house({ readinessProbe: probe('ready', { initialDelaySeconds: 3 }) }, { startedAgoMs: -600_000 });
    await h.clock.advance(3_000);
    expect(h.times('ready')).toEqual([3]);
  });
});

it('a pod that is gone leaves no timer and no check behind', async () => {
  const h = house({ readinessProbe: probe('ready'), livenessProbe: probe('live') });
  h.answers.ready = 'hang';
  await h.clock.advance(1);
  h.probes.forget('u');
  expect(h.clock.pending).toBe(0);
  expect(h.hangs[0]?.signal.aborted).toBe(true);
  h.hangs[0]?.end(bad);
  await h.clock.advance(60_000);
  expect(h.told).toEqual([]);
  expect(h.clock.pending).toBe(0);
});

it('a container without probes and hooks is started and ready when it runs', () => {
  const h = house({});
  expect(h.health()).toEqual({ started: true, ready: true });
  expect(h.clock.pending).toBe(0);
});
