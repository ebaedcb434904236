import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

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

const at = (name: string) => ({ namespace: 'default', name });
const deployment = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: at(name),
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
    ...spec,
  },
});
const apply = (object: JsonObject, fieldManager = 'ada', more: { force?: boolean; subresource?: string } = {}) =>
  server.client.objects.apply(String(object.kind), object, { fieldManager, ...more });
const entries = ({ metadata }: JsonObject): string[] =>
  ((metadata as JsonObject).managedFields as JsonObject[]).map(({ manager, operation, subresource = '' }) =>
    [manager, operation, subresource].join(' ').trim(),
  );

async function manifest(name: string, object: JsonObject): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, JSON.stringify(object));
  return path;
}

it('owns what the configuration names and no defaults, keeps the version where nothing changes, and is in the history', async () => {
  const plain = deployment('plain', { replicas: 2, paused: false });
  const made = await apply(plain);
  expect(made.spec).toMatchObject({ replicas: 2, revisionHistoryLimit: 10 });
  const [entry] = (made.metadata as { managedFields: { fieldsV1: { 'f:spec': object } }[] }).managedFields;
  expect(Object.keys(entry!.fieldsV1['f:spec']).sort()).toEqual(['f:paused', 'f:replicas', 'f:selector', 'f:template']);
  expect(await apply(plain)).toEqual(made);
  await apply(deployment('plain', { replicas: 3 }));
  const { revisions } = await server.client.objects.history('Deployment', at('plain'));
  expect(revisions.map(({ verb }) => verb)).toContain('apply');
});

it('checks the configuration as strictly as an update, and refuses it for another name', async () => {
  await expect(apply(deployment('typo', { replicsa: 1 }))).rejects.toThrow('did you mean "replicas"');
  const other = server.client.objects.patch('Deployment', { ...at('one'), type: 'apply' }, deployment('two'), {
    fieldManager: 'a',
  });
  await expect(other).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const forced = server.client.objects.patch('Deployment', at('plain'), { spec: { replicas: 4 } }, { force: true });
  await expect(forced).rejects.toThrow('server-side apply only');
});

it('conflicts with an update, a scale and a status by their names, and honours a resourceVersion', async () => {
  await apply(deployment('shared', { replicas: 2 }));
  await server.client.deployments.patchScale(at('shared'), { spec: { replicas: 5 } }, { fieldManager: 'autoscaler' });
  await expect(apply(deployment('shared', { replicas: 2 }))).rejects.toThrow(
    'Apply failed with 1 conflict: conflict with "autoscaler" with subresource "scale" using apps/v1: .spec.replicas',
  );
  const left = await apply(deployment('shared'));
  expect(left.spec).toMatchObject({ replicas: 5 });
  const old = { ...deployment('shared'), metadata: { ...at('shared'), resourceVersion: '1' } };
  await expect(apply(old)).rejects.toThrow('the version is');
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: at('shared'), spec: { replicas: 7 } };
  const scaling = (force: boolean) =>
    server.client.objects.apply('Deployment', scale, { fieldManager: 'bob', subresource: 'scale', force });
  await expect(scaling(false)).rejects.toThrow('.spec.replicas');
  expect(await scaling(true)).toMatchObject({ kind: 'Scale', spec: { replicas: 7 } });
  const status = { ...deployment('shared'), status: { replicas: 7 } };
  const seen = await apply(status, 'watcher', { subresource: 'status' });
  expect(seen).toMatchObject({ spec: { replicas: 7 }, status: { replicas: 7 } });
  expect(entries(seen)).toEqual(['ada Apply', 'bob Apply scale', 'watcher Apply status']);
  expect((await apply({ ...deployment('shared'), status: { replicas: 1 } })).status).toEqual({ replicas: 7 });
});

it('conflicts with the creator of an object, whose fields are all that no other manager has', async () => {
  await server.client.objects.create('Deployment', deployment('made', { replicas: 2 }), { fieldManager: 'maker' });
  await expect(apply(deployment('made', { replicas: 3, paused: true }))).rejects.toMatchObject({
    message: 'Apply failed with 1 conflict: conflict with "maker" using apps/v1: .spec.replicas',
    violations: [{ field: 'spec.replicas', reason: 'FieldManagerConflict' }],
  });
  const forced = await apply(deployment('made', { replicas: 3 }), 'ada', { force: true });
  expect(entries(forced)).toEqual(['ada Apply', 'maker Update']);
});

it('the command line applies on the server, explains conflicts, and takes over by force', async () => {
  const path = await manifest('cli.json', deployment('cli', { replicas: 2 }));
  expect((await cli.berth('apply', '--server-side', '-f', path)).out).toBe('deployment.apps/cli serverside-applied\n');
  await cli.berth('scale', 'deployment/cli', '--replicas=4');
  const refused = await cli.berth('apply', '--server-side', '-f', path);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('conflict with "berth-scale"');
  expect(refused.err).toContain('--force-conflicts');
  const diff = await cli.berth('diff', '--server-side', '--force-conflicts', '-f', path);
  expect(diff.out).toContain('+  replicas: 2');
  expect((await cli.berth('apply', '--server-side', '--force-conflicts', '-f', path)).code).toBe(0);
  const shown = await cli.berth('get', 'deployment', 'cli', '-o', 'yaml', '--show-managed-fields');
  expect(shown.out).toContain('manager: berth\n');
  expect((await cli.berth('apply', '--force-conflicts', '-f', path)).err).toContain('--server-side');
});

it('goes on where a client-side apply has ended: what the manifest drops is removed, and nothing conflicts', async () => {
  const first = { ...deployment('moved', { replicas: 2, paused: true }) };
  await cli.berth('apply', '-f', await manifest('moved.json', first));
  const second = await manifest('moved.json', deployment('moved', { replicas: 3 }));
  expect(await cli.berth('apply', '--server-side', '-f', second)).toMatchObject({ code: 0, err: '' });
  const moved = await server.client.objects.get('Deployment', at('moved'));
  expect(moved.spec).toMatchObject({ replicas: 3 });
  expect(moved.spec).not.toHaveProperty('paused');
  expect(moved.metadata).not.toHaveProperty('annotations');
  expect(entries(moved)).toEqual(['berth Apply']);
});

it('does not take the fields of a client-side apply for another manager, unless forced', async () => {
  const first = deployment('named', { replicas: 2, paused: true });
  await cli.berth('apply', '-f', await manifest('named.json', first));
  const second = await manifest('named.json', deployment('named', { replicas: 3 }));
  const args = ['apply', '--server-side', '--field-manager=me', '-f', second];
  const refused = await cli.berth(...args);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('conflict with "berth-client-side-apply"') });
  const kept = await server.client.objects.get('Deployment', at('named'));
  expect(kept.spec).toMatchObject({ replicas: 2, paused: true });
  expect(entries(kept)).toEqual(['berth-client-side-apply Update']);
  expect(await cli.berth(...args, '--force-conflicts')).toMatchObject({ code: 0, err: '' });
  const forced = await server.client.objects.get('Deployment', at('named'));
  expect(forced.spec).toMatchObject({ replicas: 3 });
  expect(forced.spec).not.toHaveProperty('paused');
  expect(entries(forced)).toEqual(['me Apply']);
});
