import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorkloadCli, type WorkloadCli } from './workload-cli.ts';

let world: WorkloadCli;
beforeAll(async () => {
  world = await openWorkloadCli();
});
afterAll(() => world.close());

const soon = { timeout: 10_000 };

/** Gives the pods addresses and says that they are ready. */
async function serve(name: string): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() as never }];
  await world.say(await world.podsOf(name), { phase: 'Running', podIP: '10.42.0.7', podIPs: [{ ip: '10.42.0.7' }], conditions });
}

it('exposes a deployment, shows the service with its endpoints, and says why it has none', async () => {
  const { berth } = world;
  await berth('create deployment web --image=i:1 --port=8080');
  await world.waitForPods('web', 1);
  const exposed = await berth('expose deployment web --port=80 --target-port=8080');
  expect([exposed.out, exposed.err]).toEqual(['service/web exposed\n', '']);
  expect((await berth('why svc/web')).out).toMatch(
    /^service default\/web has no endpoint that serves: 0 of 1 pods with app=web serve\./,
  );
  await serve('web');
  await expect.poll(async () => (await berth('describe svc web')).out, soon).toMatch(/Endpoints: +10\.42\.0\.7:8080\n/);
  expect((await berth('why svc/web')).out).toBe('service default/web has endpoints: 1 of 1 pods with app=web serve.\n');
  expect((await berth('get svc web')).out).toMatch(
    /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nweb +ClusterIP +10\.43\.\d+\.\d+ +<none> +80\/TCP +\d+s\n$/,
  );
  await expect
    .poll(async () => (await berth('get endpoints web')).out, soon)
    .toMatch(/^NAME +ENDPOINTS +AGE\nweb +10\.42\.0\.7:8080 +\d+s\n$/);
  expect((await berth('get endpointslices -l kubernetes.io/service-name=web')).out).toMatch(
    /^NAME +ADDRESSTYPE +PORTS +ENDPOINTS +AGE\nweb-\w+ +IPv4 +8080 +10\.42\.0\.7 +\d+s\n$/,
  );
  expect((await berth('describe ep web')).out).toMatch(/Addresses: +10\.42\.0\.7\n/);
  expect((await berth('describe endpointslices -l kubernetes.io/service-name=web')).out).toMatch(/TargetRef: +Pod\/web-/);
});

it('exposes with every flag, and as a dry run', async () => {
  const { berth, server } = world;
  const flags =
    '--name=all --type=NodePort --port=80,81 --protocol=UDP --selector=a=b -l c=d --external-ip=192.0.2.1 --session-affinity=ClientIP';
  const dry = await berth(`expose deployment web ${flags} --dry-run -o json`);
  expect(JSON.parse(dry.out)).toMatchObject({
    kind: 'Service',
    spec: { type: 'NodePort', ports: [{ name: 'port-1' }, { name: 'port-2' }] },
  });
  expect((await berth(`expose deployment web ${flags} --dry-run=server`)).out).toBe('service/all exposed (server dry run)\n');
  expect((await berth(`expose deploy/web ${flags}`)).out).toBe('service/all exposed\n');
  const { metadata, spec } = await server.client.services.get({ namespace: 'default', name: 'all' });
  expect(metadata?.labels).toEqual({ c: 'd' });
  expect(spec).toMatchObject({ selector: { a: 'b' }, externalIPs: ['192.0.2.1'], sessionAffinity: 'ClientIP' });
  expect((await berth('why svc/all')).out).toContain('its selector matches no pod: a=b');
  expect((await berth('expose svc/all --name=again --cluster-ip=None')).out).toBe('service/again exposed\n');
});

it.each([
  ['expose configmap/x --port=80', /cannot expose a configmap/],
  ['expose deployment/nothing --port=80', /not found/],
  [
    'expose deployment web --name=taken --port=80 --cluster-ip=10.99.0.1',
    /is outside of the addresses of services, 10\.43\.0\.0\/16/,
  ],
  ['expose deployment web --protocol=SCTP', /Allowed choices are TCP, UDP/],
  ['expose deploy/web svc/web --name=x --port=80', /--name is for one service/],
])('refuses "%s"', async (words, why) => expect((await world.berth(words)).err).toMatch(why));
