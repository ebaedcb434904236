import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { pod } from '../builders/index.ts';
import { image, isGone, isRunning, podWhere, until } from './agent-harness.ts';
import { houseAgent } from './agent-house.ts';

const house = houseAgent('init');

// The beginning and the end of pods under an agent that goes and comes, against an engine in memory.

const make = (name: string) => pod(name).uid('').on(house.node).container('app', { image });
const sidecar = { image, restartPolicy: 'Always' };

const starts = (name: string) =>
  house.machine.fake
    .callsOf('runContainer')
    .flatMap(({ target }) => (target.startsWith(`${name}/`) ? [target.slice(name.length + 1)] : []));
const ends = (name: string, container: string, exitCode: number) =>
  house.machine.fake.exit(house.machine.fake.container(name, container).id, exitCode);
const runs = (name: string, container: string) =>
  until(`${container} runs`, () =>
    house.machine.fake
      .containers()
      .some((each) => each.podName === name && each.containerName === container && each.state === 'running'),
  );
const initState = (object: Pod, name: string) => object.status?.initContainerStatuses?.find((each) => each.name === name)?.state;

describe('init containers', () => {
  it('are not run again by an agent that starts again in the middle, also when their remains are gone', async () => {
    const name = `middle-${house.serial}`;
    await house.create(make(name).initContainer('first', { image }).initContainer('second', { image }));
    await runs(name, 'first');
    ends(name, 'first', 0);
    await runs(name, 'second');
    await podWhere(house.server.client, name, (object) => initState(object, 'first')?.terminated !== undefined);
    await house.agent.stop();
    const { runtime } = house.machine.fake;
    await runtime.remove(house.machine.fake.container(name, 'first').id);
    ends(name, 'second', 0);
    await runtime.remove(house.machine.fake.container(name, 'second').id);
    house.startAgent();
    // Of the first the API says that it is done; the end of the second was not seen, so it runs once more.
    await until('the second has begun again', () => starts(name).length === 3);
    ends(name, 'second', 0);
    await podWhere(house.server.client, name, isRunning);
    expect(starts(name)).toEqual(['first', 'second', 'second', 'app']);
  });

  it('run again after the engine came back without the sandbox, and their pod says so meanwhile', async () => {
    const name = `anew-${house.serial}`;
    await house.create(make(name).initContainer('setup', { image }));
    await runs(name, 'setup');
    ends(name, 'setup', 0);
    await podWhere(house.server.client, name, isRunning);
    for (const container of ['POD', 'app']) ends(name, container, 137);
    await until('it initializes again', () => starts(name).length === 3);
    await podWhere(house.server.client, name, (object) => initState(object, 'setup')?.running !== undefined);
    ends(name, 'setup', 0);
    await podWhere(
      house.server.client,
      name,
      (object) => isRunning(object) && object.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(starts(name)).toEqual(['setup', 'app', 'setup', 'app']);
  });
});

describe('sidecars', () => {
  it('are told to end when the containers have ended, the last one first', async () => {
    const name = `order-${house.serial}`;
    await house.create(make(name).initContainer('proxy', sidecar).initContainer('logger', sidecar));
    await podWhere(house.server.client, name, isRunning);
    const release = house.machine.fake.hold('stop', `${name}/app`);
    await house.server.client.pods.delete({ namespace: 'default', name }, { gracePeriodSeconds: 30 });
    await until('the container is told to end', () => house.machine.fake.callsOf('stop').length === 1);
    release();
    await until('gone', () => isGone(house.server.client, name));
    expect(house.machine.fake.callsOf('stop').map(({ target }) => target)).toEqual(
      ['app', 'logger', 'proxy'].map((each) => `${name}/${each}`),
    );
  });

  it('do not keep a pod that is done from ending', async () => {
    const name = `done-${house.serial}`;
    await house.create(make(name).restartPolicy('Never').initContainer('proxy', sidecar));
    await podWhere(house.server.client, name, isRunning);
    ends(name, 'app', 0);
    const done = await podWhere(house.server.client, name, (object) => object.status?.phase === 'Succeeded');
    expect(initState(done, 'proxy')?.terminated).toMatchObject({ exitCode: 143 });
    expect(starts(name)).toEqual(['proxy', 'app']);
  });
});

describe('the end of a pod that the agent decides', () => {
  it('comes when its time is over, even while it waits for an image', async () => {
    const name = `late-${house.serial}`;
    const release = house.machine.fake.hold('pull');
    await house.create(pod(name).uid('').on(house.node).container('app', { image: 'slow:1' }).spec({ activeDeadlineSeconds: 3 }));
    const failed = await podWhere(house.server.client, name, (object) => object.status?.phase === 'Failed');
    expect(failed.status?.reason).toBe('DeadlineExceeded');
    release();
  });
});

describe('admission', () => {
  const wants = (name: string) => make(name).nodeSelector({ [`disk${house.serial}`]: 'ssd' });
  const eventsOf = async (name: string) =>
    (await house.server.client.events.list({ namespace: 'default' })).items.filter(
      ({ involvedObject }) => involvedObject?.name === name,
    );

  it('refuses what the node does not match, with one event, and does not refuse for a label that was added a moment ago', async () => {
    await house.create(wants(`refused-${house.serial}`));
    const refused = await podWhere(house.server.client, `refused-${house.serial}`, (object) => object.status?.phase === 'Failed');
    expect(refused.status).toMatchObject({
      reason: 'NodeAffinity',
      message: "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
    const events = await until('an event', async () =>
      (await eventsOf(`refused-${house.serial}`)).find((each) => each.reason === 'NodeAffinity'),
    );
    expect(events.count ?? 1).toBe(1);
    await house.server.client.nodes.patch({ name: house.node }, { metadata: { labels: { [`disk${house.serial}`]: 'ssd' } } });
    await house.create(wants(`taken-${house.serial}`));
    await podWhere(house.server.client, `taken-${house.serial}`, isRunning);
    expect(starts(`refused-${house.serial}`)).toEqual([]);
  });

  it('gives what runs its room first when the agent starts again', async () => {
    const [first, second] = [`first-${house.serial}`, `second-${house.serial}`];
    await house.create(make(first).requests({ cpu: '3' }));
    await podWhere(house.server.client, first, isRunning);
    await house.agent.stop();
    await house.create(make(second).requests({ cpu: '3' }));
    house.startAgent();
    const refused = await podWhere(house.server.client, second, (object) => object.status?.phase === 'Failed');
    expect(refused.status?.reason).toBe('OutOfcpu');
    expect(isRunning(await house.server.client.pods.get({ namespace: 'default', name: first }))).toBe(true);
    expect(starts(first)).toEqual(['app']);
  });
});
