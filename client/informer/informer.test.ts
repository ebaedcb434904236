import { describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createInformer, type InformerHandler } from './informer.ts';

function setup(names: string[] = ['web', 'db']) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const client = createFakeResourceClient<Pod>({ kind: 'Pod', objects: names.map((name) => pod(name).on('n1').build()) });
  const byNode = (object: Pod) => (object.spec?.nodeName ? [object.spec.nodeName] : []);
  const backoff = { initialMs: 100, jitter: 0 };
  const informer = createInformer<Pod>({ client, name: 'pods', indexers: { node: byNode }, clock, logger, backoff });
  const stop = new AbortController();
  return { clock, logger, client, informer, stop, start: () => informer.run(stop.signal) };
}

function recorder(name = 'recorder'): InformerHandler<Pod> & { seen: string[] } {
  const seen: string[] = [];
  return {
    name,
    seen,
    onAdd: (object) => void seen.push(`add ${object.metadata?.name}`),
    onUpdate: (next, old) => void seen.push(`update ${next.metadata?.name} ${old.status?.phase}->${next.status?.phase}`),
    onDelete: (old) => void seen.push(`delete ${old.metadata?.name}`),
  };
}

describe('informer', () => {
  it('lets nothing wait for it once it has ended', async () => {
    const { client, informer, stop, start } = setup();
    client.failNext('list', unavailable('away'), 10);
    const running = start();
    const other = new AbortController().signal;
    const waiting = [informer.waitForSync(other), informer.relist(other)];
    stop.abort();
    await Promise.all([running, ...waiting, informer.waitForSync(other), informer.relist(other)]);
    expect(informer.hasSynced()).toBe(false);
  });

  it('keeps and tells only what it was asked to keep', async () => {
    const { client, clock, logger, stop } = setup();
    const transform = ({ metadata, spec }: Pod): Pod => ({ metadata: metadata!, spec: { nodeName: spec?.nodeName ?? '' } });
    const informer = createInformer<Pod>({ client, name: 'pods', transform, clock, logger });
    const told: Pod[] = [];
    informer.addHandler({ onUpdate: (next) => void told.push(next) });
    const running = informer.run(stop.signal);
    await clock.advance(0);
    client.put(pod('web').on('n2').phase('Running').build());
    await clock.advance(0);
    expect(Object.keys(informer.lister.get('default/db')!)).toEqual(['metadata', 'spec']);
    expect(told).toMatchObject([{ spec: { nodeName: 'n2' } }]);
    expect(told[0]).not.toHaveProperty('status');
    stop.abort();
    await running;
  });

  it('never holds more than a page of whole objects, and transforms each once', async () => {
    const { clock, logger, stop } = setup();
    const objects = ['a', 'b', 'c', 'd', 'e'].map((name) => pod(name).build());
    const client = createFakeResourceClient<Pod>({ kind: 'Pod', objects, pageSize: 2 });
    const transformed: string[] = [];
    const pages: number[] = [];
    const list = client.list.bind(client);
    client.list = (...call) => {
      pages.push(transformed.length);
      return list(...call);
    };
    const transform = ({ metadata = {} }: Pod): Pod => {
      transformed.push(metadata.name!);
      return { metadata };
    };
    const informer = createInformer<Pod>({ client, name: 'pods', transform, clock, logger });
    const running = informer.run(stop.signal);
    await informer.waitForSync(stop.signal);
    expect(pages).toEqual([0, 2, 4]);
    expect(transformed).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(informer.lister.get('default/e')).not.toHaveProperty('spec');
    stop.abort();
    await running;
  });

  it('has synced when the first list is in the lister and was told', async () => {
    const { informer, stop, start } = setup();
    const handler = recorder();
    informer.addHandler(handler);
    expect(informer.hasSynced()).toBe(false);
    const running = start();
    await informer.waitForSync(stop.signal);
    expect(informer.hasSynced()).toBe(true);
    expect(handler.seen).toEqual(['add db', 'add web']);
    expect(informer.lister.list().map((object) => object.metadata?.name)).toEqual(['db', 'web']);
    expect(informer.lister.get('default/web')?.spec?.nodeName).toBe('n1');
    stop.abort();
    await running;
  });

  it('stops waiting for the first list when aborted', async () => {
    const { informer, stop } = setup();
    const waiting = informer.waitForSync(stop.signal);
    stop.abort();
    await waiting;
    expect(informer.hasSynced()).toBe(false);
  });

  it('changes the store before it tells the handlers, in the order they were added', async () => {
    const { informer, client, stop, start } = setup([]);
    const seen: string[] = [];
    for (const name of ['first', 'second'])
      informer.addHandler({
        name,
        onAdd: (object) => void seen.push(`${name} ${informer.lister.get('default/web') === object}`),
      });
    const running = start();
    await settle();
    client.put(pod('web').build());
    await settle();
    expect(seen).toEqual(['first true', 'second true']);
    stop.abort();
    await running;
  });

  it('gives handlers the new object and the old one', async () => {
    const { informer, client, stop, start } = setup();
    const handler = recorder();
    informer.addHandler(handler);
    const running = start();
    await settle();
    handler.seen.length = 0;
    client.put(pod('web').phase('Running').build());
    client.remove('default/db');
    await settle();
    expect(handler.seen).toEqual(['update web Pending->Running', 'delete db']);
    stop.abort();
    await running;
  });

  it('tells a handler that is added later of everything there is, and a removed one of nothing', async () => {
    const { informer, client, stop, start } = setup();
    const running = start();
    await settle();
    const handler = recorder();
    const remove = informer.addHandler(handler);
    expect(handler.seen).toEqual(['add db', 'add web']);
    remove();
    client.put(pod('new').build());
    await settle();
    expect(handler.seen).toHaveLength(2);
    stop.abort();
    await running;
  });

  it('logs a handler that throws by its name, and the others do not notice', async () => {
    const { informer, stop, start, logger } = setup(['web']);
    const handler = recorder();
    const broken: InformerHandler<Pod> = {
      name: 'broken',
      onAdd() {
        throw new TypeError('defect');
      },
    };
    informer.addHandler(broken);
    informer.addHandler(handler);
    const running = start();
    await settle();
    expect(handler.seen).toEqual(['add web']);
    expect(informer.hasSynced()).toBe(true);
    expect(logger.lines.map(({ level, fields }) => [level, fields.informer, fields.handler, fields.key])).toEqual([
      ['error', 'pods', 'broken', 'default/web'],
    ]);
    stop.abort();
    await running;
  });

  it('tells after a gap what has gone, what is new and what has changed, and nothing else', async () => {
    const { informer, client, clock, stop, start } = setup(['same', 'changed', 'gone']);
    const handler = recorder();
    informer.addHandler(handler);
    const running = start();
    await settle();
    handler.seen.length = 0;
    client.endWatches(unavailable('gone'));
    client.put(pod('changed').phase('Running').build());
    client.remove('default/gone');
    client.put(pod('new').build());
    client.compact();
    await clock.advance(10_000);
    expect(client.callLog('list')).toHaveLength(2);
    expect(handler.seen).toEqual(['delete gone', 'update changed Pending->Running', 'add new']);
    stop.abort();
    await running;
  });

  it('shows a pod that was deleted and created again during a gap as an update with another uid', async () => {
    const { informer, client, clock, stop, start } = setup(['web']);
    const uids: (string | undefined)[] = [];
    informer.addHandler({ onUpdate: (next, old) => void uids.push(old.metadata?.uid, next.metadata?.uid) });
    const running = start();
    await settle();
    client.endWatches(unavailable('gone'));
    client.remove('default/web');
    client.put(pod('web').uid('another').build());
    client.compact();
    await clock.advance(10_000);
    expect(uids).toEqual(['uid-web', 'another']);
    stop.abort();
    await running;
  });

  it('keeps its indexes true through changes and deletions', async () => {
    const { informer, client, stop, start } = setup();
    const running = start();
    await settle();
    client.put(pod('web').on('n2').build());
    client.remove('default/db');
    await settle();
    expect(informer.lister.byIndex('node', 'n1')).toEqual([]);
    expect(informer.lister.byIndex('node', 'n2').map((object) => object.metadata?.name)).toEqual(['web']);
    expect(informer.lister.isInIndex('node', 'n1')).toBe(false);
    expect(informer.lister.isInIndex('node', 'n2')).toBe(true);
    expect(['n1', 'n2'].map((node) => informer.lister.countInIndex('node', node))).toEqual([0, 1]);
    expect(() => informer.lister.isInIndex('nod', 'n1')).toThrow(/index "nod": not declared/);
    expect(() => informer.lister.byIndex('nod', 'n1')).toThrow(/index "nod": not declared/);
    stop.abort();
    await running;
  });

  it('hands out frozen objects in tests, so that a change is found', async () => {
    const { informer, stop, start } = setup();
    const running = start();
    await settle();
    const object = informer.lister.get('default/web')!;
    expect(() => {
      object.metadata!.labels = {};
    }).toThrow(TypeError);
    stop.abort();
    await running;
  });
});
