import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import * as k8s from 'client-node-1';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { kubeconfigOf } from './kubeconfig.ts';

// Kubernetes' own client for Node.js, unmodified; containers in memory.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
let config: k8s.KubeConfig;
let core: k8s.CoreV1Api;
const namespace = 'default';

const configOf = (running: RunningServer): k8s.KubeConfig => {
  const loaded = new k8s.KubeConfig();
  loaded.loadFromString(JSON.stringify(kubeconfigOf(running)));
  return loaded;
};

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const container = { name: 'app', image, command: ['sleep', '1000'] };
  await server.client.pods.create({ metadata: { namespace, name: 'one' }, spec: { nodeName: 'n1', containers: [container] } });
  await podWhere(server.client, 'one', isRunning);
  for (const line of ['first', 'second']) machine.fake.writeLog(machine.fake.container('one', 'app').id, line);
  config = configOf(server);
  core = config.makeApiClient(k8s.CoreV1Api);
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
});

/** Collects what is written to it. */
function collector() {
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text };
}

const codeOf = (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 0,
    (error: unknown) => (error as k8s.ApiException<unknown>).code,
  );

describe('objects', () => {
  it('are created, read, replaced, listed and deleted by the typed API', async () => {
    const body = { metadata: { name: 'typed', labels: { by: 'client-node' } }, data: { a: '1' } };
    const made = await core.createNamespacedConfigMap({ namespace, body });
    expect(made.metadata?.creationTimestamp).toBeInstanceOf(Date);
    const replaced = { ...made, data: { a: '2' } };
    expect((await core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: replaced })).data).toEqual({ a: '2' });
    expect(await codeOf(core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: replaced }))).toBe(409);
    const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=client-node' });
    expect(items.map((item) => item.metadata?.name)).toEqual(['typed']);
    expect(await core.deleteNamespacedConfigMap({ namespace, name: 'typed' })).toMatchObject({ status: 'Success' });
    expect(await codeOf(core.readNamespacedConfigMap({ namespace, name: 'typed' }))).toBe(404);
  });

  it('are changed by each type of patch, and by an apply', async () => {
    const name = 'patched';
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { a: '1', b: '2' } } });
    const patch = (body: object, type: string, fieldManager = 'client-node') =>
      core.patchNamespacedConfigMap({ namespace, name, body, fieldManager }, k8s.setHeaderOptions('Content-Type', type));
    const { JsonPatch, MergePatch, StrategicMergePatch, ServerSideApply } = k8s.PatchStrategy;
    expect((await patch([{ op: 'remove', path: '/data/a' }], JsonPatch)).data).toEqual({ b: '2' });
    expect((await patch({ data: { c: '3' } }, MergePatch)).data).toEqual({ b: '2', c: '3' });
    expect((await patch({ data: { b: null } }, StrategicMergePatch)).data).toEqual({ c: '3' });
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { d: '4' } };
    const { metadata } = await patch(applied, ServerSideApply, 'applier');
    const managers = metadata?.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
    expect(managers).toContain('applier Apply');
  });

  it('are changed by their kind alone, as discovery shows it', async () => {
    const objects = k8s.KubernetesObjectApi.makeApiClient(config);
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } };
    const spec = { replicas: 0, selector: { matchLabels: labels }, template };
    const head = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace } };
    await objects.create({ ...head, spec } as k8s.KubernetesObject);
    const patched = await objects.patch({ ...head, spec: { replicas: 2 } } as k8s.KubernetesObject);
    expect(patched).toMatchObject({ spec: { replicas: 2 } });
    expect(await objects.read({ ...head })).toMatchObject({ metadata: { name: 'web' } });
    expect((await objects.list('apps/v1', 'Deployment', namespace)).items).toHaveLength(1);
    await objects.delete(head);
    expect(await codeOf(objects.read({ ...head }))).toBe(404);
  });
});

describe('streams of a pod', () => {
  it('exec carries input, output and the exit code', async () => {
    machine.fake.onExec(() => ({ echo: true, stderr: 'oops', exitCode: 3 }));
    const [out, err, input] = [collector(), collector(), new PassThrough()];
    const ended = new Promise<k8s.V1Status>((resolve, reject) => {
      const exec = new k8s.Exec(config);
      exec.exec(namespace, 'one', 'app', ['cat'], out.stream, err.stream, input, false, resolve).catch(reject);
    });
    input.end('typed');
    expect(await ended).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode' });
    expect([out.text(), err.text()]).toEqual(['typed', 'oops']);
  });

  it('attach shows what the container writes', async () => {
    machine.fake.onAttach(() => ({ stdout: 'from the container' }));
    const [out, err] = [collector(), collector()];
    const socket = await new k8s.Attach(config).attach(namespace, 'one', 'app', out.stream, err.stream, null, false);
    await once(socket, 'close');
    expect(out.text()).toBe('from the container');
  });

  it('a log is read, and followed until the reader stops', async () => {
    const out = new PassThrough();
    const stop = await new k8s.Log(config).log(namespace, 'one', 'app', out, { follow: true, tailLines: 1 });
    expect(String((await once(out, 'data'))[0])).toBe('second\n');
    machine.fake.writeLog(machine.fake.container('one', 'app').id, 'third');
    expect(String((await once(out, 'data'))[0])).toBe('third\n');
    stop.abort();
  });
});

it('an informer has all objects again after each restart of the server', async () => {
  const options = { backend: 'lmdb', kubernetesListen: '127.0.0.1:0' } as const;
  let own = await startServer(options);
  const { address, kubernetes } = own.info;
  const mine = configOf(own);
  const list = () => mine.makeApiClient(k8s.CoreV1Api).listNamespacedConfigMap({ namespace });
  const informer = k8s.makeInformer(mine, `/api/v1/namespaces/${namespace}/configmaps`, list);
  const heard: string[] = [];
  for (const verb of ['add', 'update', 'delete'] as const) {
    informer.on(verb, (object: k8s.KubernetesObject) => heard.push(`${verb} ${object.metadata?.name}`));
  }
  // As the library's examples do: an informer that lost its server is started again.
  let stopped = false;
  const again = (): void => void (stopped || informer.start().catch(() => setTimeout(again, 100)));
  informer.on('error', () => setTimeout(again, 100));
  await informer.start();
  try {
    for (const round of [1, 2, 3]) {
      await own.client.configMaps.create({ metadata: { namespace, name: `kept-${round}` } });
      await own.client.configMaps.create({ metadata: { namespace, name: `gone-${round}` } });
      await until('both', async () =>
        heard.includes(`add gone-${round}`) && heard.includes(`add kept-${round}`) ? true : undefined,
      );
      await own.stop();
      own = await startServer({ ...options, dataDir: own.dataDir, listen: address, kubernetesListen: kubernetes! });
      await own.client.configMaps.delete({ namespace, name: `gone-${round}` });
      await until('the deletion', async () => (heard.includes(`delete gone-${round}`) ? true : undefined));
    }
    const names = (objects: readonly k8s.KubernetesObject[]) => objects.map((object) => object.metadata?.name).sort();
    expect(names(informer.list(namespace) ?? [])).toEqual(names((await list()).items));
    expect(heard.filter((each) => each.startsWith('add kept'))).toEqual(['add kept-1', 'add kept-2', 'add kept-3']);
  } finally {
    stopped = true;
    await informer.stop();
    await own.stop();
    await own.remove();
  }
}, 120_000);

it('of candidates that take a Lease at once, one gets it, and so when they follow its holder', async () => {
  const coordination = config.makeApiClient(k8s.CoordinationV1Api);
  const candidates = ['a', 'b', 'c', 'd', 'e'];
  const name = 'lock';
  const specOf = (holderIdentity: string): k8s.V1LeaseSpec => ({
    holderIdentity,
    leaseDurationSeconds: 15,
    renewTime: new k8s.V1MicroTime(),
  });
  const race = async (take: (candidate: string) => Promise<unknown>): Promise<string> => {
    const codes = await Promise.all(candidates.map((each) => codeOf(take(each))));
    expect(codes.toSorted()).toEqual([0, 409, 409, 409, 409]);
    return candidates[codes.indexOf(0)]!;
  };
  const first = await race((each) =>
    coordination.createNamespacedLease({ namespace, body: { metadata: { name }, spec: specOf(each) } }),
  );
  const lease = await coordination.readNamespacedLease({ namespace, name });
  expect(lease.spec?.holderIdentity).toBe(first);
  // All have seen that it was not renewed, and replace the version that they saw.
  const second = await race((each) =>
    coordination.replaceNamespacedLease({ namespace, name, body: { ...lease, spec: specOf(each) } }),
  );
  expect((await coordination.readNamespacedLease({ namespace, name })).spec?.holderIdentity).toBe(second);
});
