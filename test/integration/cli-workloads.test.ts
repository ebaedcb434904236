import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { startControllers } from './controllers-harness.ts';

// Commands about workloads as users of kubectl type them, against a real server and its controllers; nothing runs.
let server: RunningServer;
let cli: CommandLine;
let stopControllers: () => Promise<void>;

beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  stopControllers = await startControllers(server);
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await stopControllers();
  await server.stop();
  await server.remove();
});

const berth = (words: string) => cli.berth(...words.split(' '));
const objectOf = (kind: string, name: string): Promise<JsonObject> =>
  server.client.objects.get(kind, { namespace: 'default', name });
const replicasOf = async (name: string) => ((await objectOf('Deployment', name)).spec as JsonObject).replicas;

async function file(name: string, text: string): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, text);
  return path;
}

describe('create', () => {
  it.each([
    ['create deployment made --image=nginx:1 --replicas=2 --port=80', 'deployment.apps/made created\n'],
    ['create job made --image=busybox -- date', 'job.batch/made created\n'],
    ['create cronjob made --image=busybox --schedule=@hourly -- date', 'cronjob.batch/made created\n'],
    ['create job by-hand --from=cronjob/made', 'job.batch/by-hand created\n'],
    ['create quota made --hard=pods=100,secrets=100', 'resourcequota/made created\n'],
    ['create service clusterip made --tcp=80:8080', 'service/made created\n'],
    ['create svc externalname outside --external-name=a.example', 'service/outside created\n'],
    ['create deploy dry --image=nginx --dry-run=client -o name', 'deployment.apps/dry\n'],
    ['create deploy dry --image=nginx --dry-run=server', 'deployment.apps/dry created (server dry run)\n'],
  ])('berth %s', async (words, out) => {
    expect(await berth(words)).toMatchObject({ code: 0, out });
  });

  it('a job of a cronjob is owned by it and does what it says', async () => {
    const job = await objectOf('Job', 'by-hand');
    const cronJob = await objectOf('CronJob', 'made');
    const { uid } = cronJob.metadata as JsonObject;
    expect(job.metadata).toMatchObject({
      annotations: { 'cronjob.kubernetes.io/instantiate': 'manual' },
      ownerReferences: [{ kind: 'CronJob', name: 'made', uid, controller: true }],
    });
    expect(job.spec).toMatchObject({ template: { spec: { containers: [{ command: ['date'] }] } } });
  });

  it.each([
    ['create deployment bad', /required option '--image <image>' not specified/],
    ['create job bad', /either --image IMAGE or --from=cronjob\/NAME/],
    ['create job bad --from=deployment/made', /--from takes cronjob\/NAME, not "deployment\/made"/],
    ['create job bad --from=cronjob/none', /cronjob "none" .*not found/],
    ['create cronjob bad --image=x --schedule=often', /schedule/],
    ['create hpa bad', /create does not make horizontalpodautoscalers: "berth autoscale" does/],
    ['create pod bad', /create does not make pods: "berth run" does/],
    ['create service bad', /error/],
  ])('berth %s is refused', async (words, err) => {
    const said = await berth(words);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(err);
  });
});

describe('scale', () => {
  it('sets how many pods there are, also of several and of all, and waits for them', async () => {
    for (const name of ['one', 'two']) await berth(`create deployment ${name} --image=nginx`);
    expect(await berth('scale deployment/one --replicas=3 --timeout=20s')).toEqual({
      code: 0,
      out: 'deployment.apps/one scaled\n',
      err: '',
    });
    expect((await objectOf('Deployment', 'one')).status).toMatchObject({ replicas: 3 });
    expect(await berth('scale deploy one two --replicas=0')).toMatchObject({
      code: 0,
      out: 'deployment.apps/one scaled\ndeployment.apps/two scaled\n',
    });
    expect([await replicasOf('one'), await replicasOf('two')]).toEqual([0, 0]);
    const replicas = await berth('scale deploy -l app=one --replicas=1 -o jsonpath={.spec.replicas}');
    expect([replicas, await replicasOf('one')]).toMatchObject([{ code: 0, out: '1' }, 1]);
  });

  it('holds what must be true before', async () => {
    const before = await objectOf('Deployment', 'two');
    const { resourceVersion } = before.metadata as JsonObject;
    expect(await berth('scale deploy/two --replicas=5 --current-replicas=4')).toEqual({
      code: 1,
      out: '',
      err: 'error: Expected replicas to be 4, was 0\n',
    });
    expect((await berth('scale deploy/two --replicas=5 --resource-version=1')).err).toBe(
      `error: Expected resource version to be 1, was ${resourceVersion}\n`,
    );
    expect(await replicasOf('two')).toBe(0);
    expect((await berth('scale deploy/two --replicas=2 --current-replicas=0')).code).toBe(0);
    expect(await replicasOf('two')).toBe(2);
  });

  it('stores nothing in a dry run', async () => {
    for (const [where, note] of [
      ['client', 'dry run'],
      ['server', 'server dry run'],
    ])
      expect(await berth(`scale deploy/two --replicas=9 --dry-run=${where}`)).toMatchObject({
        code: 0,
        out: `deployment.apps/two scaled (${note})\n`,
      });
    expect((await berth('scale deploy/two --replicas=9 --dry-run=server -o jsonpath={.spec.replicas}')).out).toBe('9');
    expect(await replicasOf('two')).toBe(2);
  });

  it.each([
    ['scale deploy/two', /required option '--replicas <count>'/],
    ['scale deploy/two --replicas=-1', /--replicas takes a whole number from 0 on/],
    ['scale deploy/two cj/made --replicas=1', /cannot scale a cronjob: it has no number of replicas/],
    ['scale deploy --replicas=1', /name the deployments to scale/],
    ['scale deploy -l app=none --replicas=1', /no objects passed to scale/],
    ['scale deploy one two --replicas=1 --resource-version=1', /cannot use --resource-version with multiple resources/],
    ['scale deploy/none --replicas=1', /deployment "none" .*not found/],
  ])('berth %s is refused, and nothing is scaled', async (words, err) => {
    const before = await replicasOf('two');
    const said = await berth(words);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(err);
    expect(await replicasOf('two')).toBe(before);
  });
});

describe('autoscale', () => {
  it('makes an autoscaler of a workload', async () => {
    expect(await berth('autoscale deployment two --min=2 --max=4 --cpu=70%')).toMatchObject({
      code: 0,
      out: 'horizontalpodautoscaler.autoscaling/two autoscaled\n',
    });
    expect((await objectOf('HorizontalPodAutoscaler', 'two')).spec).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'two' },
      minReplicas: 2,
      maxReplicas: 4,
    });
    expect((await berth('autoscale deploy/two --max=4 --dry-run=client --name=other -o name')).out).toBe(
      'horizontalpodautoscaler.autoscaling/other\n',
    );
  });

  it.each([
    ['autoscale deploy/two', /required option '--max <count>'/],
    ['autoscale deploy/two --max=1 --min=2', /--max must be larger or equal to --min/],
    ['autoscale cj/made --max=2', /cannot autoscale a cronjob/],
    ['autoscale deploy/none --max=2', /deployment "none" .*not found/],
    ['autoscale deploy/two --max=2', /already exists/],
  ])('berth %s is refused', async (words, err) => {
    const said = await berth(words);
    expect(said.code).toBe(1);
    expect(said.err).toMatch(err);
  });
});

describe('set', () => {
  const template = async (name: string) => ((await objectOf('Deployment', name)).spec as JsonObject).template as JsonObject;
  const container = async (name: string) => ((await template(name)).spec as { containers: JsonObject[] }).containers[0];

  it('changes images, variables, resources and accounts on the server', async () => {
    await server.client.configMaps.create({ metadata: { namespace: 'default', name: 'conf' }, data: { 'a.b': '1', c: '2' } });
    expect(await berth('set image deploy/two nginx=nginx:2')).toMatchObject({
      code: 0,
      out: 'deployment.apps/two image updated\n',
    });
    expect(await berth('set image deploy/two *=nginx:2')).toMatchObject({ code: 0, out: '' });
    expect((await berth('set env deploy/two A=1 B=2')).out).toBe('deployment.apps/two env updated\n');
    expect((await berth('set env deploy/two --from=configmap/conf --prefix=X_ --keys=a.b B-')).code).toBe(0);
    expect((await berth('set resources deploy two --limits=cpu=200m --requests=cpu=100m')).out).toBe(
      'deployment.apps/two resource requirements updated\n',
    );
    expect((await berth('set serviceaccount deploy two builder')).out).toBe('deployment.apps/two serviceaccount updated\n');
    expect(await container('two')).toMatchObject({
      image: 'nginx:2',
      env: [
        { name: 'A', value: '1' },
        { name: 'X_A_B', valueFrom: { configMapKeyRef: { name: 'conf', key: 'a.b' } } },
      ],
      resources: { limits: { cpu: '200m' }, requests: { cpu: '100m' } },
    });
    expect((await template('two')).spec).toMatchObject({ serviceAccountName: 'builder' });
  });

  it('lists variables, and resolves them when asked', async () => {
    expect((await berth('set env deploy/two --list')).out).toBe(
      '# Deployment two, container nginx\nA=1\n# X_A_B from configmap conf, key a.b\n',
    );
    expect((await berth('set env deploy/two --list --resolve')).out).toBe('# Deployment two, container nginx\nA=1\nX_A_B=1\n');
  });

  it('changes the selector of a service', async () => {
    expect((await berth('set selector service made app=one,tier=front')).out).toBe('service/made selector updated\n');
    expect(((await objectOf('Service', 'made')).spec as JsonObject).selector).toEqual({ app: 'one', tier: 'front' });
    expect(await berth('set selector service made app=x --resource-version=1')).toMatchObject({ code: 1, out: '' });
  });

  it('changes manifests without a server, and prints what a dry run would change', async () => {
    const made = await berth('create deployment local --image=a:1 --dry-run=client -o yaml');
    const path = await file('local.yaml', made.out);
    const changed = await berth(`set image -f ${path} a=a:2 --local -o jsonpath={.spec.template.spec.containers[0].image}`);
    expect(changed).toMatchObject({ code: 0, out: 'a:2' });
    expect(await readFile(path, 'utf8')).toBe(made.out);
    expect((await berth(`set env -f ${path} --local --list A=1`)).out).toBe('# Deployment local, container a\nA=1\n');
    expect((await berth('set image deploy/one nginx=x --dry-run=client')).out).toBe(
      'deployment.apps/one image updated (dry run)\n',
    );
    expect((await berth('set image deploy/one nginx=x --dry-run=server')).out).toBe(
      'deployment.apps/one image updated (server dry run)\n',
    );
    expect(await container('one')).toMatchObject({ image: 'nginx' });
  });

  it('changes those of several that can be changed, and names the others', async () => {
    const said = await berth('set image deploy/one deploy/none nginx=nginx:3');
    expect(said).toMatchObject({ code: 1, out: 'deployment.apps/one image updated\n' });
    expect(said.err).toMatch(/^error: deployment.apps\/none: deployment "none" .*not found\n$/);
  });

  it.each([
    ['set image deploy/one', /say which image/],
    ['set image deploy/one db=x', /unable to find container named "db"; there are nginx/],
    ['set image cm/conf a=x', /a configmap is not a pod and has no template of pods/],
    ['set env deploy/one', /at least one environment variable must be provided/],
    ['set env deploy/one --from=configmap/conf --keys=none', /configmap "conf" has no key "none"/],
    ['set env deploy/two A=5 --overwrite=false', /'A' already has a value \(1\), and --overwrite is false/],
    ['set resources deploy/one', /say what to set: --limits or --requests/],
    ['set serviceaccount deploy/one', /say which service account/],
    ['set selector deploy/one app=x', /setting a selector is only supported for services/],
    ['set image deploy/one a=b --local', /--local changes manifests and asks no server/],
    ['set subject rolebinding/x', /error|unknown/],
  ])('berth %s is refused', async (words, err) => {
    const said = await berth(words);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(err);
  });
});

describe('delete', () => {
  const podsOf = (name: string) =>
    server.client.pods.list({ namespace: 'default', labelSelector: `app=${name}` }).then(({ items }) => items);

  it('waits until a workload is gone, and with --cascade=foreground until its pods are', async () => {
    for (const name of ['back', 'fore', 'orphan']) await berth(`create deployment ${name} --image=i --replicas=2`);
    for (const name of ['back', 'fore', 'orphan']) await expect.poll(async () => (await podsOf(name)).length).toBe(2);
    expect(await berth('delete deployment back')).toEqual({ code: 0, out: 'deployment.apps "back" deleted\n', err: '' });
    await expect.poll(async () => (await podsOf('back')).length).toBe(0);
    expect((await berth('delete deploy/fore --cascade=foreground')).out).toBe('deployment.apps "fore" deleted\n');
    expect(await podsOf('fore')).toEqual([]);
    expect((await berth('delete deploy/orphan --cascade=orphan -o name')).out).toBe('deployment.apps/orphan\n');
    expect(await podsOf('orphan')).toHaveLength(2);
  }, 60_000);
});

it('takes the names that it prints', async () => {
  const { out } = await berth('get deploy -o name');
  const [first = ''] = out.split('\n');
  expect(first).toMatch(/^deployment\.apps\//);
  expect(await berth(`get ${first} -o name`)).toEqual({ code: 0, out: `${first}\n`, err: '' });
});

it('port-forward leads to a pod of a workload or service that runs', async () => {
  const said = await berth('port-forward deployment/one 8080:80');
  expect(said.code).toBe(1);
  expect(said.err).toMatch(
    /^Found 2 pods, using pod\/one-\S+\nerror: unable to forward port because pod is not running\. Current/,
  );
  await berth('create service clusterip one --tcp=80:8080');
  expect((await berth('port-forward service/one 8080:81')).err).toMatch(
    /error: service "one" does not have a service port 81; it has 80 \(80-8080\)\n$/,
  );
  expect((await berth('port-forward svc/one 8080:80')).err).toMatch(
    /Current status=Pending: 1 pod (waiting for the scheduler|unschedulable: .*) \(pod\/one-\S+\)\n$/,
  );
  await berth('create service externalname far --external-name=example.com');
  expect((await berth('port-forward svc/far 8080:80')).err).toBe(
    'error: this service is an ExternalName: it leads out of the cluster, and to no pods\n',
  );
  await berth('create service clusterip none --tcp=80');
  expect((await berth('port-forward svc/none 8080:80 --pod-running-timeout=1s')).err).toBe(
    'error: timed out after 1s waiting for a pod of service/none; "berth why service/none" says why there is none\n',
  );
});
