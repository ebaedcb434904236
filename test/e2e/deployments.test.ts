import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, type EventJson, image, isReady, type PodHouse, type PodJson } from './pods-fixture.ts';

// Deployments of real containers.
let house: PodHouse;

beforeAll(async () => {
  house = await createPodHouse('deployments');
});
afterAll(async () => {
  await house?.berth.purge();
});

interface DeploymentJson {
  readonly metadata: { readonly generation: number; readonly annotations?: Record<string, string> };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly replicas?: number;
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  };
}

const deploymentNamed = async (name: string) => (await house.berth.reader.get('Deployment', name)) as unknown as DeploymentJson;

const podsOf = async (name: string) =>
  (
    (await house.berth.reader.list('Pod')) as unknown as readonly (PodJson & { metadata: { deletionTimestamp?: string } })[]
  ).filter(({ metadata }) => metadata.name.startsWith(`${name}-`));

function deploymentOf(name: string, replicas: number, container: object, spec: object = {}, annotations: object = {}): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, annotations },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...spec,
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 10, containers: [container] } },
    },
  };
}

/** A web server that says its version; taken out of its addresses before it ends, as docs/workloads.md teaches. */
const web = (version: string) => ({
  name: 'web',
  image,
  imagePullPolicy: 'IfNotPresent',
  command: ['sh', '-c', `echo ${version} >/www/index.html; trap "exit 0" TERM; httpd -f -p 8080 -h /www & wait`],
  readinessProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 1 },
  lifecycle: { preStop: { exec: { command: ['sleep', '2'] } } },
});

const isRolledOut = ({ metadata, status = {} }: DeploymentJson, replicas: number) =>
  status.observedGeneration === metadata.generation &&
  [status.replicas, status.updatedReplicas, status.availableReplicas].every((count) => count === replicas);

const rolledOut = (name: string, replicas: number) =>
  eventually(
    `deployment ${name} is rolled out`,
    async () => {
      const found = await deploymentNamed(name);
      return isRolledOut(found, replicas) ? found : undefined;
    },
    120_000,
  );

function ask(ip: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get({ host: ip, port: 8080, path: '/', agent: false, timeout: 5_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text.trim()) : reject(new Error(`${response.statusCode}`)),
      );
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 5 s')));
    request.on('error', reject);
  });
}

/** Sends requests to the addresses of Ready pods, one after the other, until it is stopped. */
function load(name: string) {
  const answers = new Map<string, number>();
  const failures: string[] = [];
  let ips: string[] = [];
  let isOver = false;
  const look = async () => {
    const ready = (await podsOf(name)).filter((pod) => isReady(pod) && !pod.metadata.deletionTimestamp);
    ips = ready.flatMap(({ status }) => status.podIP ?? []);
  };
  let looking = look();
  const follow = async () => {
    while (!isOver) {
      await looking;
      looking = look();
    }
    await looking;
  };
  const send = async () => {
    for (let nth = 0; !isOver; nth++) {
      const ip = ips[nth % Math.max(1, ips.length)];
      if (ip === undefined) {
        failures.push('no pod is ready');
        await looking;
        continue;
      }
      try {
        const said = await ask(ip);
        answers.set(said, (answers.get(said) ?? 0) + 1);
      } catch (error) {
        failures.push(`${ip}: ${error instanceof Error ? error.message : error}`);
      }
    }
  };
  const running = follow();
  const senders = eventually('a pod is ready', async () => ips.length > 0 || undefined).then(() => Promise.all([send(), send()]));
  return {
    answers,
    failures,
    async stop() {
      isOver = true;
      await Promise.all([running, senders]);
    },
  };
}

describe('a rolling update', () => {
  it('loses no request of a constant load', async () => {
    const bounds = { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };
    await house.apply(deploymentOf('web', 3, web('one'), bounds));
    await rolledOut('web', 3);
    const running = load('web');
    await eventually('the old version answers', async () => running.answers.get('one') || undefined);
    await house.apply(deploymentOf('web', 3, web('two'), bounds));
    await rolledOut('web', 3);
    await eventually('only the new version is left', async () => (await podsOf('web')).length === 3 || undefined);
    const before = running.answers.get('two') ?? 0;
    await eventually('the new version answers', async () => (running.answers.get('two') ?? 0) > before + 20 || undefined);
    await running.stop();
    expect(running.failures).toEqual([]);
    expect([...running.answers.keys()].toSorted()).toEqual(['one', 'two']);
  });

  it('that asks for it is rolled back by itself when the deadline passes, with an event that says why', async () => {
    const asks = { 'berth.io/rollback-on-deadline': 'true' };
    const deadline = { progressDeadlineSeconds: 8, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };
    const container = (text: string) => ({ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', text] });
    await house.apply(deploymentOf('careful', 2, container('sleep 10000'), deadline, asks));
    await rolledOut('careful', 2);
    await house.apply(deploymentOf('careful', 2, container('echo cannot open the door; exit 7'), deadline, asks));
    const told = await eventually('an event tells of the rollback', async () => {
      const events = (await house.berth.reader.list('Event')) as unknown as readonly EventJson[];
      return events.find(({ involvedObject, reason }) => involvedObject.name === 'careful' && reason === 'DeploymentRollback');
    });
    expect(told.message).toMatch(
      /^Rolled back from replica set careful-\w+ to careful-\w+ \(revision 1\): pod careful-[\w-]+, container main: /,
    );
    expect(told.message).toContain('exit code 7');
    expect(told.message).toContain('last lines: cannot open the door');
    const back = await rolledOut('careful', 2);
    expect(back.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3');
  });
});
