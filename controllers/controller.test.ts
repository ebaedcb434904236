import { describe, expect, it } from 'vitest';
import { conflict, unavailable } from '../api/errors/index.ts';
import type { Pod } from '../api/generated/types.ts';
import { createInformer } from '../client/index.ts';
import { pod } from '../test/builders/index.ts';
import { createFakeClock } from '../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../test/fakes/fake-resource-client.ts';
import { changesOf, runController } from './controller.ts';

/** A controller of nodes by the pods on them, which notes what it is asked. */
async function setup(reconcile: (key: string) => Promise<void> = async () => {}) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const client = createFakeResourceClient<Pod>({
    kind: 'Pod',
    objects: [pod('a').on('n1').build(), pod('b').on('n1').build(), pod('c').on('n2').build()],
  });
  const pods = createInformer<Pod>({ client, name: 'pods', clock, logger });
  const keys: string[] = [];
  const controller = {
    name: 'test',
    workers: 1,
    sources: [changesOf(pods, ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []))],
    reconcile(key: string) {
      keys.push(key);
      return reconcile(key);
    },
  };
  const stop = new AbortController();
  const running = runController(controller, { clock, logger }, stop.signal);
  await clock.advance(0);
  const before = [...keys];
  const following = pods.run(stop.signal);
  await clock.advance(0);
  const end = async () => {
    stop.abort();
    await Promise.all([running, following]);
  };
  return { clock, logger, client, keys, before, end };
}

describe('the controller loop', () => {
  it('reconciles nothing before it knows all there is, then every key once', async () => {
    const { keys, before, end } = await setup();
    expect(before).toEqual([]);
    expect(keys).toEqual(['n1', 'n2']);
    await end();
  });

  it('looks at the keys on which a changed object bears and bore', async () => {
    const { clock, client, keys, end } = await setup();
    keys.length = 0;
    client.put(pod('a').on('n3').build());
    client.remove('default/c');
    await clock.advance(0);
    expect(keys).toEqual(['n3', 'n1', 'n2']);
    await end();
  });

  it('looks again after a conflict, without a word, and after another failure with one', async () => {
    const failures = [conflict({ kind: 'Node', name: 'n1' }, 'changed'), unavailable('away')];
    const { clock, logger, keys, end } = await setup(async (key) => {
      const failure = key === 'n1' ? failures.shift() : undefined;
      if (failure) throw failure;
    });
    await clock.advance(200);
    expect(keys).toEqual(['n1', 'n2', 'n1']);
    expect(logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields.key)).toEqual(['n1']);
    await clock.advance(200);
    expect(keys).toEqual(['n1', 'n2', 'n1', 'n1']);
    await end();
  });

  it('looks again at a key that changed while it was looked at, and never twice at once', async () => {
    let release = () => {};
    let inside = 0;
    let most = 0;
    const { clock, client, keys, end } = await setup(async () => {
      most = Math.max(most, ++inside);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      inside--;
    });
    client.put(pod('a').on('n1').phase('Running').build());
    await clock.advance(0);
    expect(keys).toEqual(['n1']);
    for (let i = 0; i < 3; i++) {
      release();
      await clock.advance(0);
    }
    expect([keys, most]).toEqual([['n1', 'n2', 'n1'], 1]);
    await end();
  });

  it('hears nothing any more once it was stopped', async () => {
    const { clock, client, keys, end } = await setup();
    await end();
    client.put(pod('a').on('n9').build());
    await clock.advance(1_000);
    expect([keys, clock.pending]).toEqual([['n1', 'n2'], 0]);
  });
});
