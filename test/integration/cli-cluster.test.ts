import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageVersion } from '../../agent/version.ts';
import { upsertContext } from '../../client/index.ts';
import { startScriptedServer } from '../fakes/scripted-server.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine, type Said } from './cli-harness.ts';

// What the command line says of the cluster as a whole, against a real API server.
let server: RunningServer;
let cli: CommandLine;
const own = packageVersion();

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
  const spec = { containers: [{ name: 'main', image: 'web:1' }] };
  await server.client.pods.create({ metadata: { namespace: 'default', name: 'web' }, spec });
  await server.client.namespaces.create({ metadata: { name: 'team' } });
  await server.client.secrets.create({ metadata: { namespace: 'default', name: 's' }, stringData: { key: 's3cr3t' } });
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const berth = (...words: string[]): Promise<Said> => cli.berth(...words);

describe('version', () => {
  it('names both sides', async () => {
    const both = { code: 0, out: `Client Version: ${own}\nServer Version: ${own}\n`, err: '' };
    expect(await berth('version')).toEqual(both);
    expect(await berth('version', '--short')).toEqual(both);
    expect(await berth('version', '--as=jane', '--as-group=system:authenticated')).toEqual(both);
    const known = { gitVersion: own, nodeVersion: process.version };
    const info = { clientVersion: known, serverVersion: known };
    expect(JSON.parse((await berth('version', '-o', 'json')).out)).toMatchObject(info);
    expect(parse((await berth('version', '-oyaml')).out)).toMatchObject(info);
    expect(Object.keys(JSON.parse((await berth('version', '-o', 'json', '--client')).out))).toEqual(['clientVersion']);
  });

  it('shows its own also where no server answers, with the error', async () => {
    const options = { ...server.admin, address: '127.0.0.1:1' };
    await upsertContext({ name: 'away', options, use: false });
    expect(await berth('version', '--context=away', '--client')).toMatchObject({ code: 0, err: '' });
    const { code, out, err } = await berth('version', '--context=away');
    expect([code, out]).toEqual([1, `Client Version: ${own}\n`]);
    expect(err).toMatch(/^error: .*127\.0\.0\.1:1/);
  });

  it('warns of a server that is too far apart, and says of one without versions that it is older', async () => {
    const body = Buffer.from(JSON.stringify({ major: '9', minor: '4', gitVersion: 'v9.4.1' }));
    const far = await startScriptedServer({ unary: { 'berth.server.v1.Pages/Get': () => ({ status: 200, body }) } });
    const old = await startScriptedServer({});
    try {
      await upsertContext({ name: 'far', options: { address: far.address, ca: far.pki.ca }, use: false });
      await upsertContext({ name: 'old', options: { address: old.address, ca: old.pki.ca }, use: false });
      const { code, out, err } = await berth('version', '--context=far');
      expect([code, out]).toEqual([0, `Client Version: ${own}\nServer Version: v9.4.1\n`]);
      expect(err).toMatch(/^WARNING: version difference between client \(.*\) and server \(9\.4\) exceeds/);
      expect(await berth('version', '--context=old')).toMatchObject({
        code: 1,
        err: 'error: the server is older than this command and does not tell its version\n',
      });
    } finally {
      far.stop();
      old.stop();
    }
  });
});

it('api-versions lists what the server has', async () => {
  const { code, out } = await berth('api-versions');
  const lines = out.trimEnd().split('\n');
  expect([code, lines]).toEqual([0, [...new Set(lines)].toSorted()]);
  expect(lines).toEqual(expect.arrayContaining(['v1', 'policy/v1', 'rbac.authorization.k8s.io/v1']));
});

describe('cluster-info', () => {
  it('says where the server is, and how the control plane is', async () => {
    const { code, out, err } = await berth('cluster-info');
    expect([code, err]).toEqual([0, '']);
    const [first, ...lines] = out.split('\n');
    expect(first).toBe(`Berth control plane is running at https://${server.admin.address}`);
    expect(lines[0]).toBe(`API server: ${own}, ready`);
    expect(lines[1]).toMatch(/^Scheduler: none: none is connected, and new pods wait$/);
    expect(lines[2]).toBe('Nodes: 0 of 0 ready');
    const narrow = await berth('cluster-info', '--as=jane', '--as-group=system:authenticated');
    expect([narrow.code, narrow.out]).toEqual([0, expect.stringMatching(/^Nodes: unknown: .*user "jane" cannot list/m)]);
  });

  it('dump writes files of objects and logs, and no secrets', async () => {
    const folder = join(cli.folder, 'report');
    const { code, out, err } = await berth('cluster-info', 'dump', '--output-directory', folder, '--namespaces=default,team');
    expect({ code, out, err }).toEqual({ code: 0, out: `Cluster info dumped to ${folder}\n`, err: '' });
    expect((await readdir(folder)).toSorted()).toEqual(['default', 'nodes.json', 'persistentvolumes.json', 'team']);
    const kinds = ['events.json', 'persistentvolumeclaims.json', 'poddisruptionbudgets.json', 'pods.json'];
    expect((await readdir(join(folder, 'default'))).toSorted()).toEqual([...kinds, 'web'].toSorted());
    expect((await readdir(join(folder, 'team'))).toSorted()).toEqual(kinds);
    const pods = JSON.parse(await readFile(join(folder, 'default', 'pods.json'), 'utf8'));
    expect(pods.items[0].metadata.name).toBe('web');
    const log = join(folder, 'default', 'web', 'logs.txt');
    expect(await readFile(log, 'utf8')).toMatch(
      /^==== START logs for container main of pod default\/web ====\nRequest log error: .+\n==== END logs for container main of pod default\/web ====\n$/,
    );
    expect((await stat(log)).mode & 0o777).toBe(0o600);
  });

  it('dump writes to standard output otherwise, as YAML too, and goes on behind what may not be read', async () => {
    const all = await berth('cluster-info', 'dump', '-A', '-oyaml');
    expect([all.code, all.err]).toEqual([0, '']);
    expect(all.out).toContain('name: web\n');
    expect(all.out).not.toContain('s3cr3t');
    expect(all.out).toContain('==== END logs for container main of pod default/web ====\n');
    const away = await berth('cluster-info', 'dump', '--namespaces=team', '--as=jane', '--as-group=system:authenticated');
    expect([away.code, away.out]).toEqual([1, '']);
    expect(away.err.match(/^error: dump (\S+)/gm)).toHaveLength(7);
    expect((await berth('cluster-info', 'dump', '-A', '--namespaces=team')).err).toContain('exclude each other');
  });
});
