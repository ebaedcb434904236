import { afterEach, describe, expect, it } from 'vitest';
import type { ConfigMap } from '../../api/generated/types.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import { connect, createInformer, listAll } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const configMap = (name: string, value: string): ConfigMap => ({ metadata: { namespace: 'default', name }, data: { value } });

/** A server whose data outlive it. */
async function start(): Promise<RunningServer> {
  const server = await startServer({ backend: 'lmdb' });
  cleanups.push(server.remove);
  return server;
}

/** The same data served again; at the old address, or at another one where the old clients do not find it. */
async function startAgain(
  old: RunningServer,
  at: 'old address' | 'elsewhere',
  options: Pick<ServerOptions, 'ring'> = {},
): Promise<RunningServer> {
  const address = at === 'old address' ? { listen: old.info.address } : {};
  return startServer({ ...options, ...address, backend: 'lmdb', dataDir: old.dataDir });
}

/** An informer with a connection of its own, that outlives the server, and a record of what its handler was told. */
async function follow(server: RunningServer) {
  const client = connect(server.admin);
  const stop = new AbortController();
  const seen: string[] = [];
  const logger = createFakeLogger();
  const informer = createInformer({
    name: 'configmaps',
    client: client.configMaps,
    scope: { namespace: 'default' },
    backoff: { maxMs: 200 },
    logger,
  });
  informer.addHandler({
    onAdd: (object) => void seen.push(`add ${object.metadata?.name}`),
    onUpdate: (next) => void seen.push(`update ${next.metadata?.name}`),
    onDelete: (old) => void seen.push(`delete ${old.metadata?.name}`),
  });
  const running = informer.run(stop.signal);
  cleanups.push(async () => {
    stop.abort();
    await running;
    client.close();
  });
  await informer.waitForSync(stop.signal);
  return { seen, informer, logger };
}

describe('informer over a real server', () => {
  it('goes on after the server was away, and tells its handlers of nothing that has not changed', async () => {
    const first = await start();
    for (const name of ['a', 'b', 'c']) await first.client.configMaps.create(configMap(name, '1'));
    const { seen, informer } = await follow(first);
    expect(seen).toEqual(['add a', 'add b', 'add c']);
    seen.length = 0;
    await first.stop();
    const second = await startAgain(first, 'old address');
    cleanups.push(second.stop);
    await second.client.configMaps.create(configMap('d', '1'));
    await expect.poll(() => seen, { timeout: 20_000 }).toContain('add d');
    expect(seen).toEqual(['add d']);
    expect(informer.lister.list().map((object) => object.metadata?.name)).toEqual(['a', 'b', 'c', 'd']);
  });

  it.each([
    { how: 'by the changes since then', ring: {}, log: 'will watch again' },
    { how: 'by a fresh list, when those are no longer kept', ring: { maxEvents: 1 }, log: 'will list again' },
  ])('sees what was deleted, changed and created while it could not reach the server, $how', async ({ ring, log }) => {
    const first = await start();
    for (const name of ['changed', 'gone', 'same']) await first.client.configMaps.create(configMap(name, '1'));
    const { seen, informer, logger } = await follow(first);
    seen.length = 0;
    await first.stop();
    const hidden = await startAgain(first, 'elsewhere');
    await hidden.client.configMaps.delete({ namespace: 'default', name: 'gone' });
    await hidden.client.configMaps.patch({ namespace: 'default', name: 'changed' }, { data: { value: '2' } });
    await hidden.client.configMaps.create(configMap('new', '1'));
    await hidden.stop();
    const last = await startAgain(first, 'old address', { ring });
    cleanups.push(last.stop);
    await expect.poll(() => seen, { timeout: 20_000 }).toHaveLength(3);
    expect([...seen].sort()).toEqual(['add new', 'delete gone', 'update changed']);
    expect(informer.lister.get('default/changed')?.data).toEqual({ value: '2' });
    expect(informer.lister.get('default/gone')).toBeUndefined();
    expect(logger.lines.at(-1)).toMatchObject({ message: log });
  });
});

describe('lists over a real server', () => {
  it('reads a list of many pages as it was at one version', async () => {
    const server = await startServer();
    cleanups.push(server.remove, server.stop);
    const names = Array.from({ length: 25 }, (_, index) => `map-${String(index).padStart(2, '0')}`);
    for (const name of names) await server.client.configMaps.create(configMap(name, '1'));
    const { items, resourceVersion } = await listAll(server.client.configMaps, { namespace: 'default', limit: 10 });
    expect(items.map((object) => object.metadata?.name)).toEqual(names);
    expect(Number(resourceVersion)).toBeGreaterThan(0);
  });
});
