import { describe, expect, it } from 'vitest';
import { expired, unavailable } from '../../api/errors/index.ts';
import type { Node } from '../../api/generated/types.ts';
import { node } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import type { Scope, WatchEvent } from '../services/resource-client.ts';
import { createReflector } from './reflector.ts';

function setup(options: { pageSize?: number; scope?: Scope; nodes?: string[] } = {}) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const objects = (options.nodes ?? ['n1', 'n2']).map((name) => node(name).build());
  const client = createFakeResourceClient<Node>({
    kind: 'Node',
    objects,
    ...(options.pageSize && { pageSize: options.pageSize }),
  });
  const seen: string[] = [];
  const sink = {
    replace: (nodes: readonly Node[]) => void seen.push(`replace ${nodes.map((object) => object.metadata?.name).join(' ')}`),
    apply: (events: readonly WatchEvent<Node>[]) =>
      void seen.push(...events.map(({ type, object }) => `${type} ${object.metadata?.name}`)),
  };
  const backoff = { initialMs: 100, maxMs: 1_000, jitter: 0 };
  const reflector = createReflector<Node>({
    name: 'nodes',
    client,
    sink,
    clock,
    logger,
    backoff,
    ...(options.scope && { scope: options.scope }),
  });
  const stop = new AbortController();
  const versions = () =>
    client.calls.filter((call) => call.method === 'watch').map((call) => (call.argument as Scope).resourceVersion);
  return { clock, logger, client, seen, sink, stop, versions, start: () => reflector.run(stop.signal) };
}

describe('reflector', () => {
  it('lists, then follows the changes from the version of the list', async () => {
    const { client, seen, stop, start, versions } = setup();
    const running = start();
    await settle();
    client.put(node('n3').build());
    client.remove('n1');
    await settle();
    expect(seen).toEqual(['replace n1 n2', 'ADDED n3', 'DELETED n1']);
    expect(versions()).toEqual(['2']);
    stop.abort();
    await running;
    expect(client.watchers).toBe(0);
  });

  it('reads all pages of the list', async () => {
    const { client, seen, stop, start } = setup({ pageSize: 2, nodes: ['n1', 'n2', 'n3', 'n4', 'n5'] });
    const running = start();
    await settle();
    expect(seen).toEqual(['replace n1 n2 n3 n4 n5']);
    expect(client.callLog('list')).toHaveLength(3);
    stop.abort();
    await running;
  });

  it('goes on at once from the last version when the stream ends normally, without logging or listing', async () => {
    const { clock, client, seen, stop, start, versions, logger } = setup();
    const running = start();
    await clock.advance(60_000);
    client.put(node('n3').build());
    await settle();
    client.endWatches();
    await settle();
    expect(client.watchers).toBe(1);
    expect(versions()).toEqual(['2', '3']);
    client.put(node('n4').build());
    await settle();
    expect(seen).toEqual(['replace n1 n2', 'ADDED n3', 'ADDED n4']);
    expect(logger.lines).toEqual([]);
    stop.abort();
    await running;
  });

  it('waits between streams that end as soon as they are open', async () => {
    const { clock, client, stop, start } = setup();
    const running = start();
    await settle();
    client.endWatches();
    await settle();
    client.endWatches();
    await settle();
    expect(client.watchers).toBe(0);
    await clock.advance(100);
    expect(client.watchers).toBe(1);
    stop.abort();
    await running;
  });

  it('watches again from the last version after an error, waiting longer each time in a row', async () => {
    const { clock, client, seen, stop, start, versions } = setup();
    const running = start();
    await settle();
    client.failNext('watch', unavailable('gone'), 2);
    client.endWatches(unavailable('gone'));
    client.put(node('n3').build());
    await clock.advance(100);
    await clock.advance(199);
    expect(versions()).toHaveLength(2);
    await clock.advance(1);
    expect(versions()).toHaveLength(3);
    await clock.advance(400);
    expect(versions()).toEqual(['2', '2', '2', '2']);
    expect(seen).toEqual(['replace n1 n2', 'ADDED n3']);
    expect(client.callLog('list')).toHaveLength(1);
    stop.abort();
    await running;
  });

  it('starts waiting afresh after a stream that delivered something', async () => {
    const { clock, client, stop, start, versions } = setup();
    const running = start();
    await settle();
    client.endWatches(unavailable('gone'));
    await clock.advance(100);
    client.put(node('n3').build());
    await settle();
    client.endWatches(unavailable('gone'));
    await clock.advance(100);
    expect(versions()).toEqual(['2', '2', '3']);
    stop.abort();
    await running;
  });

  it('keeps trying when the list fails, and says why', async () => {
    const { clock, client, seen, stop, start, logger } = setup();
    client.failNext('list', unavailable('cannot reach the API server'), 3);
    const running = start();
    await clock.advance(700);
    expect(seen).toEqual(['replace n1 n2']);
    expect(logger.lines.map(({ level, fields }) => [level, fields.reflector, fields.waitMs])).toEqual([
      ['warn', 'nodes', 100],
      ['warn', 'nodes', 200],
      ['warn', 'nodes', 400],
    ]);
    stop.abort();
    await running;
  });

  it('lists afresh when its version has expired, and never asks for that version again', async () => {
    const { clock, client, seen, stop, start, versions } = setup();
    const running = start();
    await settle();
    client.failNext('watch', unavailable('gone'));
    client.endWatches(unavailable('gone'));
    client.put(node('n3').build());
    client.remove('n1');
    client.compact();
    await clock.advance(5_000);
    expect(seen).toEqual(['replace n1 n2', 'replace n2 n3']);
    expect(versions()).toEqual(['2', '2', '2', '4']);
    stop.abort();
    await running;
  });

  it('lists again when a list expires between its pages', async () => {
    const { clock, client, seen, stop, start } = setup({ pageSize: 1 });
    const list = client.list;
    let pages = 0;
    client.list = async (scope, call) => {
      if (++pages === 2) throw expired('the continue token is too old');
      return list(scope, call);
    };
    const running = start();
    await clock.advance(100);
    expect(seen).toEqual(['replace n1 n2']);
    stop.abort();
    await running;
  });

  it('opens the watch again when nothing is heard for too long, from the last bookmark', async () => {
    const { clock, client, stop, start, versions, seen } = setup();
    const running = start();
    await clock.advance(100_000);
    client.put(node('n3').labels({ other: 'kind' }).build());
    client.bookmark();
    await clock.advance(149_999);
    expect(versions()).toEqual(['2']);
    await clock.advance(1);
    expect(versions()).toEqual(['2', '3']);
    expect(seen).toEqual(['replace n1 n2', 'ADDED n3']);
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });

  it('asks for bookmarks and keeps their version without telling the sink', async () => {
    const { client, stop, start, seen, versions } = setup({ scope: { fieldSelector: 'metadata.name=n1' } });
    const running = start();
    await settle();
    client.put(node('n3').build());
    client.bookmark();
    await settle();
    client.endWatches();
    await settle();
    expect(versions()).toEqual(['2', '3']);
    expect(seen).toEqual(['replace n1']);
    expect(client.calls.find((call) => call.method === 'watch')?.argument).toMatchObject({ allowWatchBookmarks: true });
    stop.abort();
    await running;
  });

  it('lists again when the sink throws, since its content is unknown', async () => {
    const { clock, client, stop, start, sink, seen, logger } = setup();
    const running = start();
    await settle();
    const { apply } = sink;
    sink.apply = () => {
      sink.apply = apply;
      throw new TypeError('defect');
    };
    client.put(node('n3').build());
    await clock.advance(100);
    expect(seen).toEqual(['replace n1 n2', 'replace n1 n2 n3']);
    expect(logger.lines.map((line) => line.level)).toEqual(['error']);
    stop.abort();
    await running;
  });

  it('returns when it is stopped while it waits, and leaves no timer', async () => {
    const { clock, client, stop, start } = setup();
    client.failNext('list', unavailable('gone'));
    const running = start();
    await settle();
    expect(clock.pending).toBe(1);
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });
});
