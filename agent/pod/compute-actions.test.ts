import { describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { type Action, computeActions, type Plan, type PlanOptions } from './compute-actions.ts';
import { observe } from './observation.ts';
import { specHash } from './spec-hash.ts';

const now = Date.UTC(2026, 0, 1, 12);
const ago = (seconds: number) => new Date(now - seconds * 1000);
const image = 'app:1';

function container(containerName: string, change: Partial<ObservedContainer> = {}): ObservedContainer {
  const attempt = change.attempt ?? 0;
  return {
    podUid: 'u',
    podName: 'web',
    podNamespace: 'default',
    containerName,
    attempt,
    restartsInRow: attempt,
    specHash: containerName === 'POD' ? '' : specHash({ name: containerName, image }),
    gracePeriodSeconds: 30,
    id: `${containerName}-${attempt}`,
    state: 'running',
    image,
    imageId: 'sha256:1',
    createdAt: ago(100),
    startedAt: ago(100),
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: undefined,
    pid: undefined,
    ...change,
  };
}

const dead = (name: string, exitCode: number, finishedAgo: number, change: Partial<ObservedContainer> = {}) =>
  container(name, { state: 'exited', exitCode, finishedAt: ago(finishedAgo), startedAt: ago(finishedAgo + 1), ...change });

const web = pod('web').uid('u').container('app', { image });
const quiet: PlanOptions = { kill: undefined, finished: false, notBefore: () => undefined };

function words(action: Action): string {
  if (action.type === 'run-sandbox') return `sandbox ${action.attempt}`;
  if (action.type === 'run-container') return `run ${action.name} ${action.attempt} (${action.restartsInRow} in a row)`;
  return `${action.type === 'stop-container' ? 'stop' : 'remove'} ${action.container.id}`;
}

function describePlan(plan: Plan): string[] {
  if (plan.type === 'sync')
    return [...plan.actions.map(words), ...(plan.wakeAt === undefined ? [] : [`wake in ${(plan.wakeAt - now) / 1000}`])].sort();
  if (plan.type === 'finish')
    return ['finish', ...plan.stop.map((one) => `stop ${one.id}`), ...plan.remove.map((one) => `remove ${one.id}`)];
  return [
    `kill with ${plan.gracePeriodSeconds}`,
    ...plan.containers.map((one) => one.id),
    ...plan.sandboxes.map((one) => one.id),
  ];
}

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
    plan: ['remove POD-0', 'run app 1 (0 in a row)', 'sandbox 1', 'stop app-0'],
  },
  {
    title: 'kills what lost its sandbox and is never to run again',
    pod: web.restartPolicy('Never'),
    observed: [container('app')],
    plan: ['stop app-0'],
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
    plan: ['run app 1 (0 in a row)', 'stop app-0'],
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
    plan: ['remove old-0', 'stop old-0'],
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
    title: 'kills everything of a deleted pod with its grace period',
    observed: [container('POD'), container('app')],
    options: { kill: { gracePeriodSeconds: 7 } },
    plan: ['kill with 7', 'app-0', 'POD-0'],
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
    expect(describePlan(computeActions(builder.build(), observe(observed), now, { ...quiet, ...options }))).toEqual(plan);
  });

  it('ends a pod that only the engine knows with the grace period of its labels', () => {
    const plan = computeActions(undefined, observe([container('app', { gracePeriodSeconds: 12 })]), now, quiet);
    expect(describePlan(plan)).toEqual(['kill with 12', 'app-0']);
  });
});
