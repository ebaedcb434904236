import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditPath, openAudit } from '../../apiserver/main.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

let server: RunningServer;
let line: CommandLine;
let close: () => Promise<void>;
const log = pino({ level: 'silent' });

async function start(policy?: string): Promise<void> {
  const first = await startServer();
  line = await openCommandLine(first.admin);
  await first.stop();
  const policyFile = join(line.folder, 'policy.yaml');
  if (policy !== undefined) await writeFile(policyFile, policy);
  const opened = await openAudit({ dataDir: first.dataDir, policyFile: policy === undefined ? undefined : policyFile, log });
  close = opened.close;
  server = await startServer({ dataDir: first.dataDir, audit: opened.audit });
  await line.close();
  line = await openCommandLine(server.admin);
}

interface Line {
  readonly [name: string]: unknown;
}

/** The lines of the log by now, but for what others did. */
async function told(): Promise<Line[]> {
  await close();
  const { out, err } = await line.berth('audit', '--data-dir', server.dataDir, '--user', 'admin', '-o', 'json');
  expect(err).toBe('');
  return out
    .split('\n')
    .filter(Boolean)
    .map((text) => JSON.parse(text) as Line);
}

afterEach(async () => {
  await line.close();
  await server.stop();
  await server.remove();
});

describe('the audit log', () => {
  beforeEach(() => start());
  const at = { namespace: 'default', name: 'one' };

  it('records user, object and outcome of writes, denied ones too, and no reads', async () => {
    const { configMaps, pods } = server.client;
    await configMaps.create({ metadata: at, data: { a: 'b' } });
    await configMaps.get(at);
    await expect(configMaps.create({ metadata: at })).rejects.toThrow();
    await configMaps.delete(at);
    await expect(pods.get({ ...at, name: 'none' })).rejects.toThrow();
    const lines = await told();
    expect(lines.map(({ verb, resource, name, code }) => [verb, resource, name, code].join(' '))).toEqual([
      'create configmaps one OK',
      'create configmaps one ALREADY_EXISTS',
      'delete configmaps one OK',
    ]);
    expect(lines[1]).toMatchObject({ level: 'Metadata', stage: 'ended', namespace: 'default', reason: 'AlreadyExists' });
    expect(lines[0]).not.toHaveProperty('requestObject');
  });

  it('records what a failed call changed, however often its user was refused before', async () => {
    const { configMaps } = server.client;
    const victim = await configMaps.create({ metadata: { namespace: 'default', name: 'victim' } });
    await configMaps.create({ metadata: { namespace: 'default', name: 'other' } });
    for (let i = 0; i < 600; i++) await configMaps.delete({ ...at, name: 'none' }).catch(() => undefined);
    const preconditions = { uid: victim.metadata?.uid ?? '' };
    await expect(
      server.client.objects.deleteCollection('ConfigMap', { namespace: 'default' }, { preconditions }),
    ).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await expect(configMaps.get({ ...at, name: 'victim' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const lines = await told();
    expect(lines.filter(({ verb }) => verb === 'deletecollection')).toMatchObject([{ code: 'ABORTED', changed: 1 }]);
    expect(lines.length).toBeLessThan(600);
  });

  it('bounds the lines of permitted calls that change nothing, and no others', async () => {
    const { configMaps } = server.client;
    await configMaps.create({ metadata: at });
    const empty = Array.from({ length: 600 }, () => configMaps.patch(at, {}));
    await Promise.all(empty);
    for (let i = 0; i < 20; i++) await configMaps.create({ metadata: { ...at, name: `dry-${i}` } }, { dryRun: ['All'] });
    await configMaps.patch(at, { data: { real: 'change' } });
    const lines = await told();
    expect(lines.filter(({ verb }) => verb === 'patch')).toHaveLength(501);
    expect(lines.at(-2)).toMatchObject({ verb: 'patch', code: 'OK' });
    expect(lines.at(-1)).toMatchObject({ user: 'admin', sort: 'unchanged', leftOut: 120 });
    expect(lines.filter(({ moreRefused }) => moreRefused)).toHaveLength(1);
  });

  it('bounds the lines of reads of Secrets, and tells how many more there were', async () => {
    await server.client.secrets.create({ metadata: at });
    for (let i = 0; i < 600; i++) await server.client.secrets.get(at);
    const lines = await told();
    expect(lines).toHaveLength(502);
    expect(lines[0]).toMatchObject({ verb: 'create', code: 'OK' });
    expect(lines.at(-2)).toMatchObject({ verb: 'get', moreReads: true });
    expect(lines.at(-1)).toMatchObject({ user: 'admin', sort: 'reads', leftOut: 100 });
  });

  it('records each item of a bulk stream', async () => {
    const manifest = ['a', 'b'].map((name) => `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}}}`).join('\n---\n');
    const file = join(line.folder, 'two.yaml');
    await writeFile(file, manifest);
    expect((await line.berth('create', '-f', file)).code).toBe(0);
    expect((await line.berth('create', '-f', file)).code).toBe(1);
    const lines = await told();
    expect(lines.map(({ name, code }) => `${String(name)} ${String(code)}`).toSorted()).toEqual([
      ...['a ALREADY_EXISTS', 'a OK'],
      ...['b ALREADY_EXISTS', 'b OK'],
    ]);
  });

  it('records denied users and impersonating users', async () => {
    const node = connect({ ...server.admin, ...(await readPair(server.dataDir, 'scheduler')) });
    await expect(node.secrets.list({ namespace: 'default' })).rejects.toThrow();
    node.close();
    await close();
    const { out } = await line.berth('audit', '--data-dir', server.dataDir, '--kind', 'secret');
    const header = /^TIME +USER +VERB +RESOURCE +NAMESPACE +NAME +OUTCOME\n/;
    expect(out).toMatch(header);
    expect(out).toMatch(/system:kube-scheduler +list +secrets +default +<none> +PERMISSION_DENIED: user /);
  });

  it('never contains Secret data', async () => {
    await server.client.secrets.create({ metadata: at, data: { key: Buffer.from('swordfish') } });
    await server.client.secrets.get(at);
    const lines = await told();
    expect(lines.map(({ verb }) => verb)).toEqual(['create', 'get']);
    expect(JSON.stringify(lines)).not.toMatch(/swordfish|c3dvcmRmaXNo/);
  });

  it('is shown by what is asked for', async () => {
    await server.client.configMaps.create({ metadata: at });
    await server.client.configMaps.delete(at);
    await close();
    const show = async (...words: string[]) =>
      (await line.berth('audit', '--data-dir', server.dataDir, '-o', 'json', ...words)).out;
    expect((await show('--verb', 'delete', '--kind', 'cm', '-n', 'default', '--since', '1h')).split('\n')).toHaveLength(2);
    for (const none of [
      ['--verb', 'patch'],
      ['--user', 'anna'],
      ['-n', 'other'],
      ['--since', '2999-01-01T00:00:00Z'],
    ])
      expect(await show(...none)).toBe('');
    const missing = await line.berth('audit', '--data-dir', line.folder);
    expect([missing.code, missing.err]).toEqual([
      1,
      `error: there is no audit log ${auditPath(line.folder)}: it is on the machine of the server, in its data directory; --data-dir says where that is\n`,
    ]);
  });
});

describe('an audit policy', () => {
  const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse, users: [admin]}]';

  it('records request and response bodies, except of Secrets', async () => {
    await start(policy);
    const at = { namespace: 'default', name: 'one' };
    await server.client.configMaps.create({ metadata: at, data: { a: 'first' } });
    await server.client.configMaps.patch(at, { data: { a: 'second' } });
    await server.client.secrets.create({ metadata: at, data: { key: Buffer.from('swordfish') } });
    const lines = await told();
    const writes = lines.filter(({ verb }) => verb === 'create' || verb === 'patch');
    expect(writes[0]).toMatchObject({ requestObject: { data: { a: 'first' } }, responseObject: { metadata: { name: 'one' } } });
    expect(writes[1]).toMatchObject({ requestObject: { data: { a: 'second' } }, responseObject: { data: { a: 'second' } } });
    expect(writes[2]).toMatchObject({ level: 'Metadata', resource: 'secrets' });
    expect(JSON.stringify(lines)).not.toMatch(/swordfish|c3dvcmRmaXNo/);
  });
});
