import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectMeta } from '../../api/generated/types.ts';
import { isGone, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Verbs about nodes, with a real server and without agents: what they ask for is seen in the API.
let server: RunningServer;
let line: CommandLine;

beforeAll(async () => {
  server = await startServer();
  line = await openCommandLine(server.admin);
  for (const name of ['n1', 'n2']) await server.client.nodes.create({ metadata: { name, labels: { rack: name } }, spec: {} });
});
afterAll(async () => {
  await line.close();
  await server.stop();
  await server.remove();
});

const specOf = async (name: string) => (await server.client.nodes.get({ name })).spec ?? {};
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u1', controller: true };

async function create(name: string, metadata: ObjectMeta = {}, nodeName = 'n1'): Promise<void> {
  await server.client.pods.create({
    metadata: { namespace: 'default', name, labels: { app: 'web' }, ...metadata },
    spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'x' }] },
  });
}

describe('cordon and uncordon', () => {
  it('say what they did, and what was so already', async () => {
    expect((await line.berth('cordon', 'n1', 'node/n2')).out).toBe('node/n1 cordoned\nnode/n2 cordoned\n');
    expect((await specOf('n1')).unschedulable).toBe(true);
    expect((await line.berth('cordon', 'n1')).out).toBe('node/n1 already cordoned\n');
    expect((await line.berth('uncordon', '-l', 'rack in (n1, n2)', '--dry-run=server')).out).toBe(
      'node/n1 uncordoned (server dry run)\nnode/n2 uncordoned (server dry run)\n',
    );
    expect((await line.berth('uncordon', '-l', 'rack')).out).toBe('node/n1 uncordoned\nnode/n2 uncordoned\n');
    expect((await specOf('n1')).unschedulable).toBeFalsy();
  });

  it.each([
    [['cordon'], 'name the nodes to cordon, or choose them with -l'],
    [['cordon', 'n9'], 'node "n9" not found'],
    [['cordon', 'n1', '-l', 'rack'], 'names, -l and --all cannot be given together'],
    [['cordon', 'pod/n1'], '"pod/n1" names no node; write NAME or node/NAME'],
    [['drain', 'n1', '--grace-period', 'soon'], 'It takes a whole number of seconds'],
    [['drain', 'n1', '--timeout', 'soon'], '"soon" is not a span of time'],
    [['taint', 'nodes', 'n1', 'a'], 'say which taints to set or to remove'],
    [['taint', 'nodes', 'n1', 'bad/key/x:NoSchedule'], 'spec.taints[0].key'],
  ])('refuse %j', async (words, message) => {
    const { code, err } = await line.berth(...words);
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe('taint', () => {
  it('sets, changes and removes taints of nodes', async () => {
    expect((await line.berth('taint', 'nodes', 'n1', 'n2', 'gpu=a:NoSchedule', 'old:NoExecute')).out).toBe(
      'node/n1 tainted\nnode/n2 tainted\n',
    );
    expect((await specOf('n2')).taints).toMatchObject([
      { key: 'gpu', value: 'a', effect: 'NoSchedule' },
      { key: 'old', effect: 'NoExecute' },
    ]);
    const refused = await line.berth('taint', 'nodes', 'n1', 'gpu=b:NoSchedule');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('add --overwrite to change it')]);
    expect((await line.berth('taint', 'node', 'n1', 'gpu=b:NoSchedule', 'old-', '--overwrite')).out).toBe('node/n1 modified\n');
    expect((await line.berth('taint', 'nodes', '--all', 'gpu-', 'old-')).out).toBe('node/n1 untainted\nnode/n2 untainted\n');
    expect((await specOf('n1')).taints ?? []).toEqual([]);
  });
});

describe('drain', () => {
  it('does nothing while a pod would be lost, says which and why, and leaves the node cordoned', async () => {
    await create('bare');
    await create('web', { ownerReferences: [owner] });
    const { code, out, err } = await line.berth('drain', 'n1');
    expect([code, out]).toEqual([1, 'node/n1 cordoned\n']);
    expect(err).toContain('(use --force to delete them for good): default/bare\n');
    expect(err).toContain('it stays cordoned: the same command goes on, "berth uncordon n1" gives it pods again');
    expect(await isGone(server.client, 'web')).toBe(false);
  });

  it('shows what it would do', async () => {
    const { out } = await line.berth('drain', 'n1', '--force', '--dry-run');
    expect(out).toBe(
      'node/n1 already cordoned (dry run)\npod/bare evicted (dry run)\npod/web evicted (dry run)\nnode/n1 drained (dry run)\n',
    );
    const asked = await line.berth('drain', 'n1', '--force', '--dry-run=server');
    expect(asked.out).toContain('pod/web evicted (server dry run)\n');
    expect(await isGone(server.client, 'bare')).toBe(false);
  });

  it('ends the pods of the node that the selector chooses, and no others', async () => {
    await create('elsewhere', {}, 'n2');
    const { code, out, err } = await line.berth('drain', 'n1', '--force', '--grace-period', '0', '--pod-selector', 'app=web');
    expect([code, err]).toEqual([0, expect.stringContaining('deleting pods for good that no controller owns: default/bare')]);
    expect(out).toMatch(/^node\/n1 already cordoned\nevicting pod default\/bare\nevicting pod default\/web\n/);
    expect(out).toMatch(/\npod\/(bare|web) evicted\npod\/(bare|web) evicted\nnode\/n1 drained\n$/);
    expect([await isGone(server.client, 'bare'), await isGone(server.client, 'elsewhere')]).toEqual([true, false]);
  });

  it('waits for a budget and names it, gives up after its time, and ends with the next run when the budget allows it', async () => {
    await create('held', { ownerReferences: [owner], labels: { app: 'held' } });
    const pod = await server.client.pods.get({ namespace: 'default', name: 'held' });
    const conditions = [{ type: 'Ready', status: 'True' }];
    await server.client.pods.updateStatus({ ...pod, status: { ...pod.status, phase: 'Running', conditions } });
    const { podDisruptionBudgets } = server.client;
    const key = { namespace: 'default', name: 'held' };
    const selector = { matchLabels: { app: 'held' } };
    const made = await podDisruptionBudgets.create({ metadata: key, spec: { minAvailable: { type: 0, intVal: 1 }, selector } });
    await podDisruptionBudgets.updateStatus({
      ...made,
      status: { observedGeneration: made.metadata!.generation!, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 },
    });
    const words = ['drain', 'n1', '--grace-period', '0'];
    const stuck = await line.berth(...words, '--timeout', '1s');
    expect(stuck.code).toBe(1);
    expect(stuck.err).toContain('pod default/held must wait, and is tried again every 5 s: cannot evict pod "held"');
    expect(stuck.err).toContain('the disruption budget held');
    expect(stuck.err).toContain('node "n1" is not drained within 1s; still there: default/held; it stays cordoned');
    const running = line.berth(...words);
    await until('it has asked', async () => (await specOf('n1')).unschedulable === true);
    await podDisruptionBudgets.delete(key);
    expect((await running).out).toMatch(/pod\/held evicted\nnode\/n1 drained\n$/);
  });

  it('is stopped by Ctrl-C, which says what is left', async () => {
    await create('slow', { ownerReferences: [owner], finalizers: ['test/keep'] });
    const running = line.berth('drain', 'n1', '--grace-period', '0');
    await until('the pod is leaving', async () => {
      const { metadata } = await server.client.pods.get({ namespace: 'default', name: 'slow' });
      return metadata?.deletionTimestamp !== undefined;
    });
    process.emit('SIGINT');
    const { code, err } = await running;
    expect([code, err]).toEqual([130, expect.stringContaining('interrupted; still there: default/slow; it stays cordoned')]);
    await server.client.pods.patch({ namespace: 'default', name: 'slow' }, { metadata: { finalizers: null } });
  });
});
