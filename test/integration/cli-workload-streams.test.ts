import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { image, isRunning, type Machine, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { openWorkloadCli, type WorkloadCli } from './workload-cli.ts';

// logs, exec and last lines of a workload's pods: the real server, controllers and agent; containers in memory.
let w: WorkloadCli;
let machine: Machine;
let agent: RunningAgent;
let names: readonly string[];

beforeAll(async () => {
  w = await openWorkloadCli();
  machine = await startMachine();
  agent = startAgent(w.server, machine, 'n1');
  const { client } = w.server;
  await until('node', () => client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const labels = { app: 'web' };
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image, command: ['sleep', '1000'] }] };
  await client.deployments.create({
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  const pods = await until('two running pods', async () => {
    const found = await w.podsOf('web');
    return found.length === 2 && found.every(isRunning) ? found : undefined;
  });
  names = pods.map(nameOf).sort();
  for (const name of names) machine.fake.writeLog(machine.fake.container(name, 'main').id, `from ${name}`);
});
afterAll(async () => {
  await agent.stop();
  await w.close();
  await machine.remove();
});

const nameOf = ({ metadata }: Pod): string => metadata?.name ?? '';

it('logs shows one pod of a workload, or with --all-pods all of them with a prefix', async () => {
  const one = await w.berth('logs deployment/web');
  const [, chosen = ''] = /^Found 2 pods, using pod\/(\S+)\n$/.exec(one.err) ?? [];
  expect(names).toContain(chosen);
  expect(one).toMatchObject({ code: 0, out: `from ${chosen}\n` });
  const all = await w.berth('logs deploy/web --all-pods');
  expect([all.err, all.out.trimEnd().split('\n').sort()]).toEqual(['', names.map((name) => `[pod/${name}/main] from ${name}`)]);
  const selected = await w.berth('logs -l app=web --prefix --tail=1');
  expect(selected.out.trimEnd().split('\n').sort()).toEqual(names.map((name) => `[pod/${name}/main] from ${name}`));
});

it('exec runs in a pod of the workload', async () => {
  const said = await w.berth('exec deploy/web -q -- true');
  expect(said.err).not.toMatch(/not found|Found/);
});

it('why and describe show the last lines of a container that crashed', async () => {
  const [first = ''] = names;
  const crash = (): void => {
    const { id } = machine.fake.container(first, 'main');
    machine.fake.writeLog(id, 'panic: no database');
    machine.fake.exit(id, 3);
  };
  await until('a container that waits to be started again', async () => {
    const { status } = await w.server.client.pods.get({ namespace: 'default', name: first });
    const { state } = status?.containerStatuses?.[0] ?? {};
    if (state?.running) crash();
    return state?.waiting?.reason === 'CrashLoopBackOff' || undefined;
  });
  const { out } = await w.berth('why deployment/web');
  expect(out).toMatch(/^deployment default\/web is not up: 1 of 2 replicas are available, 2 of revision 1\.\n/);
  const { out: described } = await w.berth('describe deployment web');
  for (const text of [out, described]) {
    expect(text).toMatch(/1 pod with container "main" that ended with exit code 3, restarted /);
    expect(text).toMatch(new RegExp(`Last [Ll]og [Ll]ines of ${first}, container main:\n +(from .*\n +)?panic: no database\n`));
  }
});
