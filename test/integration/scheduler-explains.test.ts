import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiError } from '../../api/errors/index.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { connect, type Pod } from '../../client/index.ts';
import { node, pod } from '../builders/index.ts';
import { readPair, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';

let cluster: SchedulerCluster;
let cli: CommandLine;

beforeAll(async () => {
  cluster = await startSchedulerCluster();
  cli = await openCommandLine(cluster.admin);
  const { client } = cluster;
  const nodes = [
    node('small').capacity({ cpu: '1', memory: '4Gi', pods: '10' }),
    node('large').capacity({ cpu: '4', memory: '16Gi', pods: '10' }),
    node('tainted').capacity({ cpu: '16', memory: '64Gi', pods: '10' }).taint('dedicated', 'NoSchedule', 'db'),
  ];
  for (const each of nodes) {
    const { status, ...rest } = each.build();
    const { metadata } = await client.nodes.create({
      ...rest,
      metadata: { name: rest.metadata?.name, labels: rest.metadata?.labels },
    });
    await client.nodes.updateStatus({ ...rest, metadata, status });
  }
  cluster.startScheduler();
  await client.pods.create(wanting('web', '3'));
  await cluster.podsUntil((pods) => pods.some(({ spec }) => spec?.nodeName === 'large'));
  await client.pods.create(wanting('waits', '2'));
});
afterAll(async () => {
  await cli?.close();
  await cluster?.stop();
});

function wanting(name: string, cpu: string) {
  const { spec } = pod(name).requests({ cpu, memory: '1Gi' }).build();
  return { metadata: { namespace: 'default', name }, spec: { containers: spec!.containers } };
}

describe('a scheduler that is asked', () => {
  it('says of every node why a pending pod cannot be there, in figures, and what would have to change', async () => {
    await cluster.podsUntil((pods) =>
      pods.some(({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable')),
    );
    const explained = await cluster.client.placements.why({ namespace: 'default', name: 'waits' });
    expect(explained.message).toBe(
      '0/3 nodes are available: 2 insufficient cpu, 1 node(s) had untolerated taint {dedicated: db}.',
    );
    expect(explained.nodeName).toBe('');
    const details = (explained.nodes ?? []).map(({ nodeName, obstacles }) => [
      nodeName,
      obstacles?.map(({ plugin, detail }) => [plugin, detail]),
    ]);
    expect(Object.fromEntries(details)).toEqual({
      small: [['NodeResourcesFit', 'needs 2 CPU, the node has 1 in all']],
      large: [['NodeResourcesFit', 'needs 2 CPU, 1 free']],
      tainted: [['TaintToleration', 'taint {dedicated: db}:NoSchedule is not tolerated']],
    });
    expect(explained.remedies).toEqual([
      'on large: needs 2 CPU, 1 free (NodeResourcesFit)',
      'on small: needs 2 CPU, the node has 1 in all (NodeResourcesFit)',
      'on tainted: taint {dedicated: db}:NoSchedule is not tolerated (TaintToleration)',
    ]);
    expect(explained.triedAgainWhen).toContain('a pod leaves a node');
  });

  it('says that a pod is held back by its gates, whatever fits', async () => {
    const { metadata, spec } = wanting('gated', '500m');
    const schedulingGates = [{ name: 'example.com/wait' }, { name: 'example.com/more' }];
    await cluster.client.pods.create({ metadata, spec: { ...spec, schedulingGates } });
    const message = async () => (await cluster.client.placements.why({ namespace: 'default', name: 'gated' })).message;
    await expect
      .poll(message, { timeout: 30_000 })
      .toBe('it is not tried before its scheduling gates are removed: example.com/wait, example.com/more');
    const simulated = await cluster.client.placements.simulate({
      pods: [{ metadata: { ...metadata, name: 'thought' }, spec: { ...spec, schedulingGates } }],
    });
    expect(simulated.pods).toMatchObject([{ nodeName: expect.stringMatching(/small|large/), message: await message() }]);
    await cluster.client.pods.delete({ namespace: 'default', name: 'gated' });
  });

  it('judges a placed pod as if it were not on its node, with the scores of every plugin, and tells how it came there', async () => {
    const explained = await cluster.client.placements.why({ namespace: 'default', name: 'web' });
    expect(explained).toMatchObject({ nodeName: 'large', bestNodes: ['large'], nodeCount: 3, fitting: 1 });
    const [best] = explained.nodes ?? [];
    expect(best?.nodeName).toBe('large');
    const sum = (best?.scores ?? []).reduce((total, { score = 0, weight = 0 }) => total + score * weight, 0);
    expect(best?.total).toBeCloseTo(sum);
    expect(best?.scores?.map(({ plugin }) => plugin)).toContain('NodeResourcesFit');
    expect(explained.placement).toMatchObject({ name: 'web', nodeName: 'large', nodeCount: 3, fitting: 1 });
  });

  it('simulates pods one after the other, each as if those before it were there, and creates none', async () => {
    const { pods = [] } = await cluster.client.placements.simulate({
      pods: ['one', 'two', 'three', 'web'].map((name) => wanting(name, '1')),
    });
    const places = pods.map(({ name, nodeName, message }) => [name, nodeName || message]);
    expect(places.map(([name]) => name)).toEqual(['one', 'two', 'three', 'web']);
    expect(
      places
        .slice(0, 2)
        .map(([, place]) => place)
        .sort(),
    ).toEqual(['large', 'small']);
    expect(places[2]?.[1]).toMatch(/^0\/3 nodes are available: 2 insufficient cpu/);
    const { items } = await cluster.client.pods.list({ namespace: 'default' });
    expect(items.map(({ metadata }) => metadata?.name).sort()).toEqual(['waits', 'web']);
  });

  it('names to a user of one namespace neither nodes nor pods of others, and tells how many there are', async () => {
    const { client } = cluster;
    await client.namespaces.create({ metadata: { name: 'team' } });
    await client.serviceAccounts.create({ metadata: { namespace: 'team', name: 'default' } }).catch(() => {});
    const subjects = [{ kind: 'User', name: 'tenant' }];
    const roleRef = { kind: 'ClusterRole', name: 'edit' };
    await client.roleBindings.create({ metadata: { namespace: 'team', name: 'tenant' }, roleRef, subjects });
    const tenant = connect({ ...cluster.admin, impersonate: { user: 'tenant' } });
    const apart = wanting('apart', '100m');
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: {}, namespaceSelector: {} };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const mine = (name: string, cpu: string) => ({ ...wanting(name, cpu), metadata: { namespace: 'team', name } });
    await tenant.pods.create({
      ...mine('big', '9'),
      spec: { ...apart.spec, affinity, containers: wanting('big', '9').spec.containers },
    });
    const question = { namespace: 'team', name: 'big' };
    await expect
      .poll(async () => (await client.placements.why(question)).remedies?.join(), { timeout: 30_000 })
      .toContain('default/web');
    const told = JSON.stringify([
      await tenant.placements.why(question),
      await tenant.placements.simulate({ pods: [mine('fits', '1')] }),
    ]);
    expect(told).not.toMatch(/small|large|"tainted"|default\/|web|waits/);
    expect(told).toMatch(/"on [12] nodes?: /);
    // Who may list nodes, and the pods of one namespace, is told the names of those alone.
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }];
    await client.clusterRoles.create({ metadata: { name: 'see-nodes' }, rules });
    const nodes = { roleRef: { kind: 'ClusterRole', name: 'see-nodes' }, subjects };
    await client.clusterRoleBindings.create({ metadata: { name: 'see-nodes' }, ...nodes });
    const { remedies = [] } = await tenant.placements.why(question);
    expect(remedies.join()).toMatch(/on large: .*keeps it away from a pod that is not shown/);
    expect(remedies.join()).not.toMatch(/default\/|web|waits/);
    tenant.close();
    await client.pods.delete({ namespace: 'team', name: 'big' });
  });

  it.each<[string, Pod]>([
    ['no containers', { metadata: { namespace: 'default', name: 'x' }, spec: { containers: [] } }],
    ['an impossible name', wanting('X_1', '1')],
    ['a long name', wanting('x'.repeat(254), '1')],
    ['a version', { ...wanting('x', '1'), metadata: { namespace: 'default', name: 'x', resourceVersion: '5' } }],
    ['a quantity that is none', wanting('x', 'much')],
  ])('refuses to simulate what could not be created, in the words of a create: %s', async (_title, broken) => {
    const { pods, placements } = cluster.client;
    const refusal = await pods.create(broken, { dryRun: ['All'] }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const { message, violations } = refusal as ApiError;
    await expect(placements.simulate({ pods: [broken] })).rejects.toMatchObject({ message, violations });
  });

  it('reads its last placements back', async () => {
    const { items = [] } = await cluster.client.placements.list();
    expect(items.map(({ name, nodeName }) => [name, nodeName])).toEqual([['web', 'large']]);
  });

  it('is missed by its name', async () => {
    await expect(cluster.client.placements.list({ schedulerName: 'other' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('no scheduler called "other" is connected'),
    });
  });

  it('is asked only about pods that there are', async () => {
    const asked = cluster.client.placements.why({ namespace: 'default', name: 'nobody' });
    await expect(asked).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the command line', () => {
  it('why shows what every node lacks, and what lets the pod be tried again', async () => {
    const { code, out } = await cli.berth('why', 'pod/waits');
    expect(code).toBe(0);
    expect(out).toMatch(/^pod default\/waits has no node: 0\/3 nodes are available: 2 insufficient cpu/);
    expect(out).toMatch(/^DOES NOT FIT {3}REJECTED BY {8}WHY$/m);
    expect(out).toMatch(/^large {10}NodeResourcesFit {3}needs 2 CPU, 1 free$/m);
    expect(out).toContain(
      'It would fit if this were otherwise, one of:\n  on large: needs 2 CPU, 1 free (NodeResourcesFit)\n  on small: needs 2 CPU, the node has 1 in all (NodeResourcesFit)\n',
    );
    expect(out).toMatch(/It is tried again when .*a pod leaves a node/);
  });

  it('why shows the scores of a placed pod, plugin by plugin, for a bare name too', async () => {
    const { code, out } = await cli.berth('why', 'web');
    expect(code).toBe(0);
    expect(out).toMatch(/^pod default\/web is on large, put there \d+ (s|min) ago when 1 of 3 nodes fitted\./);
    expect(out).toMatch(/^FITS {6}TOTAL .*NodeResourcesFit x1/m);
    expect(out).toMatch(/^large \* /m);
  });

  it('why --last shows the last placements', async () => {
    const { code, out } = await cli.berth('why', '--last', '5');
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')[1]).toMatch(/ default {5}web {3}large {3}1\/3$/);
  });

  it('why prints JSON', async () => {
    const { out } = await cli.berth('why', 'pod', 'waits', '-o', 'json');
    expect(JSON.parse(out)).toMatchObject({ name: 'waits', nodeCount: 3, fitting: 0 });
  });

  it.each([
    [['why'], 'name one pod, service or workload, e.g. berth why deployment/web'],
    [['why', 'node/large'], '"berth why" explains pods, services and deployments'],
    [['why', 'pod/nobody'], 'pod "nobody" in namespace "default" not found'],
    [['why', 'web', '--last'], 'leave the pod out'],
    [['simulate'], 'say which pods: -f FILE'],
  ])('%j is answered with what to do', async (words, message) => {
    const { code, err } = await cli.berth(...words);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });

  it('simulate says where the pods of a manifest would go, and ends with 1 when one would go nowhere', async () => {
    const file = join(cli.folder, 'pods.yaml');
    const manifest = (name: string, cpu: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i, resources: {requests: {cpu: "${cpu}"}}}]}\n`;
    await writeFile(file, `${manifest('fits', '1')}---\n${manifest('vast', '99')}`);
    const { code, out, err } = await cli.berth('simulate', '-f', file);
    expect(out).toMatch(/^default {5}fits {3}(small|large) {4}2 of 3 nodes fit$/m);
    expect(out).toMatch(/^default {5}vast {3}<none> {3}0\/3 nodes are available/m);
    expect(out).toContain('\npod default/vast would fit if this were otherwise, one of:\n  on ');
    expect([code, err]).toEqual([1, 'error: 1 of 2 pods would fit nowhere\n']);
  });

  it('simulate says where the pods of a workload would go, and leaves out what has none', async () => {
    const file = join(cli.folder, 'workload.yaml');
    const template = '{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}';
    const spec = `{replicas: 2, selector: {matchLabels: {a: b}}, template: ${template}}`;
    await writeFile(
      file,
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\n` +
        `---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: site}\nspec: ${spec}\n`,
    );
    const { code, out, err } = await cli.berth('simulate', '-f', file);
    expect(out).toMatch(/^default +site-1 +(small|large) +2 of 3 nodes fit$/m);
    expect(out).toMatch(/^default +site-2 +(small|large) +[12] of 3 nodes fit$/m);
    expect([code, err]).toEqual([0, '']);
  });

  it('simulate says where the pods of a StatefulSet would go whose claims it makes', async () => {
    const file = join(cli.folder, 'set.yaml');
    const template = '{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}';
    const claims = '[{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]';
    const spec = `{selector: {matchLabels: {a: b}}, template: ${template}, volumeClaimTemplates: ${claims}}`;
    await writeFile(file, `apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: ${spec}\n`);
    const { code, out, err } = await cli.berth('simulate', '-f', file);
    expect(out).toMatch(/^default +db-0 +\w+ +\d of 3 nodes fit$/m);
    expect([code, err]).toEqual([0, '']);
  });

  it('simulate does not know the node of a StatefulSet whose claims get their volumes before its pods are placed', async () => {
    const file = join(cli.folder, 'early.yaml');
    const template = '{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}';
    const claim = '{storageClassName: early, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}';
    const spec = `{selector: {matchLabels: {a: b}}, template: ${template}, volumeClaimTemplates: [{metadata: {name: data}, spec: ${claim}}]}`;
    await writeFile(
      file,
      `apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: early}\nprovisioner: example.com/disks\n` +
        `---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: ${spec}\n`,
    );
    const { code, out, err } = await cli.berth('simulate', '-f', file);
    expect(out).toMatch(
      /^default +db-0 +<none> +the node of its volume is not known before the claim is there: claim "data-db-0" gets its volume before the pod is placed: class "early" binds Immediate$/m,
    );
    expect([code, err]).toEqual([1, 'error: of 1 of 1 pods nothing can be said before their claims are there\n']);
  });

  it('simulate says that it cannot know where a claim of the same manifest will have its volume, and goes on with the other pods', async () => {
    const file = join(cli.folder, 'claim.yaml');
    const volumes = '[{name: v, persistentVolumeClaim: {claimName: data}}]';
    await writeFile(
      file,
      `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n` +
        `---\napiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec: {containers: [{name: c, image: i}], volumes: ${volumes}}\n` +
        `---\napiVersion: v1\nkind: Pod\nmetadata: {name: plain}\nspec: {containers: [{name: c, image: i}]}\n`,
    );
    const { code, out, err } = await cli.berth('simulate', '-f', file);
    expect(out).toMatch(
      /^default {5}db {6}<none> {3}uses a claim that is in the manifests and not there yet, so that the node of its volume is not known: data; apply that first$/m,
    );
    expect(out).toMatch(/^default {5}plain {3}(small|large) {4}2 of 3 nodes fit$/m);
    expect([code, err]).toEqual([1, 'error: of 1 of 2 pods nothing can be said before their claims are there\n']);
  });
});

describe('the stream of a scheduler', () => {
  it('is not open to nodes, and keeps no server from stopping', async () => {
    const server = await startServer({ backend: 'memory' });
    try {
      await issueNodeCredentials(server.dataDir, 'n1');
      const agent = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-n1')) });
      const signal = AbortSignal.timeout(20_000);
      const denied = agent.placements.serve('mine', async () => ({ placements: {} }), { signal });
      await expect(denied).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
      agent.close();
      const serving = server.client.placements.serve('mine', async () => ({ placements: { items: [{ name: 'p' }] } }), {
        signal,
      });
      const ended = serving.then(
        () => 'ended',
        ({ code }) => code,
      );
      expect(await server.client.placements.list({ schedulerName: 'mine' })).toEqual({ items: [{ name: 'p' }] });
      await server.stop();
      expect(['CANCELLED', 'UNAVAILABLE']).toContain(await ended);
    } finally {
      await server.remove();
    }
  });
});
