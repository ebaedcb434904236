import { describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { ago, container, dead, describePlan, image, now } from '../../test/builders/plan.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { restartBackOff } from './back-off.ts';
import { computeActions, type PlanOptions } from './compute-actions.ts';
import { runningIsHealthy } from './health.ts';
import { observe } from './observation.ts';

const quiet: PlanOptions = {
  kill: undefined,
  finished: false,
  previous: undefined,
  notBefore: () => undefined,
  health: runningIsHealthy,
  backOff: restartBackOff,
};

const bare = pod('web').uid('u').container('app', { image });
const two = bare.initContainer('first', { image }).initContainer('second', { image });
const side = bare
  .initContainer('proxy', { image, restartPolicy: 'Always' })
  .initContainer('setup', { image })
  .initContainer('logger', { image, restartPolicy: 'Always' });
const box = container('POD');
const here = { sandboxId: 'POD-0' };
const there = { sandboxId: 'gone' };
const oldBox = dead('POD', 0, 1);
const notStarted = { health: { of: () => ({ started: false, ready: false }) } };
const ended = (exitCode: number, startedAgo: number) => ({
  terminated: { exitCode, startedAt: { seconds: ago(startedAgo).getTime() / 1000 } },
});

interface Row {
  title: string;
  pod?: typeof bare;
  observed: ObservedContainer[];
  options?: Partial<PlanOptions>;
  plan: string[];
}

const rows: Row[] = [
  { title: 'starts only the first init container of a new pod', observed: [], plan: ['run first 0 (0 in a row)', 'sandbox 0'] },
  { title: 'waits while an init container runs', observed: [box, container('first', here)], plan: [] },
  {
    title: 'starts the next when an init container has succeeded',
    observed: [box, dead('first', 0, 1, here)],
    plan: ['run second 0 (0 in a row)'],
  },
  {
    title: 'starts the containers when the last init container has succeeded',
    observed: [box, dead('first', 0, 5, here), dead('second', 0, 1, here)],
    plan: ['run app 0 (0 in a row)'],
  },
  {
    title: 'leaves a pod alone that has initialized and runs',
    observed: [box, dead('first', 0, 5, here), dead('second', 0, 1, here), container('app', here)],
    plan: [],
  },
  {
    title: 'restarts a failed init container at once the first time, also with OnFailure',
    pod: two.restartPolicy('OnFailure'),
    observed: [box, dead('first', 1, 1, here)],
    plan: ['run first 1 (1 in a row)'],
  },
  {
    title: 'waits before it restarts an init container that failed again',
    observed: [box, dead('first', 1, 3, { ...here, attempt: 1 })],
    plan: ['wake in 7'],
  },
  {
    title: 'ends a pod that is never restarted when an init container fails',
    pod: two.restartPolicy('Never'),
    observed: [box, dead('first', 1, 1, here)],
    plan: ['finish', 'stop POD-0'],
  },
  {
    title: 'ends a pod whose init container may not run again, whatever the policy of the pod',
    pod: bare.initContainer('first', { image, restartPolicy: 'Never' }),
    observed: [box, dead('first', 1, 1, here)],
    plan: ['finish', 'stop POD-0'],
  },
  {
    title: 'does not run init containers again that were removed, while a later one is there',
    observed: [box, container('second', here)],
    plan: [],
  },
  {
    title: 'does not run init containers again that were removed, once a container of the pod has begun',
    observed: [box, dead('app', 1, 1, here)],
    plan: ['run app 1 (1 in a row)'],
  },
  {
    title: 'believes the API that an init container is done after its container was removed',
    pod: two.status({
      podIP: box.ip,
      initContainerStatuses: [{ name: 'first', containerID: 'docker://x', state: ended(0, 50) }],
    }),
    observed: [box],
    plan: ['run second 0 (0 in a row)'],
  },
  {
    title: 'does not believe it when that was in a sandbox before this one',
    pod: two.status({
      initContainerStatuses: [{ name: 'first', containerID: 'docker://x', restartCount: 2, state: ended(0, 500) }],
    }),
    observed: [box],
    plan: ['run first 3 (0 in a row)'],
  },
  {
    title: 'does not believe it when that was at another address, however old this sandbox is',
    pod: two
      .ip('10.0.0.1')
      .status({ initContainerStatuses: [{ name: 'first', containerID: 'docker://x', restartCount: 2, state: ended(0, 50) }] }),
    observed: [container('POD', { ip: '10.0.0.2' })],
    plan: ['run first 3 (0 in a row)'],
  },
  {
    title: 'stops what has lost its sandbox before it initializes anew',
    observed: [oldBox, dead('first', 0, 9, here), dead('second', 0, 8, here), container('app', here)],
    plan: ['stop app-0: Stopping container app'],
  },
  {
    title: 'runs all init containers again in a new sandbox',
    observed: [oldBox, dead('first', 0, 9, here), dead('second', 0, 8, here), dead('app', 137, 1, here)],
    plan: ['remove POD-0', 'run first 1 (0 in a row)', 'sandbox 1'],
  },
  {
    title: 'does not take containers of an earlier sandbox for a sign of having begun',
    observed: [box, dead('first', 0, 1, { ...here, attempt: 1 }), dead('second', 0, 8, there), dead('app', 137, 7, there)],
    plan: ['run second 1 (0 in a row)'],
  },
  {
    title: 'keeps one dead container of each init container',
    observed: [
      box,
      dead('first', 0, 1, { ...here, attempt: 2 }),
      dead('first', 1, 8, { ...here, attempt: 1 }),
      container('app', here),
    ],
    plan: ['remove first-1'],
  },
  {
    title: 'does not run an init container again whose image was changed after it was done',
    observed: [box, dead('first', 0, 1, { ...here, specHash: 'other' }), container('second', { ...here, specHash: 'other' })],
    plan: [],
  },
  {
    title: 'runs an init container that failed at once with its new image',
    observed: [box, dead('first', 1, 1, { ...here, attempt: 4, specHash: 'other' })],
    plan: ['run first 5 (0 in a row)'],
  },
  {
    title: 'starts what comes after a sidecar when that has started',
    pod: side,
    observed: [box, container('proxy', here)],
    plan: ['run setup 0 (0 in a row)'],
  },
  {
    title: 'waits for a sidecar that has not started',
    pod: side,
    observed: [box, container('proxy', here)],
    options: notStarted,
    plan: [],
  },
  {
    title: 'restarts a sidecar that ended while a later init container runs',
    pod: side,
    observed: [box, dead('proxy', 0, 1, here), container('setup', here)],
    plan: ['run proxy 1 (1 in a row)'],
  },
  {
    title: 'does not hold up the pod for a sidecar that restarts after it had started once',
    pod: side,
    observed: [box, dead('proxy', 1, 1, { ...here, attempt: 3 }), dead('setup', 0, 5, here), container('logger', here)],
    plan: ['run app 0 (0 in a row)', 'wake in 39'],
  },
  {
    title: 'restarts sidecars of a pod that runs, and one that is gone',
    pod: side,
    observed: [box, dead('logger', 0, 1, here), container('app', here)],
    plan: ['run logger 1 (1 in a row)', 'run proxy 0 (0 in a row)'],
  },
  {
    title: 'restarts a sidecar whose image was changed',
    pod: side,
    observed: [box, container('proxy', { ...here, specHash: 'other' }), container('logger', here), container('app', here)],
    plan: ['run proxy 1 (0 in a row)', 'stop proxy-0: Init container proxy definition changed, will be restarted'],
  },
  {
    title: 'ends a pod whose containers are done, its sidecars last and in reverse order',
    pod: side.restartPolicy('Never'),
    observed: [box, container('proxy', here), dead('setup', 0, 5, here), container('logger', here), dead('app', 0, 1, here)],
    plan: ['finish', 'then stop proxy-0 (2)', 'then stop logger-0 (1)'],
  },
  {
    title: 'stops the sandbox after the sidecars',
    pod: side.restartPolicy('Never'),
    observed: [box, dead('proxy', 0, 1, here), dead('setup', 0, 5, here), dead('logger', 137, 1, here), dead('app', 0, 1, here)],
    plan: ['finish', 'stop POD-0'],
  },
  {
    title: 'stops the sidecars of a deleted pod after the others, in reverse order',
    pod: side,
    observed: [box, container('proxy', here), container('logger', here), container('app', here)],
    options: { kill: { gracePeriodSeconds: 7 } },
    plan: ['kill with 7', 'then stop proxy-0 (2)', 'then stop logger-0 (1)', 'stop app-0'],
  },
];

describe('init containers and sidecars', () => {
  it.each(rows)('$title', ({ pod: builder = two, observed, options = {}, plan }) => {
    const object = builder.build();
    const all = { ...quiet, previous: object.status, ...options };
    expect(describePlan(computeActions(object, observe(observed), now, all))).toEqual(plan);
  });
});
