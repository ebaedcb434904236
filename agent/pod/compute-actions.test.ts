import { describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { ago, container, dead, describePlan, image, now } from '../../test/builders/plan.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { restartBackOff } from './back-off.ts';
import { computeActions, type PlanOptions } from './compute-actions.ts';
import { type ContainerHealth, runningIsHealthy } from './health.ts';
import { observe } from './observation.ts';

const web = pod('web').uid('u').container('app', { image });
const quiet: PlanOptions = {
  kill: undefined,
  finished: false,
  previous: undefined,
  notBefore: () => undefined,
  health: runningIsHealthy,
  backOff: restartBackOff,
};

/** Every container that runs fails like this. */
function sick(failed: NonNullable<ContainerHealth['failed']>): Partial<PlanOptions> {
  return { health: { of: () => ({ started: true, ready: false, failed }) } };
}

/** Three containers, the second with a postStart hook. */
const hooked = pod('web')
  .uid('u')
  .container('a', { image })
  .container('b', { image, lifecycle: { postStart: { sleep: { seconds: 1 } } } })
  .container('c', { image });
const starting: Partial<PlanOptions> = {
  health: { of: ({ containerName }) => ({ started: false, ready: false, ...(containerName === 'b' ? { starting: true } : {}) }) },
};

interface Row {
  title: string;
  pod?: typeof web;
  observed: ObservedContainer[];
  options?: Partial<PlanOptions>;
  plan: string[];
}

const rows: Row[] = [
  { title: 'starts sandbox and container of a new pod', observed: [], plan: ['run app 0 (0 in a row)', 'sandbox 0'] },
  { title: 'starts only the container once the sandbox runs', observed: [container('POD')], plan: ['run app 0 (0 in a row)'] },
  { title: 'leaves a pod alone that runs', observed: [container('POD'), container('app')], plan: [] },
  {
    title: 'replaces a dead sandbox and everything in it',
    observed: [dead('POD', 0, 5), container('app')],
    plan: ['remove POD-0', 'run app 1 (0 in a row)', 'sandbox 1', 'stop app-0: Stopping container app'],
  },
  {
    title: 'moves to another sandbox when something is to start in one that the engine took the network of',
    observed: [container('POD', { ip: undefined }), dead('app', 128, 500)],
    plan: ['remove POD-0', 'run app 1 (1 in a row)', 'sandbox 1'],
  },
  {
    title: 'leaves what runs in such a sandbox alone',
    observed: [container('POD', { ip: undefined }), container('app')],
    plan: [],
  },
  {
    title: 'expects no address of a sandbox in the network of the machine',
    pod: web.spec({ hostNetwork: true }),
    observed: [container('POD', { ip: undefined }), dead('app', 128, 500)],
    plan: ['run app 1 (1 in a row)'],
  },
  {
    title: 'kills what lost its sandbox and is never to run again',
    pod: web.restartPolicy('Never'),
    observed: [container('app')],
    plan: ['stop app-0: Stopping container app'],
  },
  {
    title: 'starts containers together up to one with a postStart hook',
    pod: hooked,
    observed: [container('POD')],
    plan: ['run a 0 (0 in a row)', 'run b 0 (0 in a row)'],
  },
  {
    title: 'keeps those behind a postStart hook from starting while it runs, and looks after the others',
    pod: hooked,
    observed: [container('POD'), dead('a', 1, 0), container('b')],
    options: starting,
    plan: ['run a 1 (1 in a row)'],
  },
  {
    title: 'starts those behind a postStart hook when it has ended',
    pod: hooked,
    observed: [container('POD'), container('a'), container('b')],
    plan: ['run c 0 (0 in a row)'],
  },
  {
    title: 'does not wait for a postStart hook of a container that cannot start now',
    pod: hooked,
    observed: [container('POD'), container('a')],
    options: { notBefore: (name) => (name === 'b' ? now + 5000 : undefined) },
    plan: ['run c 0 (0 in a row)', 'wake in 5'],
  },
  {
    title: 'restarts at once after the first end',
    observed: [container('POD'), dead('app', 1, 0)],
    plan: ['run app 1 (1 in a row)'],
  },
  {
    title: 'waits 10 s after the second end',
    observed: [container('POD'), dead('app', 1, 3, { attempt: 1 })],
    plan: ['wake in 7'],
  },
  {
    title: 'waits 5 minutes at most',
    observed: [container('POD'), dead('app', 1, 100, { attempt: 30 })],
    plan: ['wake in 200'],
  },
  {
    title: 'forgets earlier ends after 10 minutes of running',
    observed: [container('POD'), dead('app', 1, 1, { attempt: 9, startedAt: ago(700) })],
    plan: ['run app 10 (1 in a row)'],
  },
  {
    title: 'waits no longer than the delay when the clock was set back',
    observed: [container('POD'), dead('app', 1, -3600, { attempt: 1 })],
    plan: ['wake in 10'],
  },
  {
    title: 'keeps one dead container and removes the older ones',
    observed: [
      container('POD'),
      container('app', { attempt: 3 }),
      dead('app', 1, 9, { attempt: 2 }),
      dead('app', 1, 20, { attempt: 1 }),
    ],
    plan: ['remove app-1'],
  },
  {
    title: 'does not restart a success with OnFailure, while another container runs',
    pod: web.restartPolicy('OnFailure').container('side', { image }),
    observed: [container('POD'), dead('app', 0, 5), container('side')],
    plan: [],
  },
  {
    title: 'restarts a failure with OnFailure',
    pod: web.restartPolicy('OnFailure'),
    observed: [container('POD'), dead('app', 2, 5)],
    plan: ['run app 1 (1 in a row)'],
  },
  {
    title: 'finishes a pod whose containers have all ended for good',
    pod: web.restartPolicy('Never'),
    observed: [container('POD'), dead('app', 1, 5)],
    plan: ['finish', 'stop POD-0'],
  },
  {
    title: 'restarts nothing of a pod that the API says has ended',
    pod: web.phase('Failed'),
    observed: [dead('app', 1, 5)],
    plan: ['finish'],
  },
  {
    title: 'restarts a container whose image was changed',
    observed: [container('POD'), container('app', { specHash: 'other' })],
    plan: ['run app 1 (0 in a row)', 'stop app-0: Container app definition changed, will be restarted'],
  },
  {
    title: 'does not wait for back-off when the image was changed',
    observed: [container('POD'), dead('app', 1, 1, { attempt: 5, specHash: 'other' })],
    plan: ['run app 6 (0 in a row)'],
  },
  {
    title: 'makes a container anew that was created and never started',
    observed: [container('POD'), container('app', { state: 'created' })],
    plan: ['remove app-0', 'run app 0 (0 in a row)'],
  },
  {
    title: 'stops a container that is no longer in the pod',
    observed: [container('POD'), container('app'), container('old')],
    plan: ['remove old-0', 'stop old-0: Stopping container old'],
  },
  {
    title: 'waits after a failed pull',
    observed: [container('POD')],
    options: { notBefore: (name) => (name === 'app' ? now + 5000 : undefined) },
    plan: ['wake in 5'],
  },
  {
    title: 'starts nothing while the sandbox is backing off',
    observed: [],
    options: { notBefore: (name) => (name === '' ? now + 2000 : undefined) },
    plan: ['wake in 2'],
  },
  {
    title: 'restarts at once what failed its liveness probe, with the grace period of the probe',
    observed: [container('POD'), container('app')],
    options: sick({ probe: 'liveness', message: 'Container app failed liveness probe', gracePeriodSeconds: 3 }),
    plan: ['run app 1 (1 in a row)', 'stop app-0 within 3: Container app failed liveness probe, will be restarted'],
  },
  {
    title: 'leaves it to the back-off when a container that failed its probe was restarted before',
    observed: [container('POD'), container('app', { attempt: 1 })],
    options: sick({ probe: 'startup', message: 'Container app failed startup probe' }),
    plan: ['stop app-1: Container app failed startup probe, will be restarted'],
  },
  {
    title: 'only stops what failed its probe and is never to run again',
    pod: web.restartPolicy('Never'),
    observed: [container('POD'), container('app')],
    options: sick({ probe: 'liveness', message: 'Container app failed liveness probe' }),
    plan: ['stop app-0: Container app failed liveness probe'],
  },
  {
    title: 'only stops what failed its postStart hook; its end decides about a restart',
    observed: [container('POD'), container('app')],
    options: sick({ probe: 'hook', message: 'FailedPostStartHook' }),
    plan: ['stop app-0: FailedPostStartHook'],
  },
  {
    title: 'kills everything of a deleted pod with its grace period',
    observed: [container('POD'), container('app')],
    options: { kill: { gracePeriodSeconds: 7 } },
    plan: ['kill with 7', 'stop app-0'],
  },
  {
    title: 'goes on counting restarts where the API remembers containers that the engine lost',
    pod: web.status({ containerStatuses: [{ name: 'app', containerID: 'docker://x', restartCount: 4 }] }),
    observed: [],
    plan: ['run app 5 (0 in a row)', 'sandbox 0'],
  },
];

describe('computeActions', () => {
  it.each(rows)('$title', ({ pod: builder = web, observed, options = {}, plan }) => {
    const object = builder.build();
    const all = { ...quiet, previous: object.status, ...options };
    expect(describePlan(computeActions(object, observe(observed), now, all))).toEqual(plan);
  });

  it.each([
    ['update', ['resize app-0']],
    ['restart', ['run app 1 (0 in a row)', 'stop app-0: Container app resize requires restart']],
  ] as const)('gives a running container another size by its way: %s', (change, plan) => {
    const sizes = { sizeChange: () => change };
    const observed = observe([container('POD'), container('app')]);
    expect(describePlan(computeActions(web.build(), observed, now, { ...quiet, ...sizes }))).toEqual(plan);
  });

  const debugged = web.with((object) => {
    object.spec!.ephemeralContainers = [{ ephemeralContainerCommon: { name: 'sh', image } }];
  });
  const ran = { ephemeralContainerStatuses: [{ name: 'sh', containerID: 'docker://x' }] };

  it.each([
    ['starts beside what runs', [container('POD'), container('app')], undefined, ['run sh 0 (0 in a row)']],
    ['is left alone while it runs', [container('POD'), container('app'), container('sh')], undefined, []],
    ['is not started again', [container('POD'), container('app'), dead('sh', 1, 3)], undefined, []],
    ['is not started again when the engine has lost it', [container('POD'), container('app')], ran, []],
    ['waits for a sandbox', [], undefined, ['run app 0 (0 in a row)', 'sandbox 0']],
  ])('an ephemeral container %s', (_what, observed, previous, plan) => {
    expect(describePlan(computeActions(debugged.build(), observe(observed), now, { ...quiet, previous }))).toEqual(plan);
  });

  it('runs a container that has ended for good once more when its image was changed meanwhile', () => {
    const observed = observe([container('POD'), dead('app', 0, 3, { specHash: 'of another image' })]);
    const plan = computeActions(web.restartPolicy('Never').build(), observed, now, quiet);
    expect(describePlan(plan)).toEqual(['run app 1 (0 in a row)']);
  });

  it('ends a pod that only the engine knows with the grace period of its labels', () => {
    const plan = computeActions(undefined, observe([container('app', { gracePeriodSeconds: 12 })]), now, quiet);
    expect(describePlan(plan)).toEqual(['kill with 12', 'stop app-0']);
  });
});
