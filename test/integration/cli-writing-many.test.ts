import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Commands that write many objects, in this process, against a real API server: no node runs anything.
const metrics = new MetricsRegistry();
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer({ metrics });
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

/** What is printed, by lines. */
async function berth(...words: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const { code, out, err } = await cli.berth(...words);
  const lines = (text: string): string[] => text.split('\n').filter(Boolean);
  return { code, out: lines(out), err: lines(err) };
}

async function manifest(name: string, ...documents: string[]): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, documents.join('---\n'));
  return path;
}

const configMap = (name: string, namespace: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\ndata:\n  a: "${data}"\n`;
const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n';
const unary = (): number =>
  formatMetrics(metrics, 'prometheus')
    .split('\n')
    .filter((line) => /^apiserver_request_total.*method="(Create|Patch|Delete)"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

it('applies a namespace and what goes into it together, in the order of the file, without a call for each', async () => {
  const before = unary();
  const maps = Array.from({ length: 30 }, (_, i) => configMap(`c${i}`, 'shop', '1'));
  const path = await manifest('shop.yaml', namespace, ...maps);
  const first = await berth('apply', '-f', path);
  const names = ['namespace/shop', ...maps.map((_, i) => `configmap/c${i}`)];
  expect(first).toEqual({ code: 0, out: names.map((name) => `${name} created`), err: [] });
  expect((await berth('apply', '-f', path)).out).toEqual(names.map((name) => `${name} unchanged`));
  await manifest('shop.yaml', namespace, ...maps.slice(0, 29), configMap('c29', 'shop', '2'));
  const third = await berth('apply', '-f', path);
  expect(third.out.slice(-2)).toEqual(['configmap/c28 unchanged', 'configmap/c29 configured']);
  expect((await server.client.configMaps.get({ namespace: 'shop', name: 'c29' })).data).toEqual({ a: '2' });
  expect(unary()).toBe(before);
});

it('applies a pod together with the account and the classes that its admission reads', async () => {
  const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: robot\n';
  const priority = 'apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n  name: urgent\nvalue: 7\n';
  const runtime = 'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata:\n  name: strict\nhandler: runc\n';
  const pod =
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: urgent\nspec:\n  serviceAccountName: robot\n  priorityClassName: urgent\n  runtimeClassName: strict\n  containers:\n  - {name: a, image: x}\n';
  const { code, err } = await berth('apply', '-f', await manifest('urgent.yaml', account, priority, runtime, pod));
  expect([code, err]).toEqual([0, []]);
  expect((await server.client.pods.get({ namespace: 'default', name: 'urgent' })).spec?.priority).toBe(7);
});

it('a document that is refused is told with its place and hides no other', async () => {
  const bad = configMap('Bad_Name', 'default', '1');
  const warned =
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: warned\nspec:\n  securityContext: {seLinuxChangePolicy: Recursive}\n  containers:\n  - {name: a, image: x}\n';
  const path = await manifest('mixed.yaml', configMap('one', 'default', '1'), bad, warned, configMap('two', 'default', '1'));
  const { code, out, err } = await berth('create', '-f', path);
  expect([code, out]).toEqual([1, ['configmap/one created', 'pod/warned created', 'configmap/two created']]);
  expect(err).toEqual([
    expect.stringMatching(/^error: .*mixed\.yaml:\d+: metadata\.name: /),
    expect.stringMatching(/^Warning: .*mixed\.yaml:\d+: spec\.securityContext\.seLinuxChangePolicy/),
  ]);
  expect((await berth('create', '-f', path)).err[0]).toContain('already exists');
});

it('two documents of one object are applied one after the other', async () => {
  const path = await manifest('twice.yaml', configMap('twice', 'default', '1'), configMap('twice', 'default', '2'));
  expect((await berth('apply', '-f', path)).out).toEqual(['configmap/twice created', 'configmap/twice configured']);
  expect((await server.client.configMaps.get({ namespace: 'default', name: 'twice' })).data).toEqual({ a: '2' });
});

it('deletes many together, says each by name, and a missing one fails no other', async () => {
  for (const name of ['x', 'y', 'z']) await server.client.configMaps.create({ metadata: { namespace: 'default', name } });
  const before = unary();
  const { code, out, err } = await berth('delete', 'configmaps', 'x', 'none', 'y', 'z');
  expect([code, out]).toEqual([1, ['configmap "x" deleted', 'configmap "y" deleted', 'configmap "z" deleted']]);
  expect(err).toEqual([expect.stringMatching(/^error: configmap "none".*not found/)]);
  const all = await berth('delete', 'configmaps', '--all');
  expect(all.code).toBe(0);
  expect((await server.client.configMaps.list({ namespace: 'default' })).items).toEqual([]);
  expect(unary()).toBe(before);
});
