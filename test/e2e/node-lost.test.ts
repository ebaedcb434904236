import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually } from './installation.ts';
import { conditionOf, housed, isReady, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// Two nodes on one engine are lost: the agent of the first is killed with its supervisor,
// that of the second stands still.
let house: PodHouse;
let first: string;
let second: string;
let standing: ChildProcess;
let lostAt: number;
let before: Record<string, { id: string; state: string }[]>;

interface NodeJson {
  readonly spec: { readonly taints?: readonly { key: string; effect: string }[] };
  readonly status: {
    readonly conditions: readonly { type: string; status: string; reason: string; lastTransitionTime: string }[];
  };
}

const readNode = async (name: string): Promise<NodeJson> => JSON.parse(await house.berth.ok('get', 'node', name, '-o', 'json'));
const readyOf = ({ status }: NodeJson) => status.conditions.find(({ type }) => type === 'Ready');
const untilNode = (name: string, what: string, check: (node: NodeJson) => boolean) =>
  eventually(`node ${name} ${what}`, async () => {
    const node = await readNode(name);
    return check(node) ? node : undefined;
  });
const containers = async (name: string) => (await containersOf(name)).map(({ id, state }) => ({ id, state })).toSorted(byId);
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
const on = (name: string, node: string) => podOf(name, [script(stay)], { nodeSelector: { 'kubernetes.io/hostname': node } });

beforeAll(async () => {
  const berth = await createInstallation('lost');
  house = housed(berth);
  await berth.up();
  first = berth.nodeName;
  second = `${first}-b`;
  const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
  const args = ['agent', '--node-name', second, '--server', berth.address, '--data-dir', berth.dataDir, '--log-level', 'warn'];
  standing = spawn(process.execPath, [launcher, ...args], { stdio: 'ignore' });
  await eventually('the second node is there', async () => (await berth.berth(['get', 'node', second])).code === 0 || undefined);
  await house.apply(on('one', first), on('unwanted', first), on('two', second));
  for (const name of ['one', 'unwanted', 'two']) await house.running(name);
  before = { [first]: await containers(first), [second]: await containers(second) };
});
afterAll(async () => {
  standing?.kill('SIGCONT');
  standing?.kill('SIGTERM');
  await house.berth.purge();
});

describe('a node whose agent is lost', () => {
  it('is NotReady within 40 s, with the reason, whether the agent died or stands still', async () => {
    const run = join(house.berth.dataDir, 'run');
    const pids = ['agent.supervisor.pid', 'agent.pid'].map((file) => Number(readFileSync(join(run, file), 'utf8')));
    standing.kill('SIGSTOP');
    // As if its machine had died: the server, which runs on, must not bring the agent back.
    writeFileSync(join(run, 'agent.stop'), '');
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    lostAt = Date.now();
    for (const name of [first, second]) {
      const node = await untilNode(
        name,
        'is lost',
        (each) => readyOf(each)?.status === 'Unknown' && each.spec.taints !== undefined,
      );
      // As recorded by the server, whenever this test got to look.
      expect(Date.parse(readyOf(node)?.lastTransitionTime ?? '') - lostAt).toBeLessThanOrEqual(40_000);
      // Of the network nothing is said, as in Kubernetes: it does not need the agent.
      expect(node.status.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).sort()).toEqual([
        ...['DiskPressure', 'MemoryPressure'].map((type) => `${type} Unknown NodeStatusUnknown`),
        'NetworkUnavailable False RouteCreated',
        ...['PIDPressure', 'Ready'].map((type) => `${type} Unknown NodeStatusUnknown`),
      ]);
      expect(node.spec.taints?.[0]).toMatchObject({ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' });
    }
    expect(await house.berth.ok('get', 'nodes')).toMatch(new RegExp(`${first} +NotReady .*\n${second} +NotReady `));
    const text = await house.berth.ok('describe', 'node', first);
    for (const part of ['the agent has not reported since', 'node.kubernetes.io/unreachable:NoSchedule', 'NodeNotReady'])
      expect(text).toContain(part);
  });

  it('gets no new pod, and the pod says why', async () => {
    await house.apply(podOf('late', [script(stay)]));
    const late = await house.until('late', 'waits', (pod) => conditionOf(pod, 'PodScheduled')?.status === 'False');
    expect(conditionOf(late, 'PodScheduled')?.message).toBe('0/2 nodes are available: 2 node(s) were unreachable.');
    expect(await house.berth.ok('describe', 'pod', 'late')).toContain('2 node(s) were unreachable');
  });

  it('keeps its pods, which do not count as ready any more, and their containers', async () => {
    const one = await house.until('one', 'is not ready', (pod) => !isReady(pod));
    expect(conditionOf(one, 'Ready')).toMatchObject({ status: 'False', reason: 'NodeNotReady' });
    expect(one.metadata).not.toHaveProperty('deletionTimestamp');
    expect(await house.row('one')).toMatchObject({ ready: '0/1', status: 'Running' });
    for (const name of [first, second]) expect(await containers(name)).toEqual(before[name]);
  });

  it('keeps a deleted pod as Terminating, and lets it go by force', async () => {
    await house.berth.ok('delete', 'pod', 'unwanted', '--no-wait');
    expect(await house.row('unwanted')).toMatchObject({ status: 'Terminating' });
    await house.berth.ok('delete', 'pod', 'unwanted', '--force', '--grace-period', '0');
    expect((await house.berth.berth(['get', 'pod', 'unwanted'])).code).toBe(1);
    expect(await containers(first)).toEqual(before[first]);
  });

  it('is as it was when its agent is back, with the same containers; only what is not wanted any more has gone', async () => {
    standing.kill('SIGCONT');
    await house.berth.up();
    for (const name of [first, second])
      await untilNode(name, 'is back', (node) => readyOf(node)?.status === 'True' && node.spec.taints === undefined);
    for (const name of ['one', 'two', 'late']) await house.running(name);
    const ids = async (name: string, pod: string) =>
      (await containersOf(name)).filter((each) => each.pod === pod).map(({ id }) => id);
    await eventually('what was deleted by force is gone', async () => (await ids(first, 'unwanted')).length === 0 || undefined);
    const known = [...(before[first] ?? []), ...(before[second] ?? [])].map(({ id }) => id);
    for (const [pod, node] of [
      ['one', first],
      ['two', second],
    ] as const) {
      const found = await ids(node, pod);
      expect(found).toHaveLength(2);
      expect(known).toEqual(expect.arrayContaining(found));
    }
    expect((await house.pod('one')).status.containerStatuses?.[0]?.restartCount).toBe(0);
  });
});
