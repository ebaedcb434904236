import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { followTable } from '../../cli/get/follow.ts';
import { upsertContext } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine, type Said } from './cli-harness.ts';

// Commands that read, in this process, against a real API server: no node runs anything.
let server: RunningServer;
let cli: CommandLine;

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
  cli = await openCommandLine(server.admin);
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
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const berth = (...words: string[]): Promise<Said> => cli.berth(...words);

const column = (text: string, at: number): (string | undefined)[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {3,}/)[at]);

describe('events', () => {
  it('are sorted by time in `berth events` and in `berth get events`', async () => {
    const { out } = await berth('events');
    expect(column(out, 2)).toEqual(['REASON', 'First', 'Second', 'Third']);
    expect(column(out, 0)[3]).toMatch(/^(1m|6\ds) \(x4 over 30m\)$/);
    expect(column((await berth('get', 'events')).out, 2)).toEqual(['REASON', 'First', 'Second', 'Third']);
  });

  it('are chosen by object and by type', async () => {
    expect(column((await berth('events', '--for', 'pod/web', '--types', 'warning', '--no-headers')).out, 2)).toEqual(['Third']);
    expect(await berth('events', '--for', 'pod/other')).toEqual({
      code: 0,
      out: '',
      err: 'No events found in default namespace.\n',
    });
    const { items } = JSON.parse((await berth('events', '-o', 'json')).out);
    expect(items.map((each: { reason: string }) => each.reason)).toEqual(['First', 'Second', 'Third']);
  });

  it('of a type that no event has, or followed as objects, are a mistake', async () => {
    const refusal = async (...flags: string[]) => (await berth('events', ...flags)).err;
    expect(await refusal('--types', 'Warning,warn')).toBe('error: --types takes Normal and Warning, not "warn"\n');
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
    expect(heads((await berth('describe', 'cm', 'web-1')).out)).toEqual(['web-1']);
    const { code, out, err } = await berth('describe', 'cm', 'nothing', 'db');
    expect({ code, err }).toEqual({ code: 1, err: 'error: configmap "nothing" in namespace "default" not found\n' });
    expect(heads(out)).toEqual(['db']);
  });

  it('takes manifests, and says where nothing is', async () => {
    const file = join(cli.folder, 'objects.yaml');
    await writeFile(
      file,
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n',
    );
    expect((await berth('describe', '-f', file)).out).toMatch(/^Name: +db\n(?:.*\n)*Name: +n1\n/);
    expect((await berth('describe', 'pods')).err).toBe('No resources found in default namespace.\n');
  });

  it('reads events only where a role in one namespace permits it, and describes the rest without them', async () => {
    const { client } = server;
    const bind = (name: string, roleRef: { kind: string; name: string }) =>
      client.roleBindings.create({
        metadata: { namespace: 'default', name },
        roleRef,
        subjects: [{ kind: 'User', name: 'vera' }],
      });
    await bind('vera', { kind: 'ClusterRole', name: 'view' });
    const { uid } = (await client.configMaps.get({ namespace: 'default', name: 'db' })).metadata!;
    const involvedObject = { kind: 'ConfigMap', namespace: 'default', name: 'db', uid };
    await client.events.create(event('db.1', 'Told', 1, { involvedObject }));
    const { code, out, err } = await berth('describe', 'cm', 'db', '--as', 'vera');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Told happened');
    await client.roleBindings.delete({ namespace: 'default', name: 'vera' });
    const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
    await client.roles.create({ metadata: { namespace: 'default', name: 'maps' }, rules: [rule] });
    await bind('maps', { kind: 'Role', name: 'maps' });
    const without = await berth('describe', 'cm', 'db', '--as', 'vera');
    expect(without.code).toBe(0);
    expect(without.out).toMatch(/^Name: +db\n/);
    expect(without.err).toMatch(/^Warning: events are not shown: .*cannot list events in the namespace "default"/);
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
    const options = { ...server.admin, ...(await readPair(server.dataDir, 'scheduler')) };
    await upsertContext({ name: 'few-rights', options, use: false });
    expect(await berth('log-level', '--context', 'few-rights')).toEqual({
      code: 1,
      out: '',
      err: 'error: user "system:kube-scheduler" cannot get loglevels: no role allows it; berth auth can-i --list shows what you may do\n',
    });
  });
});

describe('completion', () => {
  it('offers the names that the server has, and nothing when it does not answer', async () => {
    expect((await berth('__complete', '--', 'get', 'cm', 'we')).out).toBe('web-1\nweb-2\n:\n');
    expect((await berth('__complete', '--', 'get', 'cm', '-n', 'kube-sys')).out).toBe('kube-system\n:\n');
    expect(await berth('__complete', '--', '--context', 'nowhere', 'get', 'cm', '')).toEqual({ code: 0, out: ':\n', err: '' });
  });
});
