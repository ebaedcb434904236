import { describe, expect, it } from 'vitest';
import type { ContainerStatus, PodCondition, PodStatus } from '../../api/generated/types.ts';
import { podReadyCell, podStatusCell } from '../../api/kinds/pod/status-cells.ts';
import { pod } from '../../test/builders/index.ts';
import { container, dead, image, now } from '../../test/builders/plan.ts';
import { restartBackOff } from '../pod/back-off.ts';
import { runningIsHealthy } from '../pod/health.ts';
import { observe } from '../pod/observation.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { computeStatus, type StatusInput } from './compute-status.ts';

const bare = pod('web').uid('u').container('app', { image });
const two = bare.initContainer('first', { image }).initContainer('second', { image });
const side = bare.initContainer('proxy', { image, restartPolicy: 'Always' });
const here = { sandboxId: 'POD-0' };
const box = container('POD');
const oldBox = dead('POD', 0, 1);

function statusOf(builder: typeof bare, observed: ObservedContainer[], change: Partial<StatusInput> = {}): PodStatus {
  const object = builder.build();
  return computeStatus({
    pod: object,
    previous: object.status,
    observed: observe(observed),
    nowMs: now,
    hostIP: '10.0.0.1',
    killing: false,
    refused: undefined,
    waiting: () => undefined,
    health: runningIsHealthy,
    backOff: restartBackOff,
    ...change,
  });
}

const conditionOf = ({ conditions }: PodStatus, type: string): PodCondition | undefined =>
  conditions?.find((condition) => condition.type === type);
/** "first: waiting PodInitializing; app: running, ready". */
const stateWords = (statuses: readonly ContainerStatus[] | undefined): string =>
  (statuses ?? [])
    .map(({ name, state = {}, ready, started }) => {
      const [kind = ''] = Object.keys(state);
      const { reason = '' } = state.waiting ?? state.terminated ?? {};
      return `${name}: ${[`${kind} ${reason}`.trim(), ready && 'ready', started && 'started'].filter(Boolean).join(', ')}`;
    })
    .join('; ');

interface Row {
  title: string;
  pod?: typeof bare;
  observed: ObservedContainer[];
  change?: Partial<StatusInput>;
  phase: string;
  init: string;
  main: string;
  /** The reason why it is not initialized. */
  initialized?: string;
  cells: string;
}

const rows: Row[] = [
  {
    title: 'a pod of which nothing runs yet',
    observed: [],
    phase: 'Pending',
    init: 'first: waiting PodInitializing; second: waiting PodInitializing',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [first second]',
    cells: 'Init:0/2 0/1',
  },
  {
    title: 'a pod that initializes',
    observed: [box, dead('first', 0, 3, here), container('second', here)],
    phase: 'Pending',
    init: 'first: terminated Completed, ready; second: running, started',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [second]',
    cells: 'Init:1/2 0/1',
  },
  {
    title: 'a pod whose init container failed and is about to run again',
    observed: [box, dead('first', 1, 0, here)],
    phase: 'Pending',
    init: 'first: terminated Error; second: waiting PodInitializing',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [first second]',
    cells: 'Init:Error 0/1',
  },
  {
    title: 'a pod whose init container fails again and again',
    observed: [box, dead('first', 1, 3, { ...here, attempt: 1 })],
    phase: 'Pending',
    init: 'first: waiting CrashLoopBackOff; second: waiting PodInitializing',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [first second]',
    cells: 'Init:CrashLoopBackOff 0/1',
  },
  {
    title: 'a pod whose init container waits for its image',
    observed: [box],
    change: { waiting: (name) => (name === 'first' ? { reason: 'ImagePullBackOff', message: 'no' } : undefined) },
    phase: 'Pending',
    init: 'first: waiting ImagePullBackOff; second: waiting PodInitializing',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [first second]',
    cells: 'Init:ImagePullBackOff 0/1',
  },
  {
    title: 'a pod that has failed to initialize for good',
    pod: two.restartPolicy('Never'),
    observed: [box, dead('first', 0, 3, here), dead('second', 7, 1, here)],
    phase: 'Failed',
    init: 'first: terminated Completed, ready; second: terminated Error',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [second]',
    cells: 'Init:Error 0/1',
  },
  {
    title: 'a pod that has initialized and runs',
    observed: [box, dead('first', 0, 3, here), dead('second', 0, 2, here), container('app', here)],
    phase: 'Running',
    init: 'first: terminated Completed, ready; second: terminated Completed, ready',
    main: 'app: running, ready, started',
    cells: 'Running 1/1',
  },
  {
    title: 'a pod that runs and whose init containers were removed',
    observed: [box, container('app', here)],
    phase: 'Running',
    init: 'first: terminated Completed, ready; second: terminated Completed, ready',
    main: 'app: running, ready, started',
    cells: 'Running 1/1',
  },
  {
    title: 'a pod that initializes anew because its sandbox died',
    observed: [oldBox, dead('first', 0, 9, here), dead('second', 0, 8, here), dead('app', 137, 1, here)],
    phase: 'Pending',
    init: 'first: waiting PodInitializing; second: waiting PodInitializing',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [first second]',
    cells: 'Init:0/2 0/1',
  },
  {
    title: 'a sidecar that has not started',
    pod: side,
    observed: [box, container('proxy', here)],
    change: { health: { of: () => ({ started: false, ready: false }) } },
    phase: 'Pending',
    init: 'proxy: running',
    main: 'app: waiting PodInitializing',
    initialized: 'containers with incomplete status: [proxy]',
    cells: 'Init:0/1 0/2',
  },
  {
    title: 'a sidecar beside a container',
    pod: side,
    observed: [box, container('proxy', here), container('app', here)],
    phase: 'Running',
    init: 'proxy: running, ready, started',
    main: 'app: running, ready, started',
    cells: 'Running 2/2',
  },
  {
    title: 'a sidecar that restarts beside a container that runs',
    pod: side,
    observed: [box, dead('proxy', 1, 1, { ...here, attempt: 2 }), container('app', here)],
    phase: 'Running',
    init: 'proxy: waiting CrashLoopBackOff',
    main: 'app: running, ready, started',
    cells: 'Running 1/2',
  },
  {
    title: 'a sidecar that still runs after the containers have ended',
    pod: side.restartPolicy('Never'),
    observed: [box, container('proxy', here), dead('app', 0, 1, here)],
    phase: 'Running',
    init: 'proxy: running, ready, started',
    main: 'app: terminated Completed',
    cells: 'Completed 1/2',
  },
  {
    title: 'a pod whose sidecar ended badly, after the containers',
    pod: side.restartPolicy('Never'),
    observed: [oldBox, dead('proxy', 137, 0, here), dead('app', 0, 1, here)],
    phase: 'Succeeded',
    init: 'proxy: terminated Error',
    main: 'app: terminated Completed',
    cells: 'Completed 0/2',
  },
];

describe('the status of init containers and sidecars', () => {
  it.each(rows)('$title', ({ pod: builder = two, observed, change = {}, phase, init, main, initialized, cells }) => {
    const status = statusOf(builder, observed, change);
    const { status: done, reason, message } = conditionOf(status, 'Initialized') ?? {};
    expect({
      phase: status.phase,
      init: stateWords(status.initContainerStatuses),
      main: stateWords(status.containerStatuses),
    }).toEqual({ phase, init, main });
    expect(done === 'True' ? undefined : `${reason}: ${message}`).toBe(initialized && `ContainersNotInitialized: ${initialized}`);
    const shown = { ...builder.build(), status };
    expect(`${podStatusCell(shown)} ${podReadyCell(shown)}`).toBe(cells);
  });

  it('counts a sidecar that is not ready among the unready containers, and no init container', () => {
    const health = { of: ({ containerName }: ObservedContainer) => ({ started: true, ready: containerName !== 'proxy' }) };
    const status = statusOf(side.initContainer('setup', { image }), [box, container('proxy', here), container('app', here)], {
      health,
    });
    expect(conditionOf(status, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [proxy]',
    });
    const initializing = [box, container('proxy', here), container('setup', here)];
    expect(conditionOf(statusOf(side.initContainer('setup', { image }), initializing, { health }), 'Ready')).toMatchObject({
      message: 'containers with unready status: [proxy app]',
    });
  });

  it('does not forget that an init container is done while the next is awaited, when its remains are gone', () => {
    const first = statusOf(two, [box, dead('first', 0, 3, here)]);
    const later = statusOf(two, [box], { previous: first });
    expect(stateWords(later.initContainerStatuses)).toBe('first: terminated Completed, ready; second: waiting PodInitializing');
  });

  it('keeps the count of restarts of what the engine has lost', () => {
    const first = statusOf(bare, [box, container('app', { ...here, attempt: 4 })]);
    const later = statusOf(bare, [box], { previous: first });
    expect(later.containerStatuses?.[0]).toMatchObject({ restartCount: 4, containerID: 'docker://app-4' });
  });
});

describe('readiness gates', () => {
  const gated = bare.spec({ readinessGates: [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }] });
  const running = [box, container('app', here)];

  it('hold up a pod whose containers are ready, each with its reason', () => {
    const builder = gated.condition({ type: 'example.com/b', status: 'Unknown' });
    const status = statusOf(builder, running);
    expect(conditionOf(status, 'ContainersReady')?.status).toBe('True');
    expect(conditionOf(status, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message:
        'corresponding condition of pod readiness gate "example.com/a" does not exist., ' +
        'the status of pod readiness gate "example.com/b" is not "True", but Unknown',
    });
  });

  it('let a pod be ready when all are true, and leave the conditions to their writers', () => {
    const met = gated.condition({ type: 'example.com/a', status: 'True' }).condition({ type: 'example.com/b', status: 'True' });
    const status = statusOf(met, running);
    expect(conditionOf(status, 'Ready')?.status).toBe('True');
    expect(status.conditions?.map(({ type }) => type)).not.toContain('example.com/a');
  });
});

describe('a pod that the agent ends', () => {
  const ended = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' };

  it('has failed once nothing of it runs any more, with the reason', () => {
    const before = statusOf(bare, [box, container('app', here)], { ended });
    expect(before).toMatchObject({ phase: 'Running' });
    expect(before.reason).toBeUndefined();
    const after = statusOf(bare, [oldBox, dead('app', 0, 1, here)], { ended });
    expect(after).toMatchObject({ phase: 'Failed', ...ended });
    expect(stateWords(after.containerStatuses)).toBe('app: terminated Completed');
    expect(conditionOf(after, 'Ready')).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });
});

describe('a pod that restarts all its containers', () => {
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
  const both = bare.restartPolicy('Never').container('watch', { image, restartPolicy: 'Never', restartPolicyRules: [rule] });
  const anew = (status: PodStatus) => {
    const { status: value, reason } = conditionOf(status, 'AllContainersRestarting') ?? {};
    return { phase: status.phase, value, reason };
  };

  it('says so from the end that asked for it until something runs again, and has not failed', () => {
    const [app, watch] = [container('app', here), dead('watch', 88, 0, here)];
    expect(anew(statusOf(both, [box, app, container('watch', here)]))).toEqual({ phase: 'Running', value: 'False' });
    const yes = { phase: 'Running', value: 'True', reason: 'RestartAllContainersStarted' };
    expect(anew(statusOf(both, [box, app, watch]))).toEqual(yes);
    const stopped = statusOf(both, [box, dead('app', 137, 0, here), watch]);
    expect(anew(stopped)).toEqual(yes);
    const empty = statusOf(both, [box], { previous: stopped });
    expect(anew(empty)).toEqual(yes);
    const again = statusOf(both, [box, container('app', { ...here, attempt: 1 })], { previous: empty });
    expect(anew(again).value).toBe('False');
    expect(again.containerStatuses?.[0]).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 137 } } });
  });

  it('has no such condition without such a rule', () => {
    expect(anew(statusOf(bare, [box])).value).toBeUndefined();
  });
});
