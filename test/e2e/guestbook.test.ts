import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, image, type PodHouse, type PodJson } from './pods-fixture.ts';

// The guestbook of examples/, as a new user applies it, and Deployments that do not come up.
const folder = fileURLToPath(new URL('../../examples/guestbook/', import.meta.url));
let house: PodHouse;

beforeAll(async () => {
  house = await createPodHouse('guestbook');
});
afterAll(async () => {
  await house?.berth.purge();
});

interface ObjectJson {
  readonly spec: { readonly replicas?: number };
  readonly status?: {
    readonly replicas?: number;
    readonly succeeded?: number;
    readonly currentMetrics?: readonly { resource?: { current?: { averageUtilization?: number } } }[];
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  };
}

const ok = (...args: string[]) => house.berth.ok(...args);
const json = async (...args: string[]) => JSON.parse(await ok('get', ...args, '-o', 'json'));
const podsOf = async (tier: string): Promise<PodJson[]> => (await json('pods', '-l', `tier=${tier}`)).items;

/** A request to a pod's own address; resolves to the body. */
function ask(ip: string, path: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: ip, port: 8080, path, method: body === undefined ? 'GET' : 'POST', agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(`${answer.statusCode}: ${text}`))));
      answer.on('error', reject);
    });
    asked.setTimeout(10_000, () => asked.destroy(new Error('no answer within 10 s')));
    asked.on('error', reject);
    asked.end(body);
  });
}

describe('the guestbook', () => {
  it('comes up from its manifests', async () => {
    await ok('apply', '-f', folder);
    for (const name of [
      'deployment/backend',
      'deployment/frontend',
      'deployment/moderator',
      'statefulset/store',
      'daemonset/node-report',
    ])
      expect(await ok('rollout', 'status', name, '--timeout=120s'), name).toMatch(
        /successfully rolled out|rolling update complete|roll out complete/,
      );
    const table = await ok('get', 'all');
    for (const part of [
      'deployment.apps/frontend',
      'statefulset.apps/store',
      'daemonset.apps/node-report',
      'cronjob.batch/digest',
      'horizontalpodautoscaler.autoscaling/frontend',
      'pod/store-0',
      'pod/store-1',
    ])
      expect(table).toContain(part);
  });

  it('is unchanged by a second apply', async () => {
    const lines = (await ok('apply', '-f', folder)).trim().split('\n');
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
  });

  it('shows on its page what was entered: front end, back end and store find each other', async () => {
    const [first] = await podsOf('frontend');
    const ip = first!.status.podIP!;
    expect(await ask(ip, '/')).toContain('url=/cgi-bin/guestbook');
    expect(await ask(ip, '/cgi-bin/guestbook', 'entry=a+first%3C+visitor')).toContain('a first&lt; visitor');
  });

  it('keeps entries in the volume of a pod of the StatefulSet when the pod is made anew', async () => {
    const ip = (await house.pod('store-0')).status.podIP!;
    expect(await ask(ip, '/cgi-bin/entries', 'hello from a test')).toContain('hello from a test');
    const { uid } = (await house.pod('store-0')).metadata;
    await ok('delete', 'pod', 'store-0');
    const again = await house.until(
      'store-0',
      'is Ready anew',
      (pod) => pod.metadata.uid !== uid && pod.status.podIP !== undefined && pod.status.containerStatuses?.[0]?.ready === true,
    );
    expect(await ask(again.status.podIP!, '/cgi-bin/entries')).toContain('hello from a test');
    expect(await ok('get', 'pvc')).toMatch(/data-store-0 +Bound/);
  });

  it('gets more front ends when its visitors keep them busy', async () => {
    let isOver = false;
    const visit = async () => {
      while (!isOver)
        for (const { status } of await podsOf('frontend'))
          for (let times = 0; times < 20 && !isOver; times++)
            await ask(status.podIP ?? '', '/cgi-bin/guestbook').catch(() => undefined);
    };
    const visitors = [visit(), visit()];
    try {
      await eventually(
        'the autoscaler asks for more',
        async () => ((await json('deployment', 'frontend')) as ObjectJson).spec.replicas! > 2 || undefined,
        150_000,
      );
    } finally {
      isOver = true;
      await Promise.all(visitors);
    }
    expect(await ok('get', 'events')).toMatch(/SuccessfulRescale.*New size: [34]; reason: cpu resource utilization/);
    expect(await ok('describe', 'hpa', 'frontend')).toMatch(/ScalingActive +True/);
  });

  it('makes a digest every minute', async () => {
    const jobs = await eventually(
      'a Job of the CronJob has succeeded',
      async () => {
        const { items } = (await json('jobs')) as { items: ObjectJson[] };
        return items.some(({ status }) => status?.succeeded === 1) ? items : undefined;
      },
      120_000,
    );
    expect(jobs.length).toBeGreaterThan(0);
  });

  it('is gone with everything that it made when its manifests are deleted', async () => {
    await ok('delete', '-f', folder);
    await eventually(
      'no pod is left',
      async () => ((await json('pods')) as { items: unknown[] }).items.length === 0 || undefined,
    );
    // Claims stay, as Kubernetes keeps them, with what the users wrote.
    expect(await ok('get', 'pvc')).toMatch(/data-store-0/);
  });
});

const deploymentOf = (name: string, container: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'c', image, imagePullPolicy: 'IfNotPresent', command: ['sleep', '1000'], ...container }],
      },
    },
  },
});
const quota = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'small' },
  spec: { hard: { 'requests.memory': '64Mi' } },
};

describe('berth why', () => {
  const cases: [string, string, object[], RegExp[]][] = [
    [
      'a broken image',
      'image',
      [deploymentOf('image', { image: 'localhost:1/none:1', imagePullPolicy: 'Always' })],
      [/localhost:1\/none:1/, /ImagePullBackOff|ErrImagePull/],
    ],
    [
      'a probe that fails',
      'probe',
      [
        deploymentOf('probe', {
          readinessProbe: { exec: { command: ['sh', '-c', 'echo no table users; exit 1'] }, periodSeconds: 1 },
        }),
      ],
      [/no table users/],
    ],
    [
      'a program that ends',
      'crash',
      [deploymentOf('crash', { command: ['sh', '-c', 'echo no such database; exit 3'] })],
      [/no such database/, /\b3\b/],
    ],
    [
      'no room',
      'room',
      [deploymentOf('room', { resources: { requests: { cpu: '900' } } })],
      [/Insufficient cpu|insufficient cpu/],
    ],
    [
      'a quota',
      'full',
      [quota, deploymentOf('full', { resources: { requests: { memory: '65Mi' } } })],
      [/exceeded quota: small/, /requests\.memory=65Mi/, /limited: requests\.memory=64Mi/],
    ],
  ];
  it.each(cases)('says of a Deployment with %s what it is', async (_, name, objects, expected) => {
    await house.apply(...objects);
    const text = await eventually(
      'why says it',
      async () => {
        const said = await ok('why', `deployment/${name}`);
        return expected.every((part) => part.test(said)) ? said : Promise.reject(new Error(said));
      },
      60_000,
    );
    expect(text).toContain(name);
  });
});
