import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examples } from '../../cli/program/examples.ts';
import { createProgram } from '../../host/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Words as users of kubectl type them, in this process, against a real API server: no node runs anything.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
  await server.client.namespaces.create({ metadata: { name: 'other' } });
  for (const namespace of ['default', 'other'])
    await server.client.configMaps.create({ metadata: { namespace, name: `in-${namespace}`, labels: { app: 'x' } } });
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

describe('flags in the forms of pflag', () => {
  it.each([
    ['get cm -n=other -o=name -l=app=x', 'configmap/in-other\n'],
    ['get cm -nother -oname', 'configmap/in-other\n'],
    ['-n=other get cm -o=name', 'configmap/in-other\n'],
    ['get cm in-default -o=jsonpath={.metadata.name}', 'in-default'],
    ['get cm -A=false -l app=x -oname', 'configmap/in-default\n'],
    ['get cm -Aoname --all-namespaces=true -l=app=x', 'configmap/in-default\nconfigmap/in-other\n'],
    ['get cm in-other -n=default --ignore-not-found=true', ''],
    ['get cm -n= -oname -l=app=x', 'configmap/in-default\n'],
    ['get cm --namespace= -oname -l=app=x', 'configmap/in-default\n'],
    ['delete cm --all -n= -l=app=x --dry-run=server -oname', 'configmap/in-default\n'],
    ['get cm in-default -o=jsonpath={.none} --allow-missing-template-keys', ''],
    ['get cm in-default -o=jsonpath={.none} --allow-missing-template-keys=true', ''],
  ])('berth %s', async (words, out) => {
    const said = await cli.berth(...words.split(' '));
    expect(said).toMatchObject({ code: 0, out, err: '' });
  });

  it('patches and deletes in the namespace that is meant', async () => {
    expect((await cli.berth('patch', 'cm/in-other', '-n=other', '-p={"data":{"a":"b"}}')).code).toBe(0);
    expect((await server.client.configMaps.get({ namespace: 'other', name: 'in-other' })).data).toEqual({ a: 'b' });
    expect((await cli.berth('delete', 'cm', '-n=other', '-l=app=x')).out).toContain('in-other');
    expect((await server.client.configMaps.get({ namespace: 'default', name: 'in-default' })).metadata?.name).toBe('in-default');
  });

  it.each([
    ['get cm in-default -o=jsonpath={.none} --allow-missing-template-keys=false', /none is not found/],
    ['get cm -n Other', /namespace's name must consist of lower case letters/],
    ['get cm -n ==other', /namespace's name must consist of/],
    ['get cm --ignore-not-found=perhaps', /invalid value "perhaps" for --ignore-not-found: it must be true or false/],
  ])('refuses berth %s', async (words, err) => {
    const said = await cli.berth(...words.split(' '));
    expect(said.code).toBe(1);
    expect(said.err).toMatch(err);
  });
});

const podYaml = (spec: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, ${spec}}]}\n`;

async function file(name: string, text: string): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, text);
  return path;
}

describe('manifests of other tools, and what Kubernetes has and Berth not yet', () => {
  it.each([
    [
      'a ResourceClaim',
      'apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n',
      '2: kind: ResourceClaim is not there yet: ',
    ],
    ['a Compose file', 'services:\n  web: {image: nginx}\n', '1: this is a Compose file'],
    [
      'an unrendered chart',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n',
      '4: this is a template, as of a Helm chart',
    ],
    [
      'a template that is YAML',
      'apiVersion: v1\nkind: Pod\nspec: {{ .Values.spec }}\n',
      '3: this is a template, as of a Helm chart',
    ],
    ['Chart.yaml', 'apiVersion: v2\nname: web\nversion: 1.0.0\n', '1: this describes a Helm chart'],
    ['a number as a variable', podYaml('image: i, env: [{name: A, value: 5}]'), 'found number 5; put it in quotes'],
  ])('%s is named in one line', async (_, text, problem) => {
    const path = await file('foreign.yaml', text);
    const said = await cli.berth('apply', '-f', path);
    expect(said.code).toBe(1);
    expect(said.err).toContain(`${path}:`);
    expect(said.err).toContain(problem);
    expect(said.err.trimEnd().split('\n')).toHaveLength(1);
  });

  it.each(['get resourceclaims', 'describe resourceclaim a', 'explain resourceclaim', 'create resourceclaim web --rule=x'])(
    'berth %s is not there yet',
    async (words) => {
      const said = await cli.berth(...words.split(' '));
      expect(said).toMatchObject({ code: 1, out: '' });
      expect(said.err).toMatch(/^error: [^\n]* is not there yet: [^\n]*\n$/);
    },
  );

  it('says what a server dry run would change, and changes nothing', async () => {
    const manifest = (value: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tried}\ndata: {k: ${value}}\n`;
    const [old, next] = [await file('tried.yaml', manifest('old')), await file('tried-next.yaml', manifest('next'))];
    expect((await cli.berth('apply', '-f', old)).code).toBe(0);
    const tried = (...words: string[]) => cli.berth(...words, '--dry-run=server').then(({ out }) => out);
    expect(await tried('apply', '-f', next)).toBe('configmap/tried configured (server dry run)\n');
    expect(await tried('apply', '-f', old)).toBe('configmap/tried unchanged (server dry run)\n');
    expect(await tried('patch', 'cm', 'tried', '-p={"data":{"k":"x"}}')).toBe('configmap/tried patched (server dry run)\n');
    expect(await tried('patch', 'cm', 'tried', '-p={"data":{"k":"old"}}')).toBe(
      'configmap/tried patched (no change) (server dry run)\n',
    );
    expect((await server.client.configMaps.get({ namespace: 'default', name: 'tried' })).data).toEqual({ k: 'old' });
  });

  it('warns of memory in thousandths of a byte', async () => {
    const path = await file('memory.yaml', podYaml('image: i, resources: {requests: {memory: 128m}}'));
    const said = await cli.berth('apply', '--dry-run=server', '-f', path);
    expect(said.code).toBe(0);
    expect(said.err).toContain('spec.containers[0].resources.requests[memory] is a fractional byte value: "128m"');
  });
});

describe('the help', () => {
  it.each([
    ['rollout restrat --help', /^error: unknown command 'restrat' of "berth rollout"; did you mean restart\?\n$/],
    ['config -n a nonsense -h', /^error: unknown command 'nonsense' of "berth config"; "berth config --help" lists them\n$/],
    ['help nonsense', /^error: unknown command 'nonsense'; "berth --help" lists the commands\n$/],
    ['help rollout nonsense', /^error: unknown command 'nonsense' of "berth rollout"/],
  ])('refuses berth %s', async (words, err) => {
    const said = await cli.berth(...words.split(' '));
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(err);
  });

  it.each([
    ['help rollout restart', /^Usage: berth rollout restart /],
    ['rollout restart --help', /^Usage: berth rollout restart /],
    ['help rollout', /^Usage: berth rollout status/],
    ['help', /^Usage: berth \[options\]/],
    ['create configmap --help', /^Usage: berth create/],
  ])('berth %s', async (words, out) => {
    const said = await cli.berth(...words.split(' '));
    expect(said).toMatchObject({ code: 0, err: '' });
    expect(said.out).toMatch(out);
  });

  it('has examples of every command but those that take no words', async () => {
    const plain = ['agent', 'api-versions', 'compact', 'controllers', 'plugin', 'scheduler', 'server', 'uninstall', 'version'];
    const without = (await createProgram()).commands.map((command) => command.name()).filter((name) => !(name in examples));
    expect(without.filter((name) => !name.startsWith('_')).toSorted()).toEqual(plain.toSorted());
  });

  it('has an error for a command that does not exist', async () => {
    expect(await cli.berth('fly', '--help')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining("unknown command 'fly'"),
    });
  });

  it('shows the flags of every command, examples, and no empty defaults', async () => {
    const { out } = await cli.berth('get', '--help');
    expect(out).toContain('Global Options:\n');
    expect(out).toContain('--namespace <name>');
    expect(out).toContain('Examples:\n  berth get pods');
    expect(out).not.toContain('(default: [])');
  });

  it('lists the commands in groups', async () => {
    const { out } = await cli.berth('--help');
    expect(out).not.toContain('\nCommands:');
    expect(out).toMatch(/\nLook at objects:\n {2}get /);
  });
});

describe('replace --force', () => {
  it('keeps the old pod when the server would not create the new one', async () => {
    await server.client.pods.create({
      metadata: { namespace: 'default', name: 'web' },
      spec: { containers: [{ name: 'main', image: 'one' }] },
    });
    const bad = await cli.berth(
      'replace',
      '--force',
      '-f',
      await file('bad.yaml', podYaml('image: two, imagePullPolicy: Sometimes')),
    );
    expect(bad.code).toBe(1);
    const image = async () => (await server.client.pods.get({ namespace: 'default', name: 'web' })).spec?.containers?.[0]?.image;
    expect(await image()).toBe('one');
    const good = await cli.berth('replace', '--force', '-f', await file('good.yaml', podYaml('image: two')));
    expect(good).toMatchObject({ code: 0, out: 'pod/web replaced\n' });
    expect(await image()).toBe('two');
  });
});
