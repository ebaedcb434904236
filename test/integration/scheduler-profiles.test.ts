import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSchedulerConfig } from '../../scheduler/main.ts';
import { node, pod } from '../builders/index.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { addNode, addPod, type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';

/** As a user without a compiler writes it. */
const byColour = `
export default {
  contract: 1,
  plugins: [
    {
      name: 'Colour',
      args: { read: (value, at) => (typeof value.colour === 'string' ? value : at.refuse('say which colour', 'colour')) },
      create: ({ colour }) => ({
        name: 'Colour',
        filter: (_, { nodes }, row) =>
          nodes[row].metadata.labels?.colour === colour
            ? undefined
            : { kind: 'reject', reason: 'node(s) had another colour', code: 'unresolvable', wakeOn: ['node/added', 'node/labels'] },
        explain: (_, { nodes }, row) => 'is ' + (nodes[row].metadata.labels?.colour ?? 'without colour') + ', not ' + colour,
        score: (_, __, rows, scores) => scores.fill(42),
      }),
    },
  ],
};
`;
const faulty = `
module.exports = {
  contract: 1,
  plugins: [
    { name: 'Hangs', create: () => ({ name: 'Hangs', prepare() { for (;;); }, filter() {} }) },
    { name: 'Throws', create: () => ({ name: 'Throws', score() { throw new Error('out of paint'); } }) },
  ],
};
`;

const config = `
apiVersion: scheduler.berth.io/v1
kind: SchedulerConfiguration
pluginModules: [colours/by-node, ./faulty.cjs]
profiles:
  - schedulerName: default-scheduler
  - schedulerName: red
    plugins: {enabled: [{name: Colour, weight: 7}]}
    pluginConfig: [{name: Colour, args: {colour: red}}]
  - schedulerName: hangs
    plugins: {enabled: [{name: Hangs}]}
  - schedulerName: throws
    plugins: {enabled: [{name: Throws}]}
`;

let cluster: SchedulerCluster;
let cli: CommandLine;
let file: string;

beforeAll(async () => {
  cluster = await startSchedulerCluster();
  cli = await openCommandLine(cluster.admin);
  const packageFolder = join(cli.folder, 'node_modules', 'colours');
  await mkdir(packageFolder, { recursive: true });
  await writeFile(join(packageFolder, 'package.json'), JSON.stringify({ exports: { './by-node': { import: './by-node.mjs' } } }));
  await writeFile(join(packageFolder, 'by-node.mjs'), byColour);
  await writeFile(join(cli.folder, 'faulty.cjs'), faulty);
  file = join(cli.folder, 'scheduler.yaml');
  await writeFile(file, config);
  for (const colour of ['red', 'blue', 'green'])
    await addNode(cluster, node(colour).labels({ colour }).capacity({ cpu: '2', memory: '8Gi', pods: '20' }).build());
  cluster.startScheduler(undefined, { profiles: await readSchedulerConfig(file) });
});
afterAll(async () => {
  await cli?.close();
  await cluster?.stop();
});

const asking = (schedulerName: string, name: string, cpu = '100m') =>
  pod(name).spec({ schedulerName }).requests({ cpu, memory: '64Mi' });
const placeOf = async (name: string) =>
  (await cluster.podsUntil((pods) => pods.some(({ metadata, spec }) => metadata?.name === name && spec?.nodeName))).find(
    ({ metadata }) => metadata?.name === name,
  )?.spec?.nodeName;
const refusalOf = async (name: string) =>
  (
    await cluster.podsUntil((pods) =>
      pods.some(
        ({ metadata, status }) => metadata?.name === name && status?.conditions?.some(({ status }) => status === 'False'),
      ),
    )
  )
    .find(({ metadata }) => metadata?.name === name)
    ?.status?.conditions?.find(({ type }) => type === 'PodScheduled');

describe('a scheduler with profiles and plugins from packages', () => {
  it("places a pod by the plugin of the profile that it names, and why shows the plugin's name, score and reasons", async () => {
    await addPod(cluster, asking('red', 'rose'));
    expect(await placeOf('rose')).toBe('red');
    const { code, out } = await cli.berth('why', 'pod/rose');
    expect(code).toBe(0);
    expect(out).toMatch(/^pod default\/rose \(scheduler red\) is on red, put there/);
    expect(out).toMatch(/^FITS {3}.* Colour x7$/m);
    expect(out).toMatch(/^red \* .* 42\.0$/m);
    expect(out).toMatch(/^blue {11}Colour {8}is blue, not red$/m);
    const last = await cli.berth('why', '--last', '--scheduler', 'red');
    expect(last.out).toMatch(/default +rose +red +1\/3 +red$/m);
    await addPod(cluster, asking('default-scheduler', 'plain'));
    const place = await placeOf('plain');
    const [newest, before] = (await cli.berth('why', '--last')).out.trimEnd().split('\n').slice(1);
    expect(newest).toMatch(new RegExp(`default +plain +${place} +3/3 +default-scheduler$`));
    expect(before).toMatch(/default +rose +red +1\/3 +red$/);
    expect((await cli.berth('why', '--last', '--scheduler', 'default-scheduler')).out).not.toContain('rose');
    await cluster.client.pods.delete({ namespace: 'default', name: 'plain' }, { gracePeriodSeconds: 0 });
  });

  it('says of a pod that fits nowhere what the plugin has against the nodes', async () => {
    await addPod(cluster, asking('red', 'vast', '1950m'));
    expect(await refusalOf('vast')).toMatchObject({
      reason: 'Unschedulable',
      message: '0/3 nodes are available: 2 node(s) had another colour, 1 insufficient cpu.',
    });
    await cluster.client.pods.delete({ namespace: 'default', name: 'vast' });
  });

  it('simulates each pod by its own profile', async () => {
    const simulated = ['red', 'default-scheduler'].map((schedulerName) => {
      const { spec } = asking(schedulerName, 'x').build();
      return { metadata: { namespace: 'default', name: schedulerName }, spec: { schedulerName, containers: spec!.containers } };
    });
    const { pods = [] } = await cluster.client.placements.simulate({ pods: simulated });
    expect(pods.map(({ name, nodeName, fitting }) => [name, nodeName === 'red', fitting])).toEqual([
      ['red', true, 1],
      ['default-scheduler', false, 3],
    ]);
  });

  it('fails the attempts of a plugin that throws or never ends, with its name in the event, and goes on with the others', async () => {
    await addPod(cluster, asking('hangs', 'stuck'));
    await addPod(cluster, asking('throws', 'unpainted'));
    await addPod(cluster, asking('red', 'poppy'));
    expect(await placeOf('poppy')).toBe('red');
    const messages = {
      stuck: 'plugin "Hangs" failed in prepare: no answer after 2000 ms',
      unpainted: 'plugin "Throws" failed in score: out of paint',
    };
    for (const [name, message] of Object.entries(messages)) {
      expect(await refusalOf(name)).toMatchObject({ reason: 'SchedulerError', message });
      const events = async () =>
        (await cluster.client.events.list({ namespace: 'default' })).items.filter(
          ({ involvedObject }) => involvedObject?.name === name,
        );
      await expect.poll(async () => (await events()).map(({ message }) => message), { timeout: 10_000 }).toContain(message);
      const { code, err } = await cli.berth('why', `pod/${name}`);
      expect(code).toBe(1);
      expect(err).toContain(
        `${message}; pods of this scheduler wait for that, too: mend the plugin, or take it out of profile "`,
      );
      await cluster.client.pods.delete({ namespace: 'default', name });
    }
    await addPod(cluster, asking('default-scheduler', 'after'));
    expect(await placeOf('after')).toBeTruthy();
  });

  it('never over-commits a node between profiles', async () => {
    // The red node has 1.8 CPU left, and the others at most 2 each.
    const names = Array.from({ length: 16 }, (_, i) => [i % 2 === 0 ? 'red' : 'default-scheduler', `crowd-${i}`] as const);
    await Promise.all(names.map(([schedulerName, name]) => addPod(cluster, asking(schedulerName, name, '500m'))));
    const isCrowd = (name = '') => name.startsWith('crowd-');
    const pods = await cluster.podsUntil((all) =>
      all
        .filter(({ metadata }) => isCrowd(metadata?.name))
        .every(({ spec, status }) => spec?.nodeName || status?.conditions?.some(({ reason }) => reason === 'Unschedulable')),
    );
    const taken = new Map<string, number>();
    for (const { metadata, spec } of pods)
      if (spec?.nodeName) taken.set(spec.nodeName, (taken.get(spec.nodeName) ?? 0) + (isCrowd(metadata?.name) ? 500 : 100));
    expect(pods.filter(({ metadata }) => isCrowd(metadata?.name))).toHaveLength(16);
    expect([...taken.values()].every((milli) => milli <= 2_000)).toBe(true);
    expect(taken.get('red')).toBeGreaterThan(1_500);
  });

  it('is missed by a pod that names a scheduler that there is not, with those that there are', async () => {
    await addPod(cluster, asking('rde', 'lost'));
    const { code, err } = await cli.berth('why', 'pod/lost');
    expect(code).toBe(1);
    expect(err).toContain(
      'no scheduler called "rde" is connected: is it running? Connected: default-scheduler, hangs, red, throws',
    );
  });
});

describe('the command line', () => {
  it.each<[string, string[], string]>([
    ['scheduler', ['--config', 'BAD'], 'BAD:4:18: profiles[0].plugins.nothing: unknown field; there are disabled, enabled'],
    ['scheduler', ['--config', 'NONE'], "cannot read the scheduler's configuration NONE: there is no such file"],
    ['scheduler', ['--config', 'BAD', '--scheduler-name', 'a'], '--scheduler-name and --config exclude each other'],
    ['server', ['--scheduler-config', 'BAD'], 'BAD:4:18: profiles[0].plugins.nothing: unknown field'],
    ['up', ['--scheduler-config', 'BAD'], 'BAD:4:18: profiles[0].plugins.nothing: unknown field'],
    ['up', ['--scheduler-config', 'NONE'], "cannot read the scheduler's configuration NONE: there is no such file"],
    ['server', ['--scheduler-config', 'BAD', '--no-scheduler'], '--scheduler-config and --no-scheduler exclude each other'],
  ])('%s %j is refused before anything starts', async (command, words, message) => {
    const [bad, none] = [join(cli.folder, 'bad.yaml'), join(cli.folder, 'none.yaml')];
    await writeFile(
      bad,
      `apiVersion: scheduler.berth.io/v1\nkind: SchedulerConfiguration\nprofiles:\n  - {plugins: {  nothing: 1}}\n`,
    );
    const given = words.map((word) => word.replace('BAD', bad).replace('NONE', none));
    const { code, err } = await cli.berth(command, '--data-dir', join(cli.folder, 'no-data'), ...given);
    expect(code).toBe(1);
    expect(err).toContain(message.replace('BAD', bad).replace('NONE', none));
  });
});
