import { describe, expect, it } from 'vitest';
import type { Container } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { ago, container, dead, describePlan, image, now } from '../../test/builders/plan.ts';
import { backOffUpTo, computeRestart, restartBackOff } from './back-off.ts';
import { computeActions, type PlanOptions } from './compute-actions.ts';
import { runningIsHealthy } from './health.ts';
import { observe } from './observation.ts';
import type { Role } from './pod-containers.ts';
import { mayRestart } from './restart-policy.ts';

const rule = (action: string, operator: string, ...values: number[]) => ({ action, exitCodes: { operator, values } });
const on42 = { restartPolicy: 'Never', restartPolicyRules: [rule('Restart', 'In', 42)] };

describe('whether a container runs again', () => {
  it.each<[policy: 'Always' | 'OnFailure' | 'Never', role: Role, own: Container, exitCode: number, again: boolean]>([
    ['Always', 'main', {}, 0, true],
    ['OnFailure', 'main', {}, 0, false],
    ['OnFailure', 'main', {}, 1, true],
    ['Never', 'main', {}, 1, false],
    ['Always', 'init', {}, 0, false],
    ['Always', 'init', {}, 1, true],
    ['Never', 'init', {}, 1, false],
    ['Never', 'sidecar', {}, 0, true],
    ['Always', 'main', { restartPolicy: 'Never' }, 1, false],
    ['Never', 'main', { restartPolicy: 'Always' }, 0, true],
    ['Never', 'init', { restartPolicy: 'OnFailure' }, 1, true],
    ['Always', 'main', on42, 42, true],
    ['Always', 'main', on42, 41, false],
    ['Never', 'main', { restartPolicy: 'Never', restartPolicyRules: [rule('Restart', 'NotIn', 1, 2)] }, 3, true],
    ['Never', 'main', { restartPolicy: 'Never', restartPolicyRules: [rule('Restart', 'NotIn', 1, 2)] }, 2, false],
  ])('pod %s, %s container with %j that ended with %i: %s', (policy, role, own, exitCode, again) => {
    expect(mayRestart(pod('p').restartPolicy(policy).build(), { role, container: own }, exitCode)).toBe(again);
  });
});

describe('the back-off of restarts', () => {
  const waits = (limits: typeof restartBackOff) =>
    [1, 2, 6].map((restartsInRow) => computeRestart(dead('app', 1, 0, { restartsInRow }), now, limits).delayMs / 1000);

  it('doubles up to five minutes, or up to what the node says', () => {
    expect(waits(restartBackOff)).toEqual([10, 20, 300]);
    expect(waits(backOffUpTo(60_000))).toEqual([10, 20, 60]);
  });
  it('is always the same when the longest wait is below the first', () => {
    expect(waits(backOffUpTo(2_000))).toEqual([2, 2, 2]);
  });
});

describe('an end that restarts all containers', () => {
  const quiet: PlanOptions = {
    kill: undefined,
    finished: false,
    previous: undefined,
    notBefore: () => undefined,
    health: runningIsHealthy,
    backOff: restartBackOff,
  };
  const both = pod('web')
    .uid('u')
    .restartPolicy('Never')
    .initContainer('setup', { image })
    .container('app', { image })
    .container('watch', { image, restartPolicy: 'Never', restartPolicyRules: [rule('RestartAllContainers', 'In', 88)] });
  const trigger = dead('watch', 88, 1);
  const plan = (...observed: ReturnType<typeof container>[]) =>
    describePlan(computeActions(both.build(), observe(observed), now, quiet));
  const why = 'Container watch exited with 88, all containers will be restarted';

  it('stops the others without a grace period, removes them, and itself last', () => {
    const setup = dead('setup', 0, 50);
    expect(plan(container('POD'), setup, container('app'), trigger)).toEqual([`stop app-0 within 0: ${why}`]);
    expect(plan(container('POD'), setup, dead('app', 137, 0), trigger)).toEqual(['remove app-0', 'remove setup-0']);
    expect(plan(container('POD'), trigger)).toEqual(['remove watch-0']);
    expect(plan(container('POD'))).toEqual(['run setup 0 (0 in a row)']);
  });

  it('is waited for when it happens again and again', () => {
    expect(plan(container('POD'), dead('watch', 88, 4, { attempt: 2 }))).toEqual(['wake in 16']);
    expect(plan(container('POD'), dead('watch', 88, 4, { attempt: 2, startedAt: ago(900) }))).toEqual(['remove watch-2']);
  });

  it('runs init containers again that were said to be done', () => {
    const said = {
      conditions: [{ type: 'AllContainersRestarting', status: 'True' }],
      initContainerStatuses: [
        { name: 'setup', containerID: 'docker://x', state: { terminated: { exitCode: 0, startedAt: { seconds: now / 1000 } } } },
      ],
    };
    const next = computeActions(both.build(), observe([container('POD')]), now, { ...quiet, previous: said });
    expect(describePlan(next)).toEqual(['run setup 1 (0 in a row)']);
  });
});
