import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect, upsertContext } from '../../client/index.ts';
import { startScriptedServer } from '../fakes/scripted-server.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Flags of `get` that shape what is read and how it is printed, against a real API server.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
  for (const name of ['a', 'b', 'c'])
    await server.client.configMaps.create({ metadata: { namespace: 'default', name, labels: { n: name } }, data: { key: name } });
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

async function file(name: string, text: string): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, text);
  return path;
}

describe('-o', () => {
  it.each([
    [['get', 'cm', '-o', 'go-template={{range .items}}{{.metadata.name}}={{.data.key}} {{end}}'], 'a=a b=b c=c '],
    [['get', 'cm', 'a', '-o', 'go-template', '--template', '{{.kind}}/{{.metadata.name}}'], 'ConfigMap/a'],
    [['get', 'cm/a', '--template={{.data.key}}{{"\\n"}}'], 'a\n'],
    [['get', 'cm', 'a', 'b', '-o', 'jsonpath-as-json={.items[*].data.key}'], '[\n    "a",\n    "b"\n]\n'],
    [['label', 'cm', 'a', 'm=1', '-o', 'go-template={{.metadata.labels.m}}'], '1'],
    [['create', 'configmap', 'x', '--dry-run=client', '--from-literal=k=v', '--template', '{{.data.k}}'], 'v'],
    [['events', '-o', 'go-template={{len .items}}'], '0'],
    [['wait', 'cm/a', '--for=create', '-o', 'go-template={{.metadata.name}} {{.data}}'], 'a map[key:a]'],
  ])('berth %j', async (words, out) => expect(await cli.berth(...words)).toEqual({ code: 0, out, err: '' }));

  it('reads files', async () => {
    const template = await file('template', '{{range .items}}{{.metadata.name}}{{end}}\n');
    expect((await cli.berth('get', 'cm', `-o=go-template-file=${template}`)).out).toBe('abc\n');
    const columns = await file('columns', 'NAME  KEY\nmetadata.name  .data.key\n');
    expect((await cli.berth('get', 'cm', '-o', `custom-columns-file=${columns}`, '-l', 'n=b')).out).toBe(
      'NAME   KEY\nb      b\n',
    );
    expect((await cli.berth('get', 'cm', '-o', `jsonpath-file=${await file('path', '{.items[2].data.key}')}`)).out).toBe('c');
  });

  it('says what is wrong with a template before it asks the server, and what it failed at', async () => {
    const unread = await cli.berth('get', 'cm', '--context=none', '-o', 'go-template={{.x');
    expect(unread).toEqual({
      code: 1,
      out: '',
      err: 'error: error parsing template {{.x, template: output:1: unclosed action\n',
    });
    const failed = await cli.berth('get', 'cm', 'a', '-o', 'go-template={{.kind.x}}');
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(
      /^error: error executing template "\{\{\.kind\.x\}\}": template: output:1:2: executing "output" at /,
    );
  });
});

it('--show-kind names objects with their type', async () => {
  const { out } = await cli.berth('get', 'cm', '--show-kind', '--no-headers');
  expect(out.split('\n').map((line) => line.split(' ')[0])).toEqual(['configmap/a', 'configmap/b', 'configmap/c', '']);
});

describe('--sort-by', () => {
  it.each([[[]], [['-o', 'json']], [['-o', 'name']]])(
    'refuses a field that no object has, and prints nothing: %j',
    async (format) => {
      const { code, out, err } = await cli.berth('get', 'cm,ns', '--sort-by=.metadata.nam', ...format);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toBe('error: couldn\'t find any field with path "{.metadata.nam}" in the list of objects\n');
    },
  );

  it('takes a field that only some of the objects have', async () => {
    const words = ['get', 'cm,ns', '--no-headers', '--sort-by', '{.data.key}'];
    const names = (await cli.berth(...words)).out.split('\n').map((line) => line.split(' ')[0]);
    expect(names.slice(0, 5)).toEqual(['configmap/a', 'configmap/b', 'configmap/c', '', expect.stringMatching(/^namespace\//)]);
    expect((await cli.berth('get', 'cm', '-l', 'n=none', '--sort-by=.metadata.nam')).err).toContain('No resources found');
  });
});

it.each(['0', '1', '2'])('--chunk-size=%s finds all objects', async (size) => {
  expect((await cli.berth('get', 'cm', `--chunk-size=${size}`, '-oname')).out).toBe('configmap/a\nconfigmap/b\nconfigmap/c\n');
  expect((await cli.berth('get', 'cm', `--chunk-size=${size}`, '--no-headers')).out.split('\n')).toHaveLength(4);
  expect((await cli.berth('get', 'cm', '--chunk-size=x')).err).toContain('It takes a whole number, 0 or more');
});

describe('--raw', () => {
  it('prints pages of the server as they are', async () => {
    expect(await cli.berth('get', '--raw', '/healthz')).toEqual({ code: 0, out: 'ok', err: '' });
    expect((await cli.berth('get', '--raw=/readyz?verbose')).out).toBe(
      '[+]ping ok\n[+]storage ok\n[+]shutdown ok\nreadyz check passed\n',
    );
    expect((await cli.berth('get', '--raw', '/metrics')).out).toMatch(/^apiserver_request_total\{.*method="Get".*\} \d+$/m);
  });

  it.each([
    [['/nothing'], 'the server has no page "/nothing": there are /healthz, /livez, /readyz, /version, /metrics'],
    [['/api/v1/pods'], 'objects are read with "berth get TYPE -o json"'],
    [['healthz'], '--raw takes a path that begins with "/"'],
    [['/healthz', 'pods'], 'arguments may not be passed when --raw is specified'],
    [['/healthz', '-o', 'json'], '--raw and --output may not be specified together'],
    [['/healthz', '-w'], '--raw and --watch may not be specified together'],
  ])('%j is refused', async (words, message) => {
    expect(await cli.berth('get', '--raw', ...words)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) });
  });

  it('asks with the rights of the caller: all users may see health, metrics are for those who may get them', async () => {
    const as = ['--as=jane', '--as-group=system:authenticated'];
    expect(await cli.berth('get', '--raw=/livez', ...as)).toMatchObject({ code: 0, out: 'ok' });
    expect(await cli.berth('get', '--raw=/metrics', ...as)).toMatchObject({
      code: 1,
      err: expect.stringContaining('user "jane" cannot get /metrics'),
    });
  });

  it('says of a server that has no pages that it is older, and shows a page of health that is bad', async () => {
    const old = await startScriptedServer({});
    const body = Buffer.from('[-]storage failed\nreadyz check failed\n');
    const bad = await startScriptedServer({ unary: { 'berth.server.v1.Pages/Get': () => ({ status: 500, body }) } });
    try {
      await upsertContext({ name: 'old', options: { address: old.address, ca: old.pki.ca }, use: false });
      await upsertContext({ name: 'bad', options: { address: bad.address, ca: bad.pki.ca }, use: false });
      expect((await cli.berth('get', '--raw=/healthz', '--context=old')).err).toContain('the server is older than this command');
      const said = await cli.berth('get', '--raw=/readyz', '--context=bad');
      expect(said).toEqual({ code: 1, out: '', err: 'error: [-]storage failed\nreadyz check failed\n' });
    } finally {
      old.stop();
      bad.stop();
    }
  });
});

describe('a watch', () => {
  /** Watches the config maps with the label, of which one is there, while another is made and deleted. */
  async function watched(label: string, ...words: string[]): Promise<string> {
    const { configMaps } = server.client;
    const create = (name: string) => configMaps.create({ metadata: { namespace: 'default', name, labels: { watched: label } } });
    await create(`${label}-old`);
    const watching = cli.berth('get', 'cm', '-l', `watched=${label}`, '-w', ...words);
    const printed = () =>
      vi
        .mocked(process.stdout.write)
        .mock.calls.map(([text]) => String(text))
        .join('');
    const shown = (name: string, times: number) =>
      vi.waitFor(() => expect(printed().split(`${label}-${name}`).length - 1).toBeGreaterThanOrEqual(times), { timeout: 10_000 });
    await shown('old', 1);
    await create(`${label}-new`);
    for (const name of ['old', 'new']) await configMaps.delete({ namespace: 'default', name: `${label}-${name}` });
    await shown('new', 2);
    process.emit('SIGINT');
    return (await watching).out;
  }

  it('prints names, one for each object and change', async () => {
    const lines = (await watched('names', '-o', 'name')).trimEnd().split('\n');
    expect(lines).toEqual(['old', 'new', 'old', 'new'].map((name) => `configmap/names-${name}`));
  });

  it('prints a document of YAML for each, and what a template picks', async () => {
    const documents = (await watched('yaml', '-o', 'yaml')).split('---\n');
    expect(documents.map((text) => /^ {2}name: (\S+)$/m.exec(text)?.[1])).toEqual([
      'yaml-old',
      'yaml-new',
      'yaml-old',
      'yaml-new',
    ]);
    const names = ['old', 'new', 'old', 'new'].map((name) => `path-${name} `).join('');
    expect(await watched('path', '-o', 'jsonpath={.metadata.name}{" "}')).toBe(names);
  });
});

describe('--request-timeout', () => {
  it('is the limit of --chunk-size pages and of a watch, and says that the time ended', async () => {
    const watched = await cli.berth('get', 'cm', '-w', '--request-timeout=3s');
    expect(watched.code).toBe(1);
    expect(watched.out).toMatch(/^NAME +DATA +AGE\na /);
    expect(watched.err).toMatch(
      /^error: \/berth\.meta\.v1\.Objects\/Watch of the API server at .* did not end within 3000 ms\n$/,
    );
  });

  it('does not end a wait that lasts longer than a request may', async () => {
    // A watch that is never answered; the object is there when it is read again after the watch has run out of time.
    let watches = 0;
    const late = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'late', resourceVersion: '2' } };
    const list = () => ({ metadata: { resourceVersion: '1' }, items: watches > 0 ? [Buffer.from(JSON.stringify(late))] : [] });
    const slow = await startScriptedServer({
      unary: { 'berth.meta.v1.Objects/List': list },
      streaming: { 'berth.meta.v1.Objects/Watch': () => void watches++ },
    });
    try {
      await upsertContext({ name: 'slow', options: { address: slow.address, ca: slow.pki.ca }, use: false });
      const words = ['wait', 'cm/late', '--for=create', '--timeout=60s', '--request-timeout=2s', '--context=slow'];
      expect(await cli.berth(...words)).toMatchObject({ code: 0, err: '' });
      expect(watches).toBe(1);
    } finally {
      slow.stop();
    }
  });

  it.each(['0', '30', '1m', '0s', '1h30m'])('takes %s', async (time) => {
    expect(await cli.berth('get', 'cm', 'a', '-oname', `--request-timeout=${time}`)).toMatchObject({
      code: 0,
      out: 'configmap/a\n',
    });
  });

  it('refuses what is no time', async () => {
    const { code, err } = await cli.berth('--request-timeout', 'soon', 'get', 'cm');
    expect(code).toBe(1);
    expect(err).toContain(
      '--request-timeout takes seconds or a span of time, e.g. 30, 1s, 2m or 1h30m; 0 is no bound: not "soon"',
    );
  });

  it('ends a request that a server does not answer, also one of many writes', async () => {
    const silent = await startScriptedServer({
      unary: { 'berth.meta.v1.Objects/List': () => new Promise(() => {}) },
      duplex: { 'berth.meta.v1.Objects/Bulk': (call) => call.onMessage(() => {}) },
    });
    try {
      await upsertContext({ name: 'silent', options: { address: silent.address, ca: silent.pki.ca }, use: false });
      const { code, err } = await cli.berth('get', 'cm', '--context=silent', '--request-timeout=300ms');
      expect(code).toBe(1);
      expect(err).toMatch(/^error: the API server at .* did not answer \/berth\.meta\.v1\.Objects\/List within 300 ms\n$/);
      const client = connect({ address: silent.address, ca: silent.pki.ca, requestTimeoutMs: 300 });
      const write = { verb: 'delete', kind: 'ConfigMap', key: { namespace: 'd', name: 'x' } } as const;
      for await (const result of client.objects.bulk([write]))
        expect(result).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('within 300 ms') } });
      client.close();
    } finally {
      silent.stop();
    }
  });
});
