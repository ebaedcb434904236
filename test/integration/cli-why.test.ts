import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { node } from '../builders/index.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { startControllers } from './controllers-harness.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';

// `why` and `describe` of workloads, against a real server, its controllers and scheduler; no agent runs anything.
let cluster: SchedulerCluster;
let cli: CommandLine;
let stopControllers: () => Promise<void>;

beforeAll(async () => {
  process.setMaxListeners(100);
  cluster = await startSchedulerCluster();
  const { admin, client } = cluster;
  stopControllers = await startControllers(cluster);
  cli = await openCommandLine(admin);
  const { status, ...rest } = node('small').capacity({ cpu: '4', memory: '4Gi', pods: '20' }).build();
  const { metadata } = await client.nodes.create({ ...rest, metadata: { name: 'small', labels: {} } });
  const { resourceVersion: _, ...lasting } = metadata ?? {};
  await client.nodes.updateStatus({ ...rest, metadata: lasting, status });
  cluster.startScheduler();
});
afterAll(async () => {
  await cli.close();
  await stopControllers();
  await cluster.stop();
});

const berth = (words: string) => cli.berth(...words.split(' '));
const podsOf = (name: string): Promise<readonly Pod[]> =>
  cluster.client.pods.list({ namespace: 'default', labelSelector: `app=${name}` }).then(({ items }) => items);

async function say(name: string, status: Pod['status']): Promise<void> {
  for (const { metadata } of await podsOf(name))
    await cluster.client.pods.patch(
      { namespace: 'default', name: metadata?.name ?? '', subresource: 'status', type: 'strategic' },
      { status },
    );
}

async function untilPlaced(name: string, count: number): Promise<void> {
  await expect.poll(async () => (await podsOf(name)).filter(({ spec }) => spec?.nodeName).length).toBe(count);
}

describe('berth why of a pod that has a node', () => {
  it('says first why it is not up', async () => {
    const key = { namespace: 'default', name: 'stuck' };
    const containers = [{ name: 'main', image: 'none:1' }];
    await cluster.client.pods.create({ metadata: key, spec: { nodeName: 'small', containers } });
    expect((await berth('why pod/stuck')).out).toMatch(/^pod default\/stuck is on small/);
    const waiting = { reason: 'ErrImagePull', message: 'there is no such image' };
    const status = { name: 'main', image: 'none:1', state: { waiting } };
    const patch = { status: { containerStatuses: [status] } };
    await cluster.client.pods.patch({ ...key, subresource: 'status' }, patch);
    expect((await berth('why pod/stuck')).out).toMatch(
      /^pod\/stuck is not up: 1 pod with container "main" not starting.*ErrImagePull.*there is no such image.*\n"berth describe pod stuck".*\n\npod default\/stuck is on small/,
    );
    expect(JSON.parse((await berth('why pod/stuck -o json')).out)).toMatchObject({ nodeName: 'small' });
    await cluster.client.pods.delete(key, { gracePeriodSeconds: 0 });
  });
});

describe('berth why of the pod of a workload', () => {
  it('names the workload that controls it, behind its ReplicaSet or Job', async () => {
    await berth('create deployment kept --image=i:1');
    await berth('create job single --image=i:1');
    await untilPlaced('kept', 1);
    const [pod] = await podsOf('kept');
    expect((await berth(`why pod/${pod?.metadata?.name}`)).out).toMatch(
      /^pod default\/kept-.* is on small(.|\n)*\n\nIt is controlled by deployment\/kept: "berth why deployment\/kept" says how that stands\.\n$/,
    );
    const ofJob = () => cluster.client.pods.list({ namespace: 'default', labelSelector: 'batch.kubernetes.io/job-name=single' });
    await expect.poll(async () => (await ofJob()).items.length).toBe(1);
    const name = (await ofJob()).items[0]?.metadata?.name;
    expect((await berth(`why pod/${name}`)).out).toContain('\nIt is controlled by job/single: ');
    await berth('delete deployment/kept job/single');
  });
});

describe('berth why of a workload', () => {
  it('says that it is up, and which budget lets none of its pods go', async () => {
    await berth('create deployment fine --image=i:1 --replicas=2');
    await berth('create pdb fine --selector=app=fine --min-available=2');
    await untilPlaced('fine', 2);
    const waiting = await berth('why deployment/fine');
    expect(waiting.out).toMatch(/^deployment default\/fine is on its way: 0 of 2 replicas are available, 2 of revision 1\.\n/);
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() as never }];
    await say('fine', { phase: 'Running', conditions });
    await expect
      .poll(async () => (await berth('why deploy/fine')).out)
      .toMatch(/^deployment default\/fine is up: 2 of 2 replicas are available, all of revision 1\.\n/);
    await expect
      .poll(async () => (await berth('why deploy/fine')).out)
      .toMatch(/\nNote: poddisruptionbudget fine lets no pod be evicted now \(2 healthy, 2 wanted\)/);
    expect((await berth('why deploy/fine -o json')).out).toMatch(/"state": "up"/);
  });

  it('has the words of the scheduler', async () => {
    await berth('create deployment large --image=i:1');
    await berth('set resources deployment/large --requests=cpu=8');
    await expect
      .poll(async () => (await berth('why deployment/large')).out)
      .toMatch(
        /1 pod unschedulable: 0\/1 nodes are available: 1 insufficient cpu\.\n {2}large-[\s\S]*It would fit if this were otherwise, one of:\n {4}/,
      );
  });

  it('groups crashing pods, and names the admission refusal that keeps pods from being made', async () => {
    await berth('create deployment broken --image=i:1 --replicas=2');
    await untilPlaced('broken', 2);
    const terminated = { exitCode: 3, reason: 'Error', message: 'no database' };
    const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
    await say('broken', {
      phase: 'Running',
      containerStatuses: [{ name: 'i', image: 'i:1', ready: false, restartCount: 2, state, lastState: { terminated } }],
    });
    const crashing = await berth('why deploy/broken');
    expect(crashing.out).toMatch(/^deployment default\/broken is not up: 0 of 2 replicas are available, 2 of revision 1\.\n/);
    expect(crashing.out).toMatch(
      /\n2 pods with container "i" that ended with exit code 3: no database, restarted up to 2 times\n {2}broken-\S+, broken-\S+\n/,
    );
    await berth('set serviceaccount deploy/broken nobody');
    await expect
      .poll(async () => (await berth('why deploy/broken')).out)
      .toMatch(/\npods cannot be created, FailedCreate: .*nobody/);
    const [set] = (await cluster.client.replicaSets.list({ namespace: 'default', labelSelector: 'app=broken' })).items;
    expect((await berth(`why rs/${set?.metadata?.name}`)).out).toMatch(/Note: it is controlled by deployment\/broken/);
  });

  it('says that it is paused', async () => {
    await berth('rollout pause deployment/fine');
    expect((await berth('why deploy/fine')).out).toMatch(/\nit is paused: "berth rollout resume deployment\/fine"/);
    await berth('rollout resume deployment/fine');
  });

  it('explains jobs and cronjobs', async () => {
    await berth('create cronjob nightly --image=i:1 --schedule=@daily');
    expect((await berth('why cronjob/nightly')).out).toMatch(/^cronjob default\/nightly is waiting for its next time, in /);
    expect((await berth('why cj nightly')).code).toBe(0);
  });

  it.each([
    ['why deployment/none', /deployment "none" .*not found/],
    ['why fine', /pod "fine" .*not found; name other objects as TYPE\/NAME: "berth why deployment\/fine"/],
    ['why configmap/x', /"berth why" explains pods, services and deployments, .*, not a configmap; "berth describe configmap x"/],
    ['why deploy', /deployment|pod "deploy"/],
    ['why deploy/fine deploy/large', /name one pod, service or workload/],
    ['why deploy/fine --scheduler=x', /--scheduler chooses among placements: give --last as well/],
  ])('berth %s is refused', async (words, err) => {
    const said = await berth(words);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(err);
  });
});

describe('berth describe of a workload', () => {
  it('ends with what is wrong with its pods', async () => {
    const { code, out } = await berth('describe deployment broken');
    expect(code).toBe(0);
    expect(out).toMatch(/^Name: +broken\nNamespace: +default\nCreationTimestamp: /);
    expect(out).toMatch(/\nNewReplicaSet: +broken-\S+ \(\d\/\d replicas created\)\n/);
    expect(out).toMatch(
      /\nEvents:\n[\s\S]*ScalingReplicaSet[\s\S]*\nPods in Trouble:\n {2}2 pods with container "i" that ended with exit code 3/,
    );
    for (const kind of ['rs', 'cronjob', 'pods']) expect((await berth(`describe ${kind}`)).code).toBe(0);
  });

  it('shows all that a user runs, with the types', async () => {
    const { out } = await berth('get all');
    expect(out).toMatch(/^pod\/broken-/m);
    expect(out).toMatch(/^deployment.apps\/fine +2\/2 /m);
    expect(out).toMatch(/^replicaset.apps\/fine-\S+ +2 /m);
    expect(out).toMatch(/^cronjob.batch\/nightly /m);
  });
});

it('logs and exec choose a pod of a workload as kubectl does, and say which', async () => {
  const logs = await berth('logs deployment/fine');
  expect(logs.err).toMatch(/^Found 2 pods, using pod\/fine-\S+\n/);
  const exec = await berth('exec deploy/fine -- true');
  expect(exec.err).toMatch(/^Found 2 pods, using pod\/fine-\S+\n/);
  expect((await berth('exec deploy/fine -q -- true')).err).not.toContain('Found');
  expect((await berth('logs cronjob/nightly')).err).toBe(
    'error: a cronjob has no pods of its own, but jobs that have: name one of them, job/NAME\n',
  );
  await berth('create deployment none --image=i --replicas=0');
  const none = await berth('logs deploy/none --pod-running-timeout=1s');
  expect(none).toMatchObject({ code: 1, out: '' });
  expect(none.err).toBe(
    'error: timed out after 1s waiting for a pod of deployment/none; "berth why deployment/none" says why there is none\n',
  );
  expect((await berth('logs deploy/none --pod-running-timeout=0s')).err).toMatch(
    /--pod-running-timeout must be higher than zero/,
  );
  expect((await berth('debug deploy/fine --image=i')).err).toMatch(/"deploy\/fine" is not a pod/);
}, 30_000);
