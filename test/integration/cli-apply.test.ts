import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// What `apply` deletes and builds, in this process, against a real API server.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

async function files(folder: string, texts: Readonly<Record<string, string>>): Promise<string> {
  const path = join(cli.folder, folder);
  await mkdir(path, { recursive: true });
  for (const [name, text] of Object.entries(texts)) await writeFile(join(path, name), text);
  return path;
}

const configMap = (name: string, labels = '{}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  labels: ${labels}\n`;
const names = async (...words: string[]): Promise<string[]> =>
  (await cli.berth('get', 'configmaps', '-o', 'name', ...words)).out.split('\n').filter(Boolean);

it('prunes what has the labels, was applied, and is no longer in the manifests', async () => {
  await cli.berth('create', 'namespace', 'by-label');
  const all = ['-n', 'by-label'];
  const labels = '{app: web}';
  const two = await files('two', {
    'a.yaml': configMap('a', labels),
    'b.yaml': configMap('b', labels),
    'c.yaml': configMap('c'),
  });
  await cli.berth('apply', '-f', two, ...all);
  await cli.berth('create', 'configmap', 'made', ...all);
  await cli.berth('label', 'configmap', 'made', 'app=web', ...all);
  const one = await files('one', { 'a.yaml': configMap('a', labels), 'd.yaml': configMap('d') });

  const prune = ['apply', '-f', one, '--prune', '-l', 'app=web', ...all];
  expect(await cli.berth(...prune, '--dry-run=server')).toMatchObject({
    code: 0,
    out: 'configmap/a unchanged (server dry run)\nconfigmap/b pruned (server dry run)\n',
  });
  expect((await cli.berth(...prune, '--dry-run=client')).out).toContain('configmap/b pruned (dry run)\n');
  expect((await cli.berth(...prune, '--prune-allowlist', 'apps/v1/Deployment')).out).toBe('configmap/a unchanged\n');
  expect(await names(...all)).toEqual(['configmap/a', 'configmap/b', 'configmap/c', 'configmap/made']);

  expect((await cli.berth(...prune)).out).toBe('configmap/a unchanged\nconfigmap/b pruned\n');
  expect(await names(...all)).toEqual(['configmap/a', 'configmap/c', 'configmap/made']);

  const broken = await files('broken', { 'a.yaml': configMap('a', labels), 'b.yaml': 'kind: Nothing\n' });
  expect((await cli.berth('apply', '-f', broken, '--prune', '--all', ...all)).code).toBe(1);
  expect(await names(...all)).toHaveLength(3);
  expect((await cli.berth('apply', '-f', one, '--prune', '--all', ...all)).out).toBe(
    'configmap/a unchanged\nconfigmap/d created\nconfigmap/c pruned\n',
  );
});

it('prunes the members of a set that are no longer in the manifests, in every namespace of the set', async () => {
  for (const name of ['set', 'other']) await cli.berth('create', 'namespace', name);
  const elsewhere = `${configMap('far')}  namespace: other\n`;
  const before = await files('set-before', { 'a.yaml': configMap('a'), 'b.yaml': configMap('b'), 'far.yaml': elsewhere });
  const after = await files('set-after', { 'a.yaml': configMap('a') });
  const apply = (from: string, ...more: string[]) => {
    const words = ['config', 'set-context', '--current', '--namespace=set'];
    return cli.berth(...words).then(() => cli.berth('apply', '-f', from, '--prune', '--applyset=web', ...more));
  };
  const parent = async (): Promise<{ annotations: Record<string, string>; labels: Record<string, string> }> =>
    JSON.parse((await cli.berth('get', 'secret', 'web', '-n', 'set', '-o', 'json')).out).metadata;

  expect((await apply(before)).out).toBe('configmap/a created\nconfigmap/b created\nconfigmap/far created\n');
  const { annotations, labels } = await parent();
  expect(annotations).toMatchObject({
    'applyset.kubernetes.io/tooling': 'berth/v1',
    'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap',
    'applyset.kubernetes.io/additional-namespaces': 'other',
  });
  const members = `applyset.kubernetes.io/part-of=${labels['applyset.kubernetes.io/id']}`;
  expect(await names('-A', '-l', members)).toHaveLength(3);

  const dry = await apply(after, '--dry-run=server');
  expect(dry.out).toContain('configmap/far pruned (server dry run)');
  expect(await names('-A', '-l', members)).toHaveLength(3);
  const onServer = await files('set-on-server', { 'a.yaml': configMap('a'), 'c.yaml': configMap('c') });
  expect((await apply(onServer, '--server-side', '--force-conflicts')).out).toContain('configmap/c serverside-applied\n');
  expect(await names('-A', '-l', members)).toEqual(['configmap/a', 'configmap/c']);
  expect((await apply(after)).out).toContain('configmap/c pruned\n');
  expect(await names('-A', '-l', members)).toEqual(['configmap/a']);
  expect((await parent()).annotations['applyset.kubernetes.io/additional-namespaces']).toBe('');

  const second = await cli.berth('apply', '-f', after, '--prune', '--applyset=configmap/second');
  expect(second).toMatchObject({ code: 1, err: expect.stringContaining('is part of another set') });
  await cli.berth('annotate', '--overwrite', 'secret', 'web', 'applyset.kubernetes.io/tooling=kubectl/v1.27');
  expect(await apply(before)).toMatchObject({ code: 1, out: '', err: expect.stringContaining('keeps a set of kubectl/v1.27') });
  await cli.berth('config', 'set-context', '--current', '--namespace=default');
});

it('applies, compares, shows and deletes what a kustomization builds', async () => {
  const folder = await files('built', {
    'kustomization.yaml':
      'resources: [a.yaml]\nnamePrefix: my-\nnamespace: default\nconfigMapGenerator: [{name: made, literals: [a=1]}]\n',
    'a.yaml': configMap('a'),
  });
  const built = (await cli.berth('kustomize', folder)).out;
  const [, made] = /name: (my-made-\w{10})\n/.exec(built) ?? [];
  expect(built).toContain('kind: ConfigMap');
  expect((await cli.berth('diff', '-k', folder)).out).toContain('+  name: my-a');
  expect((await cli.berth('apply', '-k', folder)).out).toBe(`configmap/my-a created\nconfigmap/${made} created\n`);
  expect((await cli.berth('get', '-k', folder, '-o', 'name')).out).toBe(`configmap/my-a\nconfigmap/${made}\n`);
  expect(await cli.berth('apply', '-k', folder, '-f', folder)).toMatchObject({
    code: 1,
    err: 'error: -k takes one folder, and no -f beside it\n',
  });
  expect((await cli.berth('delete', '-k', folder)).out).toBe(`configmap "my-a" deleted\nconfigmap "${made}" deleted\n`);
  expect((await cli.berth('create', '-k', folder)).code).toBe(0);
});
