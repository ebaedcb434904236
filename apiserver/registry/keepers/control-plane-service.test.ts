import { afterEach, describe, expect, it } from 'vitest';
import type { Service } from '../../../api/generated/types.ts';
import { controlPlaneService, kubernetesService } from '../../../api/meta/control-plane.ts';
import { MetricsRegistry } from '../../../api/metrics/index.ts';
import { createFakeClock } from '../../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../../test/fakes/fake-logger.ts';
import { createServerRegistry } from '../../server-registry.ts';
import { createMemoryStorage } from '../../storage/memory/memory-storage.ts';
import { runFeed } from '../../watch/feed.ts';
import type { AnyObject } from '../any-object.ts';
import { createObject } from '../create.ts';
import { serverContext } from '../server-context.ts';
import { ControlPlaneService, controlPlaneSpec, decideControlPlaneService } from './control-plane-service.ts';
import { ensureObjects } from './ensure-objects.ts';

const address = '10.43.0.1';
const wanted = controlPlaneSpec(controlPlaneService, address, 7443);
const labels = { component: 'apiserver', provider: 'berth' };
const stored = (spec: Service['spec'] = wanted, metadata: Service['metadata'] = {}): Service => ({
  metadata: { uid: 'u', labels, ...metadata },
  spec,
});

describe('the decision about the Service of the control plane', () => {
  it.each([
    ['create', 'missing', undefined],
    ['nothing', 'as it must be', stored()],
    ['nothing', 'as it must be, with labels of others', stored(wanted, { labels: { ...labels, app: 'x' } })],
    ['change', 'without its labels', stored(wanted, { labels: {} })],
    ['change', 'of another port', stored(controlPlaneSpec(controlPlaneService, address, 7444))],
    ['change', 'with a selector', stored({ ...wanted, selector: { app: 'x' } })],
    ['change', 'with external addresses', stored({ ...wanted, externalIPs: ['192.0.2.1'] })],
    ['replace', 'of another address', stored(controlPlaneSpec(controlPlaneService, '10.44.0.1', 7443))],
    ['replace', 'without an address', stored({ type: 'ExternalName', externalName: 'example.com' })],
    ['replace', 'being deleted', stored(wanted, { deletionTimestamp: { seconds: 1, nanos: 0 } as never, finalizers: ['a/b'] })],
  ] as const)('is "%s" when it is %s', (step, _, service) => {
    expect(decideControlPlaneService(service, wanted, controlPlaneService, undefined)).toBe(step);
  });

  it('leaves alone the one that stood there before, and no other', () => {
    const other = stored(controlPlaneSpec(controlPlaneService, '10.43.0.99', 80));
    expect(decideControlPlaneService(other, wanted, controlPlaneService, 'u')).toBe('foreign');
    expect(decideControlPlaneService(other, wanted, controlPlaneService, 'another')).toBe('replace');
  });

  it.each([
    ['nothing', 'missing', undefined, undefined],
    ['remove', 'the server\u2019s own', stored(), undefined],
    ['nothing', 'one that stood there before', stored(), 'u'],
  ] as const)('is "%s" for a server without the door when it is %s', (step, _, service, foreignUid) =>
    expect(decideControlPlaneService(service, undefined, kubernetesService, foreignUid)).toBe(step),
  );
});

describe('the Service of the control plane', () => {
  const stopping: AbortController[] = [];
  afterEach(() => {
    for (const each of stopping.splice(0)) each.abort();
  });

  async function createWorld() {
    const stop = new AbortController();
    stopping.push(stop);
    const log = createFakeLogger();
    const storage = createMemoryStorage();
    const { registry, caches } = createServerRegistry({ log: log as never }, storage, new MetricsRegistry());
    await new Promise<void>((resolve, reject) => {
      runFeed({ storage, caches, log: log as never }, resolve, stop.signal).catch(reject);
    });
    await ensureObjects(registry);
    const store = registry.store('Service');
    const at = { namespace: 'default', name: 'berth' };
    const clock = createFakeClock();
    const keeperOf = (port = 7443, first = address) =>
      new ControlPlaneService({
        ...{ registry, service: controlPlaneService, address: first, port, clock: clock as never, log: log as never },
      });
    const read = async (): Promise<Service | undefined> => {
      const entry = await store.read(at);
      return entry && (store.cache.decoder.decode(entry) as Service);
    };
    const create = (spec: Service['spec'], name = at.name) =>
      createObject(store, registry.admission, {
        ...serverContext,
        take: () => ({ metadata: { ...at, name }, spec: structuredClone(spec) }) as AnyObject,
      });
    const change = (compute: (service: Service) => Service | 'remove') =>
      store.change(at, { context: serverContext, verb: 'update', compute: compute as never });
    return { registry, log, store, clock, keeperOf, read, create, change, signal: stop.signal };
  }

  it('is made once, with the first address, and is then left as it is', async () => {
    const { keeperOf, read, store } = await createWorld();
    await keeperOf().begin();
    expect(await read()).toMatchObject({ metadata: { labels }, spec: wanted });
    const { revision } = store.cache;
    await keeperOf().begin();
    expect(store.cache.revision).toBe(revision);
  });

  it('follows the port and the range of another start', async () => {
    const { keeperOf, read } = await createWorld();
    await keeperOf().begin();
    const { uid } = (await read())!.metadata!;
    await keeperOf(7450).begin();
    expect(await read()).toMatchObject({ metadata: { uid }, spec: controlPlaneSpec(controlPlaneService, address, 7450) });
    await keeperOf(7450, '10.43.0.77').begin();
    expect(await read()).toMatchObject({ spec: controlPlaneSpec(controlPlaneService, '10.43.0.77', 7450) });
    expect((await read())!.metadata!.uid).not.toBe(uid);
  });

  it('is restored when it is deleted or changed while the server runs, at most once in a second', async () => {
    const { keeperOf, read, change, clock, signal } = await createWorld();
    const keeper = keeperOf();
    await keeper.begin();
    const { uid } = (await read())!.metadata!;
    void keeper.run(signal);
    await change((service) => ({ ...service, spec: { ...service.spec, selector: { app: 'mine' } } }));
    await expect.poll(async () => (await read())?.spec).toEqual(wanted);
    await change(() => 'remove');
    expect(await read()).toBeUndefined();
    await clock.advance(1_000);
    await expect.poll(async () => (await read())?.spec).toEqual(wanted);
    expect((await read())!.metadata!.uid).not.toBe(uid);
  });

  it('does not take the place of a Service that its user has had there, until that is gone', async () => {
    const { keeperOf, read, create, change, log, signal } = await createWorld();
    await create({ ports: [{ port: 80 }], selector: { app: 'boat' } });
    const keeper = keeperOf();
    await keeper.begin();
    void keeper.run(signal);
    expect((await read())?.spec?.selector).toEqual({ app: 'boat' });
    expect(JSON.stringify(log.lines)).toContain('rename it');
    await change(() => 'remove');
    await expect.poll(async () => (await read())?.spec).toEqual(wanted);
  });

  it('is tried again, later each time, while its address is taken', async () => {
    const { keeperOf, read, create, store, log, clock, signal } = await createWorld();
    const taken = '10.43.0.200';
    await create({ clusterIP: taken, ports: [{ port: 80 }] }, 'other');
    const keeper = keeperOf(7443, taken);
    await keeper.begin();
    void keeper.run(signal);
    const failures = () => log.lines.filter(({ message }) => message.includes('trying again')).length;
    await expect.poll(failures).toBe(2);
    await clock.advance(1_000);
    await expect.poll(failures).toBe(3);
    await clock.advance(1_999);
    expect(failures()).toBe(3);
    await store.change(
      { namespace: 'default', name: 'other' },
      { context: serverContext, verb: 'delete', compute: () => 'remove' as const },
    );
    await clock.advance(1);
    await expect.poll(async () => (await read())?.spec?.clusterIP).toBe(taken);
  });

  async function createKubernetes() {
    const world = await createWorld();
    const { registry, log, clock, store } = world;
    const others: string[] = [];
    const first = '10.43.0.200';
    const keeper = (port: number | undefined) =>
      new ControlPlaneService({
        ...{ registry, service: kubernetesService, address: first, port, clock: clock as never, log: log as never },
        onOtherAddress: async (other) => others.push(other),
      });
    const read = async () => {
      const entry = await store.read({ namespace: 'default', name: 'kubernetes' });
      return entry && (store.cache.decoder.decode(entry) as Service);
    };
    return { ...world, others, first, keeper, read };
  }

  it('of the other door has its own name, and goes with the door', async () => {
    const { keeper, read, first, others, signal } = await createKubernetes();
    await keeper(6443).begin();
    expect(await read()).toMatchObject({
      metadata: { labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: { clusterIP: first, ports: [{ name: 'https', port: 443, targetPort: { intVal: 6443 } }] },
    });
    const off = keeper(undefined);
    await off.begin();
    await off.run(signal);
    expect(await read()).toBeUndefined();
    expect(others).toEqual([]);
  });

  it('of a server without the door leaves a Service that a user has there', async () => {
    const { keeper, read, create } = await createKubernetes();
    await create({ ports: [{ port: 80 }] }, 'kubernetes');
    await keeper(undefined).begin();
    expect((await read())?.spec?.ports).toMatchObject([{ port: 80 }]);
  });

  it('has any free address where another Service has its own, also with the next start, and tells it', async () => {
    const { keeper, read, create, others, first } = await createKubernetes();
    await create({ clusterIP: first, ports: [{ port: 80 }] }, 'other');
    const one = keeper(6443);
    await one.begin();
    const spec = (await read())?.spec;
    expect(spec?.clusterIP).toMatch(/^10\.43\./);
    expect(spec?.clusterIP).not.toBe(first);
    expect(others).toEqual([spec?.clusterIP]);
    await keeper(6444).begin();
    expect(await read()).toMatchObject({ spec: { clusterIP: spec?.clusterIP, ports: [{ targetPort: { intVal: 6444 } }] } });
    expect(others).toEqual([spec?.clusterIP, spec?.clusterIP]);
  });
});
