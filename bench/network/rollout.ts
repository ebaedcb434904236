import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { type Client, listAll } from '../../client/index.ts';
import { atLeast, atMost, type Figure, note } from '../figure.ts';
import type { Part } from '../parts.ts';
import { image, namespace, nodeMounts, onHosts, podOn, programPath, until } from './hosts.ts';

const defaultUpdates = 3;
const replicas = 4;
const port = 8080;
const leastRequests = 500;
const name = 'web';

interface Counts {
  readonly kept: number;
  readonly fresh: number;
  readonly failed: number;
  readonly errors: Readonly<Record<string, number>>;
}

/**
 * Rolling updates of a Deployment under constant load through its Service, over connections that are kept and new ones:
 * no request may fail. The program closes its listener at SIGTERM and has no preStop hook. `rollout=N`: N updates.
 */
export const benchRollout: Part = (say, option) =>
  onHosts(async (cluster) => {
    const updates = Number(option ?? defaultUpdates);
    const { client } = cluster;
    await client.services.create({
      metadata: { namespace, name },
      spec: { selector: { app: name }, ports: [{ port: 80, targetPort: { type: 0, intVal: port } }] },
    });
    await client.deployments.create(deployment());
    await allNew(client, '0');
    const { clusterIP = '' } = (await client.services.get({ namespace, name })).spec ?? {};
    const asker = await cluster.runPod(podOn('h2', 'asker', ['sleep', '3600']));
    const load = cluster.start(
      'h2',
      'sh',
      '-c',
      `exec ${asker.inside} ${process.execPath} ${programPath('web-load.js')} http://${clusterIP}/`,
    );
    const told = once(load.stdout!, 'data') as Promise<[Buffer]>;
    await delay(2_000);
    for (let update = 1; update <= updates; update++) {
      await client.deployments.patch(
        { namespace, name },
        { spec: { template: { metadata: { annotations: { update: String(update) } } } } },
      );
      await allNew(client, String(update));
      say(`update ${update}/${updates} is done`);
    }
    // The last of the pods before have to end as well.
    await delay(3_000);
    load.stdin!.end();
    const [line] = await told;
    return figuresOf(JSON.parse(line.toString()) as Counts, updates, say);
  });

function figuresOf({ kept, fresh, failed, errors }: Counts, updates: number, say: (text: string) => void): Figure[] {
  if (failed > 0) say(`failures: ${JSON.stringify(errors)}`);
  return [
    note('pods replaced', updates * replicas, 'pods'),
    atLeast('requests over connections that are kept', kept, 'requests', leastRequests),
    atLeast('requests over new connections', fresh, 'requests', leastRequests),
    atMost('failed requests', failed, 'requests', 0),
  ];
}

function deployment(): object {
  const { volumes, volumeMounts } = nodeMounts;
  return {
    metadata: { namespace, name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations: { update: '0' } },
        spec: {
          terminationGracePeriodSeconds: 10,
          volumes,
          containers: [
            {
              name: 'main',
              image,
              imagePullPolicy: 'IfNotPresent',
              command: [process.execPath, programPath('polite-server.js'), String(port)],
              volumeMounts,
              readinessProbe: { handler: { httpGet: { path: '/', port: { type: 0, intVal: port } } }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  };
}

/** Waits until all pods are of an update, and ready. */
async function allNew(client: Client, update: string): Promise<void> {
  await until(`the pods of update ${update} are ready`, async () => {
    const { items } = await listAll(client.pods, { namespace, labelSelector: `app=${name}` });
    const isDone =
      items.length === replicas && items.every((pod) => isPodReady(pod) && pod.metadata?.annotations?.update === update);
    return isDone || undefined;
  });
}
