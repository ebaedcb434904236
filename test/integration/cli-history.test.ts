import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine, type Said } from './cli-harness.ts';

// The commands that read the past, in this process, against a real API server;
// the agent's part is played with its certificate.
let server: RunningServer;
let cli: CommandLine;
/** Versions before and after what happened to the pod. */
let born: string;
let changed: string;
const web = { namespace: 'default', name: 'web' };

beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
  cli = await openCommandLine(server.admin);
  const { client } = server;
  await issueNodeCredentials(server.dataDir, 'n1');
  const agent = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-n1')), userAgent: 'berth-agent' });
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'web:1' }] };
  born = (await client.pods.create({ metadata: { ...web, labels: { app: 'web' } }, spec })).metadata?.resourceVersion ?? '';
  changed = (await client.pods.patch(web, { metadata: { labels: { app: 'shop' } } })).metadata?.resourceVersion ?? '';
  await agent.pods.patch({ ...web, subresource: 'status' }, { status: { phase: 'Running', podIP: '10.0.0.7' } });
  await client.configMaps.create({ metadata: { namespace: 'default', name: 'plain' } });
  await client.secrets.create({ metadata: { namespace: 'default', name: 'token' }, data: { key: Buffer.from('before') } });
  await client.secrets.patch({ namespace: 'default', name: 'token' }, { data: { key: Buffer.from('after').toString('base64') } });
  await agent.pods.delete(web, { gracePeriodSeconds: 0 });
  agent.close();
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const berth = (...words: string[]): Promise<Said> => cli.berth(...words);

const cells = (out: string): string[][] =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {3,}/));

describe('history', () => {
  it('tells a whole life, also when it is over: who, with what, how, and which fields', async () => {
    const { code, out } = await berth('history', 'pod/web');
    const rows = cells(out);
    expect(code).toBe(0);
    expect(rows[0]).toEqual(['REVISION', 'AGE', 'USER', 'MANAGER', 'VERB', 'CHANGES']);
    const told = rows.slice(1).filter((row) => row[0] !== '');
    expect(told.map((row) => [row[2], row[4], row[5]])).toEqual([
      ['system:node:n1', 'delete', '(deleted)'],
      ['system:node:n1', 'patch-status', expect.stringContaining('status.')],
      ['admin', 'patch', 'metadata.labels.app: "web" -> "shop"'],
      ['admin', 'create', '(created)'],
    ]);
    expect(out).toContain('status.phase: "Pending" -> "Running"');
    expect(out).toContain('status.podIP: <none> -> "10.0.0.7"');
  });

  it('is printed as JSON and YAML, in part, and wide', async () => {
    const { revisions } = JSON.parse((await berth('history', 'pod', 'web', '-o', 'json')).out);
    expect(revisions).toHaveLength(4);
    expect(revisions[2]).toMatchObject({
      resourceVersion: changed,
      user: 'admin',
      changes: [{ path: 'metadata.labels.app', operation: 'replace', before: 'web', after: 'shop' }],
    });
    expect((await berth('history', 'pod/web', '-o', 'yaml', '--limit', '1')).out).toMatch(
      /^kind: ObjectHistory\n(?:.*\n)* {4}type: DELETED\n/,
    );
    expect(cells((await berth('history', 'pod/web', '-o', 'wide', '--limit=1')).out)).toHaveLength(2);
    expect((await berth('history', 'pod/web', '--template={{.object.name}}: {{len .revisions}}', '--limit=1')).out).toBe(
      'web: 1',
    );
    expect((await berth('history', 'pod/web', '--no-headers', '--limit=1')).out).not.toContain('REVISION');
  });

  it('shows no value of a secret, in no form', async () => {
    for (const flags of [[], ['--full'], ['-o', 'json'], ['-o', 'yaml']]) {
      const { out } = await berth('history', 'secret/token', ...flags);
      expect(out).toContain('data.key');
      expect(out).not.toMatch(/before"|after"|YmVmb3Jl|YWZ0ZXI/);
    }
  });

  it.each([
    [['history', 'pod/none'], 'pod "none" in namespace "default" not found'],
    [['history', 'pods'], 'name one object, e.g. berth history pod/web'],
    [['history', 'pod/a', 'pod/b'], 'name one object, e.g. berth history pod/web'],
    [['history', 'lease/n1', '-n', 'x'], 'leases keep no history: only the present ones can be read'],
    [['history', 'pod/web', '-o', 'name'], 'a history has no name: -o takes wide, json, yaml or a template'],
  ])('%j is answered with what is wrong', async (words, message) => {
    expect(await berth(...words)).toEqual({ code: 1, out: '', err: `error: ${message}\n` });
  });
});

describe('get --at', () => {
  it('shows objects as they were, in every form', async () => {
    expect((await berth('get', 'pods')).out).toBe('');
    expect(cells((await berth('get', 'pods', '--at', born, '--show-labels')).out)[1]).toContain('app=web');
    expect((await berth('get', 'pod/web', '--at', changed, '-o', 'jsonpath={.metadata.labels.app}')).out).toBe('shop');
    expect((await berth('get', 'pods', '-A', '-l', 'app=web', '--at', changed)).out).toBe('');
    expect((await berth('get', 'pods', '--at', changed, '-o', 'name', '-A')).out).toBe('pod/web\n');
    expect((await berth('get', 'cm', 'plain', '--at', '0s', '-o', 'name')).out).toBe('configmap/plain\n');
    const { err, code } = await berth('get', 'pod/web', '--at', '0s');
    expect([err, code]).toEqual(['error: pod "web" in namespace "default" not found\n', 1]);
  });

  it('counts ages up to that moment, which must be one', async () => {
    const asOf = { seconds: Number.MAX_SAFE_INTEGER };
    await expect(server.client.objects.listTable('Pod', { asOf })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const rows = cells((await berth('get', 'pods', '--at', born)).out);
    // A version was written within a second of the creation, so the age is not today's.
    expect(rows[1]?.at(-1)).toMatch(/^[01]s$/);
  });

  it('says how far back the history goes, and refuses what has none or makes no sense', async () => {
    const said = async (...words: string[]) => (await berth('get', ...words)).err;
    expect(await said('pods', '--at', '48h')).toMatch(
      /^error: cannot look back to \S+Z: the history goes back to \S+Z \(\S+ ago, version 1\); nothing was written before\n$/,
    );
    expect(await said('pods', '--at', '99999999999999999h')).toMatch(/^error: cannot look back to 0001-01-01T00:00:00Z: /);
    expect(await said('leases', '-A', '--at', born)).toMatch(/^(error: leases keep no history|No resources found)/);
    expect(await said('pods', '--at', '2999-01-01T00:00:00Z')).toContain('cannot look into the future');
    expect(await said('pods', '--at', 'lately')).toContain('"lately" is no point in time');
    expect(await said('pods', '--at', '1m', '-w')).toContain('--at does not go with it');
  });
});

describe('diff', () => {
  it('compares two moments as diff -u does, and says by its exit code whether they differ', async () => {
    const { code, out, err } = await berth('diff', 'pod/web', '--at', born, '--to', changed);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toMatch(/^diff -u -N THEN\/v1\.Pod\.default\.web LATER\/v1\.Pod\.default\.web\n--- THEN.*\n\+\+\+ LATER.*\n@@ /);
    expect(out.split('\n').filter((line) => /^[-+] /.test(line))).toEqual(['-    app: web', '+    app: shop']);
    expect(await berth('diff', 'cm/plain', '--at', '0s')).toEqual({ code: 0, out: '', err: '' });
  });

  it('shows what is gone and what came, of one object or of all of a type', async () => {
    expect((await berth('diff', 'pod/web', '--at', changed)).out).toMatch(/^@@ -1,\d+ \+0,0 @@$/m);
    const all = await berth('diff', 'pods', '--at', changed);
    expect([all.code, all.out.match(/^diff .*/gm)]).toEqual([1, ['diff -u -N THEN/v1.Pod.default.web NOW/v1.Pod.default.web']]);
    expect((await berth('diff', 'configmaps', '--at', changed)).out).toMatch(/^@@ -0,0 \+1,\d+ @@$/m);
  });

  it('shows no value of a secret', async () => {
    const history = JSON.parse((await berth('history', 'secret/token', '-o', 'json')).out);
    const { out } = await berth('diff', 'secret/token', '--at', history.revisions[1].resourceVersion);
    expect(out).toContain('-  key: "*** (before)"\n+  key: "*** (after)"\n');
  });

  it('shows what apply would change, and changes nothing', async () => {
    const file = join(cli.folder, 'maps.yaml');
    const manifest = (value: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: "${value}"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: fresh}\n`;
    await writeFile(file, manifest('1'));
    const { code, out } = await berth('diff', '-f', file);
    expect(code).toBe(1);
    expect(out).toContain('+data:\n+  a: "1"\n');
    expect(out).toContain('+++ MERGED/v1.ConfigMap.default.fresh');
    expect((await berth('get', 'cm', '-o', 'name')).out).toBe('configmap/plain\n');
    expect((await berth('apply', '-f', file)).code).toBe(0);
    expect(await berth('diff', '-f', file)).toEqual({ code: 0, out: '', err: '' });
  });

  it('shows the difference also where apply refuses it, with the refusal', async () => {
    const file = join(cli.folder, 'refused.yaml');
    const manifest = (name: string, spec: object) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { containers: [{ name: 'main', image: 'web:1' }], ...spec },
      });
    await writeFile(file, manifest('fixed', {}));
    await berth('apply', '-f', file);
    const spec = { hostname: 'other', containers: [{ name: 'main', image: 'web:9' }] };
    await writeFile(file, `${manifest('fixed', spec)}\n---\n${manifest('Fresh', {})}`);
    const { code, out, err } = await berth('diff', '-f', file);
    expect([code, (await berth('apply', '-f', file)).err]).toEqual([2, err]);
    expect(err).toMatch(/^error: .*spec.hostname: .*\nerror: .*metadata.name: /);
    expect(out).toContain('+++ MERGED/v1.Pod.default.fixed\tas the manifest says, which apply refuses\n');
    const [first = '', second] = out.split('+++ MERGED/v1.Pod.default.Fresh\tas the manifest says');
    const lines = first.split('\n').filter((line) => /^[-+] /.test(line));
    expect(lines).toEqual(['-      image: web:1', '+      image: web:9', '+  hostname: other']);
    expect(second).toContain('+      image: web:1\n');
  });

  it.each([
    [['diff', 'pod/web']],
    [['diff', 'pod/none', '--at', '0s']],
    [['diff', 'pods', '--at', '48h']],
    [['diff', '-f', '/nowhere.yaml']],
    [['diff', 'pods', '--no-such-flag']],
    [['diff', 'pods', '--at', '1m', '-f', 'x.yaml']],
  ])('%j fails with an exit code that means no difference', async (words) => {
    const { code, out, err } = await berth(...words);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: /);
  });
});
