import { describe, expect, it } from 'vitest';
import { messageToJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import type { Pod, PodStatus } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { restartBackOff } from '../pod/back-off.ts';
import { runningIsHealthy } from '../pod/health.ts';
import { observe } from '../pod/observation.ts';
import { specHash } from '../pod/spec-hash.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { computeStatus, type StatusInput } from './compute-status.ts';
import { computePatch } from './status-writer.ts';

const nowMs = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(nowMs + seconds * 1000);

function one(containerName: string, change: Partial<ObservedContainer> = {}): ObservedContainer {
  return {
    podUid: 'u',
    podName: 'web',
    podNamespace: 'default',
    containerName,
    attempt: 0,
    specHash: specHash({ name: containerName, image: 'app:1' }),
    gracePeriodSeconds: 30,
    id: `${containerName}-id`,
    state: 'running',
    image: 'app:1',
    imageId: 'sha256:1',
    createdAt: at(-10),
    startedAt: at(-10),
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: containerName === 'POD' ? '172.17.0.2' : undefined,
    pid: 1,
    ...change,
  };
}

const ended = (exitCode: number, change: Partial<ObservedContainer> = {}) =>
  one('app', { state: 'exited', exitCode, finishedAt: at(-1), ...change });
const web = pod('web').uid('u').container('app', { image: 'app:1' });

function status(object: Pod, containers: ObservedContainer[], change: Partial<StatusInput> = {}) {
  const base = {
    previous: object.status,
    nowMs,
    hostIP: '10.0.0.1',
    killing: false,
    refused: undefined,
    waiting: () => undefined,
    health: runningIsHealthy,
    backOff: restartBackOff,
  };
  return computeStatus({ pod: object, observed: observe(containers), ...base, ...change });
}

const ready = (s: ReturnType<typeof status>) => s.conditions?.find(({ type }) => type === 'Ready');

describe('computeStatus', () => {
  it('says ContainerCreating of a pod of which nothing runs yet', () => {
    const s = status(web.build(), []);
    expect(s.phase).toBe('Pending');
    expect(s.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(ready(s)).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [app]',
    });
  });

  it('says of a container without a sandbox why that cannot be made, and not of one behind an init container', () => {
    const blocked = { reason: 'ContainerCreating', message: 'Failed to create pod sandbox: no address' };
    const waiting = (name: string) => (name === '' ? blocked : undefined);
    expect(status(web.build(), [], { waiting }).containerStatuses?.[0]?.state).toEqual({ waiting: blocked });
    const behind = status(web.initContainer('first').build(), [], { waiting });
    expect(behind.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
  });

  it('says of a container that runs what its probes say of it', () => {
    const health = { of: () => ({ started: true, ready: false }) };
    const s = status(web.build(), [one('POD'), one('app')], { health });
    expect(s.containerStatuses?.[0]).toMatchObject({ started: true, ready: false });
    expect(ready(s)).toMatchObject({ status: 'False', reason: 'ContainersNotReady' });
  });

  it('does not say of a container that it runs before its postStart hook has ended', () => {
    const health = { of: () => ({ started: false, ready: false, starting: true }) };
    const first = status(web.build(), [one('POD'), one('app')], { health });
    expect(first.phase).toBe('Pending');
    expect(first.containerStatuses?.[0]).toMatchObject({
      started: false,
      ready: false,
      state: { waiting: { reason: 'ContainerCreating' } },
    });
    expect(first.containerStatuses?.[0]?.containerID).toBeUndefined();
    const before = ended(1);
    const again = status(web.build(), [one('POD'), before, one('app', { id: 'app-1', attempt: 1 })], { health });
    expect(again.containerStatuses?.[0]).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 1 } } });
  });

  it('says what containers that have ended left to say, after what the engine says', () => {
    const messages = new Map([['app-0', 'bye']]);
    const message = (change: Partial<ObservedContainer>) => {
      const dead = ended(1, { id: 'app-0', ...change });
      return status(web.restartPolicy('Never').build(), [one('POD'), dead], { messages }).containerStatuses?.[0]?.state
        ?.terminated?.message;
    };
    expect(message({})).toBe('bye');
    expect(message({ error: 'no such file' })).toBe('no such file: bye');
  });

  it('shows the stop signal of a container, where one is set', () => {
    const [said] = status(web.build(), [one('POD'), one('app', { stopSignal: 'SIGUSR1' })]).containerStatuses ?? [];
    expect(said?.stopSignal).toBe('SIGUSR1');
  });

  it('tells of ephemeral containers without counting them', () => {
    const debugged = web.with((object) => {
      object.spec!.ephemeralContainers = [{ ephemeralContainerCommon: { name: 'sh', image: 'busybox:1.36' } }];
    });
    const s = status(debugged.build(), [one('POD'), one('app'), one('sh')]);
    expect(s).toMatchObject({ phase: 'Running', ephemeralContainerStatuses: [{ name: 'sh', ready: false, restartCount: 0 }] });
    expect(s.ephemeralContainerStatuses?.[0]?.state?.running).toBeDefined();
    expect(s.containerStatuses?.map(({ name }) => name)).toEqual(['app']);
    expect(ready(s)).toMatchObject({ status: 'True' });
    const gone = status(debugged.build(), [one('POD'), one('app')], { previous: s });
    expect(gone.ephemeralContainerStatuses?.[0]?.state?.terminated?.reason).toBe('ContainerStatusUnknown');
  });

  it('says Running and Ready with addresses when all containers run', () => {
    const s = status(web.build(), [one('POD'), one('app')]);
    expect(s).toMatchObject({ phase: 'Running', podIP: '172.17.0.2', podIPs: [{ ip: '172.17.0.2' }], hostIP: '10.0.0.1' });
    expect(ready(s)?.status).toBe('True');
  });

  it('says of which generation of the spec it speaks, in the status and in each condition, and writes that again when it changes', () => {
    const built = web.build();
    const generation = (value: number): Pod => ({ ...built, metadata: { ...built.metadata, generation: value } });
    const first = status(generation(1), [one('POD'), one('app')]);
    expect(first.observedGeneration).toBe(1);
    expect(first.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([1, 1, 1, 1]);
    const next = status(generation(2), [one('POD'), one('app')], { previous: first });
    expect(computePatch(first, next)).toMatchObject({ observedGeneration: 2 });
    expect(next.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      first.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
    );
  });

  it('gives a pod on the host network the address of the host', () => {
    expect(status(web.spec({ hostNetwork: true }).build(), [one('POD', { ip: undefined })]).podIP).toBe('10.0.0.1');
  });

  it.each([
    ['Completed', ended(0), 'Succeeded'],
    ['Error', ended(3), 'Failed'],
    ['OOMKilled', ended(137, { oomKilled: true }), 'Failed'],
    ['ContainerCannotRun', ended(127, { error: 'exec: not found', startedAt: undefined }), 'Failed'],
  ])('says %s of a container that ended so, and of its pod %s', (reason, container, phase) => {
    const s = status(web.restartPolicy('Never').build(), [one('POD'), container]);
    expect(s.containerStatuses?.[0]?.state?.terminated?.reason).toBe(reason);
    expect(s.phase).toBe(phase);
  });

  it('dates the start of a container that never started with 1970', () => {
    const failed = ended(127, { error: 'exec: not found', startedAt: undefined });
    const s = status(web.restartPolicy('Never').build(), [one('POD'), failed]);
    expect(s.containerStatuses?.[0]?.state?.terminated?.startedAt).toEqual({ seconds: 0 });
  });

  it('goes on saying OOMKilled of a container that an earlier agent said it of, and of no other', () => {
    const killed = status(web.build(), [one('POD'), ended(137, { oomKilled: true, restartsInRow: 1 })]);
    const later = status(web.build(), [one('POD'), ended(137, { restartsInRow: 1 })], { previous: killed });
    expect(later.containerStatuses?.[0]?.lastState?.terminated?.reason).toBe('OOMKilled');
    const next = ended(137, { attempt: 1, restartsInRow: 2, id: 'next' });
    const after = status(web.build(), [one('POD'), next], { previous: later });
    expect(after.containerStatuses?.[0]?.lastState?.terminated?.reason).toBe('Error');
  });

  it('says CrashLoopBackOff with the last state while a restart is waited for', () => {
    const s = status(web.build(), [one('POD'), ended(1, { attempt: 2, restartsInRow: 2 })]);
    expect(s.containerStatuses?.[0]).toMatchObject({
      restartCount: 2,
      state: {
        waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s restarting failed container=app pod=web_default(u)' },
      },
      lastState: { terminated: { exitCode: 1 } },
    });
    expect(s.phase).toBe('Running');
  });

  it('keeps the time of a condition that does not change', () => {
    const first = status(web.build(), [one('POD'), one('app')]);
    const later = status(web.build(), [one('POD'), one('app')], { previous: first, nowMs: nowMs + 60_000 });
    expect(later.conditions).toEqual(first.conditions);
  });

  it('says why a pod was refused and nothing else', () => {
    const s = status(web.build(), [], { refused: { reason: 'OutOfcpu', message: 'no' } });
    expect(s).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu', message: 'no' });
  });
});

describe('computePatch', () => {
  it('is nothing when the API says the same already', () => {
    const s = status(web.build(), [one('POD'), one('app')]);
    expect(computePatch({ ...s, qosClass: 'BestEffort' }, structuredClone(s))).toBeUndefined();
  });

  it('replaces the addresses of the pod, which a strategic merge would add to those before', () => {
    const before: PodStatus = { podIP: '10.0.0.7', podIPs: [{ ip: '10.0.0.7' }], hostIPs: [{ ip: '10.1.0.1' }] };
    const patch = computePatch(before, { podIP: '10.0.0.8', podIPs: [{ ip: '10.0.0.8' }] })!;
    const after = strategicMerge('berth.core.v1.PodStatus', messageToJson('berth.core.v1.PodStatus', before), patch);
    expect(after).toEqual({ podIP: '10.0.0.8', podIPs: [{ ip: '10.0.0.8' }] });
  });

  it('sends only what changed, and takes back what is no longer said', () => {
    const before = status(web.build(), [one('POD')]);
    const after = status(web.build(), [one('POD'), one('app')], { previous: before });
    const patch = computePatch({ ...before, reason: 'Old' }, after);
    expect(Object.keys(patch ?? {}).sort()).toEqual(['conditions', 'containerStatuses', 'phase', 'reason']);
    expect(patch).toMatchObject({
      reason: null,
      conditions: [{ type: 'ContainersReady', reason: null, message: null }, { type: 'Ready' }],
    });
  });
});
