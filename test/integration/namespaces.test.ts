import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isNotFound } from '../../api/errors/index.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

// The end of namespaces, with the controllers and a real API server.
let server: RunningServer;
let serial = 0;
let name: string;
let stopControllers: (() => Promise<void>) | undefined;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});
beforeEach(async () => {
  name = `n${++serial}`;
});
afterEach(async () => {
  await stopControllers?.();
  stopControllers = undefined;
});

const make = (spec = {}) => server.client.namespaces.create({ metadata: { name }, spec });
const fill = async (finalizers: string[] = []) => {
  const { configMaps, secrets, pods, events } = server.client;
  await configMaps.create({ metadata: { name: 'a', namespace: name, finalizers } });
  await configMaps.create({ metadata: { name: 'b', namespace: name } });
  await secrets.create({ metadata: { name: 'a', namespace: name } });
  await pods.create({ metadata: { name: 'a', namespace: name }, spec: { containers: [{ name: 'c', image: 'x' }] } });
  await events.create({ metadata: { name: 'a', namespace: name }, involvedObject: { kind: 'Pod', namespace: name, name: 'a' } });
};
const isGone = async (): Promise<boolean> => {
  try {
    await server.client.namespaces.get({ name });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
};
const contents = async (): Promise<string[]> => {
  const { configMaps, secrets, pods, events } = server.client;
  const lists = await Promise.all([configMaps, secrets, pods, events].map((kind) => kind.list({ namespace: name })));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata?.name ?? ''));
};
const remove = () => server.client.namespaces.delete({ name });

describe('a namespace that is being deleted', () => {
  it('empties itself of every kind, and goes', async () => {
    stopControllers = await startControllers(server);
    await make();
    await fill();
    const deleted = await remove();
    expect(deleted.status?.phase).toBe('Terminating');
    await until('the namespace is gone', isGone);
    expect(await contents()).toEqual([]);
  });

  it('says what remains and who is waited for, until that is over', async () => {
    stopControllers = await startControllers(server);
    await make();
    await fill(['example.com/slow']);
    await remove();
    let conditions: Record<string, string> = {};
    await until('the conditions say so', async () => {
      const { status } = await server.client.namespaces.get({ name });
      conditions = Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, `${each.status} ${each.message}`]));
      return conditions.NamespaceContentRemaining === 'True still there: configmaps (1)';
    });
    expect(conditions).toEqual({
      NamespaceDeletionDiscoveryFailure: 'False all servers told what they serve',
      NamespaceDeletionContentFailure: 'False everything was told to go',
      NamespaceContentRemaining: 'True still there: configmaps (1)',
      NamespaceFinalizersRemaining: 'True waited for by so many objects: example.com/slow (1)',
    });
    await server.client.configMaps.patch({ namespace: name, name: 'a' }, { metadata: { finalizers: null } });
    await until('the namespace is gone', isGone);
  });

  it('goes also when it was deleted while no controller ran', async () => {
    await make();
    await fill();
    await remove();
    expect(await isGone()).toBe(false);
    stopControllers = await startControllers(server);
    await until('the namespace is gone', isGone);
    expect(await contents()).toEqual([]);
  });

  it('waits for the others who clean up in it, and for its own finalizers', async () => {
    stopControllers = await startControllers(server);
    const { namespaces } = server.client;
    await make({ finalizers: ['example.com/cleaner'] });
    await namespaces.patch({ name }, { metadata: { finalizers: ['example.com/own'] } });
    await fill();
    await remove();
    await until('only the other finalizer is left', async () => {
      const { spec } = await namespaces.get({ name });
      return spec?.finalizers?.join() === 'example.com/cleaner';
    });
    expect(await contents()).toEqual([]);
    await namespaces.finalize({ metadata: { name }, spec: {} });
    expect((await namespaces.get({ name })).metadata?.finalizers).toEqual(['example.com/own']);
    await namespaces.patch({ name }, { metadata: { finalizers: null } });
    expect(await isGone()).toBe(true);
  });
});

it('what is in a namespace that does not exist goes as well', async () => {
  await make();
  await fill();
  await remove();
  // As when a create crosses the end of its namespace.
  await server.client.namespaces.finalize({ metadata: { name }, spec: {} });
  expect(await isGone()).toBe(true);
  stopControllers = await startControllers(server);
  // Events have no owners; they expire.
  await until('only the event is left', async () => (await contents()).length === 1);
});

describe('the finalizers of a namespace', () => {
  it('are changed by Finalize alone, and only as they may be called', async () => {
    const { namespaces } = server.client;
    const made = await make({ finalizers: ['example.com/a'] });
    expect(made.spec?.finalizers).toEqual(['example.com/a', 'kubernetes']);
    const patched = await namespaces.patch({ name }, { spec: { finalizers: [] } });
    expect(patched.spec?.finalizers).toEqual(['example.com/a', 'kubernetes']);
    await expect(namespaces.finalize({ metadata: { name }, spec: { finalizers: ['mine'] } })).rejects.toMatchObject({
      violations: [{ field: 'spec.finalizers[0]' }],
    });
    await expect(namespaces.finalize({ metadata: { name, uid: 'another' } })).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(namespaces.finalize({ metadata: { name, resourceVersion: '1' } })).rejects.toMatchObject({ code: 'ABORTED' });
    const dry = await namespaces.finalize({ metadata: { name } }, { dryRun: ['All'] });
    expect(dry.spec?.finalizers ?? []).toEqual([]);
    const finalized = await namespaces.finalize({
      metadata: { name, labels: { ignored: 'x' } },
      spec: { finalizers: ['kubernetes'] },
    });
    expect(finalized.spec?.finalizers).toEqual(['kubernetes']);
    expect(finalized.metadata?.labels).not.toHaveProperty('ignored');
  });
});
