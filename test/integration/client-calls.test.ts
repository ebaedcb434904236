import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ApiError } from '../../api/errors/index.ts';
import { connectBriefly } from '../../client/connect-briefly.ts';
import type { Client } from '../../client/index.ts';
import { type ConnectOptions, connect, connectOver, createEventRecorder, isCancelled, referenceTo } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let client: Client;
const warnings: string[] = [];

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  return promise.then(
    () => expect.unreachable('the call should have failed'),
    (error) => error as ApiError,
  );
}

const configMap = (name: string, value = '1') => ({ metadata: { namespace: 'default', name }, data: { value } });

/** A client in the server's process, as the scheduler and the controllers are. */
function connectInside(options: ConnectOptions): Client {
  const identity = { user: 'admin', groups: ['system:masters'] };
  return connectOver(server.info.channel({ identity, userAgent: options.userAgent ?? 'berth' }), options);
}

describe.each([
  ['lives long', connect],
  ['is brief', connectBriefly],
  ["is within the server's process", connectInside],
])('a connection that %s', (_, connecting) => {
  beforeAll(async () => {
    server = await startServer();
    client = connecting({ ...server.admin, onWarning: (text) => void warnings.push(text) });
  });
  beforeEach(() => {
    warnings.length = 0;
  });
  afterAll(async () => {
    client.close();
    await server.stop();
    await server.remove();
  });

  describe('client over a real server', () => {
    it('creates, reads, patches and deletes', async () => {
      const key = { namespace: 'default', name: 'crud' };
      const created = await client.configMaps.create(configMap('crud'));
      expect(created.metadata?.uid).toBeDefined();
      expect((await client.configMaps.patch(key, { data: { value: '2' } })).data).toEqual({ value: '2' });
      expect((await client.configMaps.get(key)).data).toEqual({ value: '2' });
      await client.configMaps.delete(key);
      expect(await failure(client.configMaps.get(key))).toMatchObject({
        code: 'NOT_FOUND',
        reason: 'NotFound',
        subject: { kind: 'ConfigMap', ...key },
      });
    });

    it('gets every violation of an invalid object with its path', async () => {
      const error = await failure(
        client.pods.create({ metadata: { namespace: 'default', name: 'bad' }, spec: { containers: [{}] } }),
      );
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'Invalid' });
      const fields = error.violations.map((violation) => violation.field);
      expect(fields).toContain('spec.containers[0].name');
      expect(fields).toContain('spec.containers[0].image');
    });

    it('gets a conflict for a write that is based on an old version', async () => {
      const old = await client.configMaps.create(configMap('conflict'));
      await client.configMaps.update({ ...old, data: { value: '2' } });
      expect(await failure(client.configMaps.update({ ...old, data: { value: '3' } }))).toMatchObject({
        code: 'ABORTED',
        reason: 'Conflict',
      });
    });

    it('hears the warning for a field that Berth does not act on', async () => {
      const spec = { containers: [{ name: 'main', image: 'busybox' }], securityContext: { seLinuxChangePolicy: 'Recursive' } };
      await client.pods.create({ metadata: { namespace: 'default', name: 'warned' }, spec });
      expect(warnings.some((text) => text.includes('spec.securityContext.seLinuxChangePolicy'))).toBe(true);
    });

    it('ends a watch with CANCELLED when it is aborted, after what it saw', async () => {
      const stop = new AbortController();
      const seen: (string | undefined)[] = [];
      const from = await client.configMaps.list({ namespace: 'default' });
      const watching = (async () => {
        const scope = {
          namespace: 'default',
          ...(from.metadata.resourceVersion && { resourceVersion: from.metadata.resourceVersion }),
        };
        for await (const events of client.configMaps.watch(scope, { signal: stop.signal })) {
          seen.push(...events.map((event) => `${event.type} ${event.object.metadata?.name}`));
          stop.abort();
        }
      })();
      await client.configMaps.create(configMap('watched'));
      expect(isCancelled(await failure(watching))).toBe(true);
      expect(seen).toEqual(['ADDED watched']);
    });

    it('counts an Event instead of repeating it', async () => {
      const recorder = createEventRecorder({ client: client.events, component: 'test' });
      const object = await client.configMaps.create(configMap('talked-about'));
      for (let time = 0; time < 3; time++) {
        recorder.event(referenceTo('ConfigMap', object), 'Normal', 'Tested', 'it works');
        await recorder.flush();
      }
      const { items } = await client.events.list({ namespace: 'default', fieldSelector: 'involvedObject.name=talked-about' });
      expect(items.map(({ reason, count }) => [reason, count])).toEqual([['Tested', 3]]);
    });
  });

  describe('generic service over a real server', () => {
    it('lists the kinds', async () => {
      expect((await client.objects.kinds()).map((kind) => kind.kind)).toContain('Pod');
    });

    it('takes and gives JSON, and a table', async () => {
      const key = { namespace: 'default', name: 'generic' };
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'generic' }, data: { value: '1' } };
      const created = await client.objects.create('ConfigMap', object, { namespace: 'default' });
      expect(created).toMatchObject({ ...object, metadata: key });
      const patched = await client.objects.patch('ConfigMap', key, { data: { value: '2' } });
      expect(patched).toMatchObject({ data: { value: '2' } });
      expect(await client.objects.get('ConfigMap', key)).toEqual(patched);
      const { table } = await client.objects.listTable('ConfigMap', {
        namespace: 'default',
        fieldSelector: 'metadata.name=generic',
      });
      expect(table.columns?.[0]?.name?.toUpperCase()).toBe('NAME');
      expect(table.rows?.map((row) => row.name)).toEqual(['generic']);
      const { items } = await client.objects.list('ConfigMap', { namespace: 'default', fieldSelector: 'metadata.name=generic' });
      expect(items).toEqual([patched]);
      await client.objects.delete('ConfigMap', key);
      expect(await failure(client.objects.get('ConfigMap', key))).toMatchObject({ code: 'NOT_FOUND' });
    });

    it('deletes what a selector chooses and says how many', async () => {
      for (const name of ['x1', 'x2'])
        await client.configMaps.create({ metadata: { namespace: 'default', name, labels: { group: 'x' } }, data: {} });
      expect(await client.objects.deleteCollection('ConfigMap', { namespace: 'default', labelSelector: 'group=x' })).toBe(2);
    });
  });
});
