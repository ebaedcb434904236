import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { cronTab, cronTabs, definitionOf, establish } from './custom-kinds-harness.ts';

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

it('a file with a definition and an object of it is applied, and the object is handled as any other', async () => {
  const path = join(cli.folder, 'crontabs.yaml');
  await writeFile(path, `${JSON.stringify(cronTabs())}\n---\n${JSON.stringify(cronTab('a'))}\n`);
  const applied = await cli.berth('apply', '-f', path);
  expect(applied.err).toBe('');
  expect(applied.out).toContain('crontab.stable.example.com/a created');
  expect((await cli.berth('apply', '-f', path)).out).toContain('crontab.stable.example.com/a unchanged');
  for (const noun of ['ct', 'crontabs', 'CronTab', 'crontabs.stable.example.com', 'crontab.v1.stable.example.com'])
    expect((await cli.berth('get', noun, 'a', '-o', 'jsonpath={.spec.cronSpec}')).out).toBe('* * * * *');
  expect((await cli.berth('get', 'ct')).out).toMatch(/^NAME +SPEC +REPLICAS +AGE\na +\* \* \* \* \* +1 /);
  expect((await cli.berth('label', 'ct', 'a', 'team=x')).out).toContain('labeled');
  expect((await cli.berth('api-resources')).out).toMatch(/crontabs +ct +stable\.example\.com\/v1 +true +CronTab/);
  // The message of its metadata knows how these lists are merged; its kind takes no strategic merge patch.
  const kept = cronTab('a', { finalizers: ['example.com/kept'] });
  await writeFile(path, JSON.stringify({ ...kept, spec: { cronSpec: '@daily' } }));
  expect((await cli.berth('apply', '-f', path)).out).toBe('crontab.stable.example.com/a configured\n');
  await writeFile(path, JSON.stringify({ ...cronTab('a'), spec: { cronSpec: '@hourly', image: 'i' } }));
  expect((await cli.berth('apply', '-f', path)).out).toBe('crontab.stable.example.com/a configured\n');
  expect((await cli.berth('get', 'ct/a', '-o', 'jsonpath={.metadata.finalizers}{.spec.cronSpec}')).out).toBe('@hourly');
  const onServer = ['apply', '--server-side', '--force-conflicts', '-f', path];
  expect((await cli.berth(...onServer)).out).toBe('crontab.stable.example.com/a serverside-applied\n');
  await writeFile(path, JSON.stringify({ ...cronTab('a'), spec: { cronSpec: '@weekly' } }));
  expect((await cli.berth(...onServer)).err).toBe('');
  // What the manager gave up is gone.
  expect((await cli.berth('get', 'ct/a', '-o', 'jsonpath={.spec.cronSpec}{.spec.image}')).out).toBe('@weekly');
  expect((await cli.berth('delete', 'ct/a')).out).toContain('deleted');
}, 60_000);

it('are pruned from a set that has none of them left, and built by a kustomization', async () => {
  const folder = join(cli.folder, 'built');
  await mkdir(folder);
  await writeFile(join(folder, 'kustomization.yaml'), 'namePrefix: dev-\nresources: [tab.yaml]\n');
  await writeFile(join(folder, 'tab.yaml'), JSON.stringify(cronTab('b')));
  const set = ['apply', '-n', 'default', '--prune', '--applyset=tabs'];
  expect((await cli.berth(...set, '-k', folder)).out).toBe('crontab.stable.example.com/dev-b created\n');
  const other = join(cli.folder, 'other.yaml');
  await writeFile(other, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n');
  expect((await cli.berth(...set, '-f', other)).out).toBe('configmap/c created\ncrontab.stable.example.com/dev-b pruned\n');
  const elsewhere = join(cli.folder, 'elsewhere.yaml');
  await writeFile(elsewhere, 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: other\n');
  const wrong = await cli.berth(...set, '-f', elsewhere);
  expect(wrong.err).toMatch(/^error: .*elsewhere\.yaml:5: metadata\.namespace: .*--namespace=default/);
  const allowed = ['--prune', '--all', '--prune-allowlist', 'stable.example.com/v1/CronTab'];
  expect(await cli.berth('apply', '-n', 'default', '-f', other, ...allowed)).toMatchObject({ code: 0 });
}, 60_000);

it('are explained by the schemas of their definitions', async () => {
  expect((await cli.berth('explain', 'ct')).out).toMatch(
    /^GROUP: {6}stable\.example\.com\nKIND: {7}CronTab\nVERSION: {4}v1\n\nDESCRIPTION:\n {4}<empty>\n\nFIELDS:\n {2}apiVersion <string>/,
  );
  expect((await cli.berth('explain', 'crontabs.spec.steps[]')).out).toBe(`GROUP:      stable.example.com
KIND:       CronTab
VERSION:    v1

FIELD: steps <[]Object>

DESCRIPTION:
    <empty>

FIELDS:
  name <string> -required-

  run <string>

`);
  const spec = await cli.berth('explain', 'ct.spec');
  expect(spec.out).toContain('FIELD: spec <Object> -required-\n');
  expect(spec.out).toContain('  cronSpec <string> -required-\n    When it runs.\n');
  const tree = await cli.berth('explain', 'ct', '--recursive');
  expect(tree.out).toContain('\n    steps <[]Object>\n      name <string> -required-\n      run <string>\n');
  expect((await cli.berth('explain', 'ct.metadata.name')).out).toContain('FIELD: name <string>');
  expect((await cli.berth('explain', 'ct.spec.cronSpek')).err).toBe(
    'error: "crontab.spec" has no field "cronSpek"; did you mean "cronSpec"?\n',
  );
});

it('are types of TypeScript and schemas of JSON for programs', async () => {
  const types = (await cli.berth('explain', 'ct', '-o', 'typescript')).out;
  expect(types).toContain("import type { ApiObject } from 'berth';\n");
  expect(types).toContain('export interface CronTab extends ApiObject {\n  readonly spec: CronTabSpec;\n');
  expect(types).toContain('  /** When it runs. */\n  readonly cronSpec: string;\n');
  const schema = (await cli.berth('explain', 'ct', '--api-version=stable.example.com/v1', '-o', 'json-schema')).out;
  expect(JSON.parse(schema)).toMatchObject({ title: 'CronTab', properties: { spec: { required: ['cronSpec'] } } });
  const folder = join(cli.folder, 'exported');
  const exported = await cli.berth('proto', 'export', folder, '--custom-kinds');
  expect(exported.out).toContain(`wrote 2 files of custom kinds below ${folder}/custom\n`);
  const written = join(folder, 'custom', 'stable.example.com', 'v1', 'crontab');
  expect(await readFile(`${written}.ts`, 'utf8')).toBe(types);
  expect(await readFile(`${written}.schema.json`, 'utf8')).toBe(schema);
  await readFile(join(folder, 'berth', 'core', 'v1', 'pod.proto'));
});

it.each([
  ['get cront', 'crontabs\tCronTab'],
  ['get crontabs.stable.example.com comp', 'completed'],
  ['describe ct/comp', 'ct/completed'],
  ['explain crontab.spec.cr', 'crontab.spec.cronSpec'],
  ['explain ct.metadata.labe', 'ct.metadata.labels'],
])('"%s" is completed in the shell', async (line, expected) => {
  await server.client.objects
    .create('CronTab.stable.example.com', cronTab('completed'), { namespace: 'default' })
    .catch(() => {});
  const { code, out } = await cli.berth('__complete', '--', ...line.split(' '));
  expect({ code, first: out.split('\n')[0] }).toEqual({ code: 0, first: expected });
});

it.each<[string, RegExp]>([
  ['explain pod -o typescript', /-o typescript is for custom kinds: the types of pods are in the package "berth"/],
  ['explain ct.spec -o json-schema', /-o json-schema is of a whole kind: berth explain crontab -o json-schema/],
  ['explain ct -o yaml', /argument 'yaml' is invalid\. Allowed choices are plaintext, typescript, json-schema/],
  ['rollout status ct/a', /rollout status is not supported on crontabs\.stable\.example\.com: it is for deployments/],
  ['why ct/a', /"berth why" explains pods.*, not a crontab;/],
  ['logs ct/c', /a crontab has no pods: name a pod/],
  ['patch ct/c -p {}', /crontabs take no strategic merge patch: use --type=merge or --type=json/],
  ['set image ct/c x=y', /a crontab is not a pod and has no template of pods/],
])('"berth %s" says what custom kinds it is for', async (line, message) => {
  await server.client.objects.create('CronTab.stable.example.com', cronTab('c'), { namespace: 'default' }).catch(() => {});
  const { code, err } = await cli.berth(...line.split(' '));
  expect(err).toMatch(message);
  expect(code).toBe(1);
});

it('of a kind that Berth knows by name only, and of a group that is defined beside it, is read once kinds are learnt', async () => {
  const names = { plural: 'csidrivers', kind: 'CSIDriver', shortNames: [], categories: [] };
  await establish(server, definitionOf({ metadata: { name: 'csidrivers.stable.example.com' }, names }));
  const driver = { ...cronTab('d'), kind: 'CSIDriver' };
  const path = join(cli.folder, 'driver.yaml');
  await writeFile(path, `${JSON.stringify(cronTabs())}\n---\n${JSON.stringify(driver)}\n`);
  const applied = await cli.berth('apply', '-f', path);
  expect(applied.err).toBe('');
  expect(applied.out).toContain('csidriver.stable.example.com/d created');
}, 60_000);

it('are deleted together with their definition from one file, and waited for', async () => {
  const path = join(cli.folder, 'together.yaml');
  await writeFile(path, `${JSON.stringify(cronTabs())}\n---\n${JSON.stringify(cronTab('c'))}\n`);
  const gone = await cli.berth('delete', '-f', path);
  expect(gone).toMatchObject({ err: '', code: 0 });
  expect(gone.out).toMatch(/crontab.stable.example.com "c" deleted\n.*"crontabs.stable.example.com" deleted/);
}, 60_000);
