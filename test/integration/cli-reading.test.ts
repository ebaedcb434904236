import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { followTable } from '../../cli/follow.ts';
import { main } from '../../cli/main.ts';
import { upsertContext } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// Commands that read, in this process, against a real API server: no node runs anything.
let server: RunningServer;
let folder: string;
const stdout: string[] = [];
const stderr: string[] = [];

const minutesAgo = (minutes: number) => ({ seconds: Math.floor(Date.now() / 1000) - minutes * 60 });
const event = (name: string, reason: string, minutes: number, more: object = {}) => ({
  metadata: { namespace: 'default', name },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' },
  type: 'Normal',
  reason,
  message: `${reason} happened`,
  firstTimestamp: minutesAgo(minutes),
  lastTimestamp: minutesAgo(minutes),
  ...more,
});

beforeAll(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'berth-cli-'));
  process.env.BERTH_CONFIG = join(folder, 'config');
  await upsertContext({ name: 'here', options: server.admin, use: true });
  const { client } = server;
  await client.nodes.create({ metadata: { name: 'n1' } });
  await client.nodes.create({ metadata: { name: 'n2' } });
  await client.nodeMetrics.create({
    metadata: { name: 'n1' },
    timestamp: minutesAgo(10),
    usage: { cpu: { string: '1' }, memory: { string: '1Gi' } },
  });
  for (const name of ['web-1', 'web-2', 'db']) await client.configMaps.create({ metadata: { namespace: 'default', name } });
  await client.events.create(event('web.3', 'Third', 1, { type: 'Warning', count: 4, firstTimestamp: minutesAgo(30) }));
  await client.events.create(event('web.1', 'First', 5));
  await client.events.create(event('web.2', 'Second', 3));
  // Each run listens for the end of its reader, which is the end of the process elsewhere.
  process.stdout.setMaxListeners(100);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => stdout.push(String(text)) > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => stderr.push(String(text)) > 0);
});
beforeEach(() => {
  stdout.length = 0;
  stderr.length = 0;
});
afterAll(async () => {
  vi.restoreAllMocks();
  delete process.env.BERTH_CONFIG;
  process.exitCode = undefined;
  await server.stop();
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Runs one command line; what it printed, and its exit code. */
async function berth(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  process.exitCode = undefined;
  await main(['node', 'berth', ...words]);
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  return { code, out: stdout.join(''), err: stderr.join('') };
}

const column = (text: string, at: number): (string | undefined)[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {3,}/)[at]);

describe('events', () => {
  it('come in order of time, from both commands that show them', async () => {
    const { out } = await berth('events');
    expect(column(out, 2)).toEqual(['REASON', 'First', 'Second', 'Third']);
    expect(column(out, 0)[3]).toMatch(/^(1m|6\ds) \(x4 over 30m\)$/);
    stdout.length = 0;
    expect(column((await berth('get', 'events')).out, 2)).toEqual(['REASON', 'First', 'Second', 'Third']);
  });

  it('are chosen by object and by type', async () => {
    expect(column((await berth('events', '--for', 'pod/web', '--types', 'warning', '--no-headers')).out, 2)).toEqual(['Third']);
    stdout.length = 0;
    expect(await berth('events', '--for', 'pod/other')).toEqual({
      code: 0,
      out: '',
      err: 'No events found in default namespace.\n',
    });
    stdout.length = 0;
    const { items } = JSON.parse((await berth('events', '-o', 'json')).out);
    expect(items.map((each: { reason: string }) => each.reason)).toEqual(['First', 'Second', 'Third']);
  });

  it('of a type that no event has, or followed as objects, are a mistake', async () => {
    const refusal = async (...flags: string[]) => (await berth('events', ...flags)).err;
    expect(await refusal('--types', 'Warning,warn')).toBe('error: --types takes Normal and Warning, not "warn"\n');
    stderr.length = 0;
    expect(await refusal('-w', '-o', 'json')).toBe('error: --watch prints lines; -o json does not go with it\n');
  });

  it('are followed without those that expire meanwhile', async () => {
    const stop = new AbortController();
    const scope = { namespace: 'default', fieldSelector: 'involvedObject.name=followed', initial: true, deleted: false };
    const seen: string[] = [];
    const names = (name: string) => ({ namespace: 'default', name });
    const about = { involvedObject: { kind: 'Pod', namespace: 'default', name: 'followed' } };
    for await (const table of followTable(server.client.objects, kindNamed('Event'), scope, stop.signal)) {
      seen.push(...(table.rows ?? []).map((row) => row.name ?? ''));
      if (seen.length === 0) {
        await server.client.events.create(event('a', 'Born', 0, about));
        await server.client.events.delete(names('a'));
        await server.client.events.create(event('b', 'Born', 0, about));
      }
      if (seen.includes('b')) stop.abort();
    }
    expect(seen).toEqual(['a', 'b']);
  });
});

describe('describe', () => {
  it('takes the beginning of names where none has the name itself', async () => {
    const heads = (text: string) => [...text.matchAll(/^Name: +(.*)$/gm)].map((match) => match[1]);
    expect(heads((await berth('describe', 'cm', 'web')).out)).toEqual(['web-1', 'web-2']);
    stdout.length = 0;
    expect(heads((await berth('describe', 'cm', 'web-1')).out)).toEqual(['web-1']);
    stdout.length = 0;
    const { code, out, err } = await berth('describe', 'cm', 'nothing', 'db');
    expect({ code, err }).toEqual({ code: 1, err: 'error: configmap "nothing" in namespace "default" not found\n' });
    expect(heads(out)).toEqual(['db']);
  });

  it('takes manifests, and says where nothing is', async () => {
    const file = join(folder, 'objects.yaml');
    await writeFile(
      file,
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n',
    );
    expect((await berth('describe', '-f', file)).out).toMatch(/^Name: +db\n(?:.*\n)*Name: +n1\n/);
    expect((await berth('describe', 'pods')).err).toBe('No resources found in default namespace.\n');
  });

  it('of a node that never reported says so', async () => {
    const { out } = await berth('describe', 'node', 'n2');
    expect(out).toMatch(/Lease: +<none>\n/);
    expect(out).toMatch(/In Use: +not reported yet\n/);
  });
});

describe('top', () => {
  it('shows what is known, and warns of what is old or missing', async () => {
    const { code, out, err } = await berth('top', 'nodes', '--no-headers');
    expect(code).toBe(0);
    expect(out).toMatch(/^n1 +1000m +<unknown> +1024Mi +<unknown>\nn2 +<unknown> +<unknown> +<unknown> +<unknown>\n$/);
    expect(err).toContain('Warning: the figures of node "n1" are 10m old');
    expect(err).toContain('Warning: node "n2" has not reported what it uses yet');
  });
});

describe('log-level', () => {
  it('shows what it can of all components, and one error when that is the same for all', async () => {
    const { code, out } = await berth('log-level');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^COMPONENT +LEVEL\nserver +unknown: .*\nagent\/n1 +unknown: node "n1" is not/),
    ]);
    stdout.length = 0;
    const options = { ...server.admin, ...(await readPair(server.dataDir, 'scheduler')) };
    await upsertContext({ name: 'few-rights', options, use: false });
    expect(await berth('log-level', '--context', 'few-rights')).toEqual({
      code: 1,
      out: '',
      err: 'error: user "system:kube-scheduler" may not see or change log levels: that is for administrators\n',
    });
  });
});

describe('completion', () => {
  it('offers the names that the server has, and nothing when it does not answer', async () => {
    expect((await berth('__complete', '--', 'get', 'cm', 'we')).out).toBe('web-1\nweb-2\n:\n');
    stdout.length = 0;
    expect((await berth('__complete', '--', 'get', 'cm', '-n', 'kube-sys')).out).toBe('kube-system\n:\n');
    stdout.length = 0;
    expect(await berth('__complete', '--', '--context', 'nowhere', 'get', 'cm', '')).toEqual({ code: 0, out: ':\n', err: '' });
  });
});
