import { describe, expect, it } from 'vitest';
import { pod } from '../builders/index.ts';
import { image, isGone, isRunning, podWhere, until } from './agent-harness.ts';
import { houseAgent } from './agent-house.ts';

const house = houseAgent('early');

const make = (name: string) =>
  pod(name)
    .uid('')
    .on(house.node)
    .container('app', { image, command: ['sleep', '1000'] });

describe('an agent that knows a sandbox before that runs', () => {
  const createdOf = (name: string) =>
    until('created', async () =>
      house.machine.fake.callsOf('createContainer').length > 0 ? house.machine.fake.container(name, 'app') : undefined,
    );

  it('creates the container meanwhile, and starts it once the sandbox runs', async () => {
    const run = house.machine.fake.holdCreatedSandboxes();
    await house.create(make(`early-${house.serial}`));
    const early = await createdOf(`early-${house.serial}`);
    expect([early.state, house.machine.fake.container(`early-${house.serial}`, 'POD').state]).toEqual(['created', 'created']);
    run();
    const { status } = await podWhere(house.server.client, `early-${house.serial}`, isRunning);
    expect(status?.containerStatuses?.[0]).toMatchObject({ containerID: `docker://${early.id}`, restartCount: 0 });
    expect(house.machine.fake.containers()).toHaveLength(2);
  });

  it('removes the container when the pod goes meanwhile, which never starts', async () => {
    const run = house.machine.fake.holdCreatedSandboxes();
    await house.create(make(`leaving-${house.serial}`));
    await createdOf(`leaving-${house.serial}`);
    await house.server.client.pods.delete({ namespace: 'default', name: `leaving-${house.serial}` }, { gracePeriodSeconds: 1 });
    // What the agent hears, it hears in order: with the next pod it knows that this one is to go.
    await house.create(make(`next-${house.serial}`));
    await until('heard', async () => house.machine.fake.callsOf('runSandbox').length === 2 || undefined);
    run();
    await until('gone', () => isGone(house.server.client, `leaving-${house.serial}`));
    expect(house.machine.fake.containers().filter(({ podName }) => podName === `leaving-${house.serial}`)).toEqual([]);
    expect(house.machine.fake.callsOf('runContainer').map(({ target }) => target)).not.toContain(`leaving-${house.serial}/app`);
  });

  it('removes the container when the sandbox does not come to run, and begins anew with another', async () => {
    const run = house.machine.fake.holdCreatedSandboxes();
    house.machine.fake.behave('POD', { startError: 'no room' });
    await house.create(make(`again-${house.serial}`));
    const early = await createdOf(`again-${house.serial}`);
    run();
    await until('removed', async () => (house.machine.fake.containers().some(({ id }) => id === early.id) ? undefined : true));
    house.machine.fake.behave('POD', {});
    const { status } = await podWhere(house.server.client, `again-${house.serial}`, isRunning);
    expect(status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0 });
  });
});
