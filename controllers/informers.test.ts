import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CustomResourceDefinition, Pod } from '../api/generated/types.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { type Client, stderrLogger, systemClock } from '../client/index.ts';
import { createFakeLogger } from '../test/fakes/fake-logger.ts';
import { createFakeResourceClient, type FakeResourceClient } from '../test/fakes/fake-resource-client.ts';
import type { ControllerDefinition, FollowedKind } from './definition.ts';
import { createUsedKinds } from './informer-runner.ts';
import { createInformers } from './informers.ts';
import { mostListeners } from './terms.ts';

const clients = new Map<string, FakeResourceClient<ApiObject>>();
const pod: Pod = {
  metadata: { namespace: 'a', name: 'web', uid: 'u', labels: { app: 'web' } },
  spec: { nodeName: 'n1', priority: 5 },
};
let stop: AbortController;

beforeEach(() => {
  clients.clear();
  stop = new AbortController();
  setMaxListeners(mostListeners, stop.signal);
});
afterEach(() => stop.abort());

const client = {
  resource({ kind }: Kind) {
    const objects: ApiObject[] =
      kind === 'Pod'
        ? [pod]
        : kind === 'CustomResourceDefinition'
          ? []
          : [{ metadata: { name: 'it', namespace: 'a', annotations: { large: 'x' } } }];
    const made = clients.get(kind) ?? createFakeResourceClient<ApiObject>({ kind, objects });
    clients.set(kind, made);
    return made;
  },
} as unknown as Client;

const definition = (more: Partial<ControllerDefinition>): ControllerDefinition => ({
  name: 'test',
  create: () => undefined,
  ...more,
});
const byNode = { node: ({ spec }: Pod) => (spec?.nodeName ? [spec.nodeName] : []) };
const byName = { name: ({ metadata }: ApiObject) => [metadata?.name ?? ''] };

async function run(...definitions: ControllerDefinition[]) {
  const informers = createInformers(client, definitions, { clock: systemClock, logger: stderrLogger });
  void informers.run(stop.signal);
  await Promise.all(Array.from(informers.followed, ({ informer }) => informer.waitForSync(stop.signal)));
  return informers;
}

it('shares one informer a kind, with the indexes of all controllers', async () => {
  const informers = await run(
    definition({ watches: { Pod: { indexers: byNode } } }),
    definition({ watches: { Pod: {} }, followedIndexers: ({ namespaced }) => (namespaced ? byName : {}) }),
  );
  const pods = informers.of('Pod');
  expect(pods.lister.byIndex('node', 'n1')).toHaveLength(1);
  expect(pods.lister.byIndex('name', 'web')).toHaveLength(1);
  expect([...informers.followed].find(({ kind }) => kind.kind === 'Pod')?.informer).toBe(pods);
  expect(clients.get('Pod')?.watchers).toBe(1);
  expect(() => informers.of('Node').lister.byIndex('name', 'it')).toThrow(RangeError);
});

it('keeps outlines, and whole objects of the kinds that a controller needs whole', async () => {
  const informers = await run(
    definition({ watches: { Node: { whole: true }, Namespace: {} } }),
    definition({ watches: { Node: {} } }),
  );
  expect(informers.of('Node').lister.list()[0]?.metadata?.annotations).toEqual({ large: 'x' });
  expect(informers.of('Namespace').lister.list()[0]?.metadata?.annotations).toBeUndefined();
  expect(informers.of('Pod').lister.get('a/web')).toMatchObject({
    metadata: { labels: { app: 'web' } },
    spec: { nodeName: 'n1' },
  });
  expect(informers.of('Pod').lister.get('a/web')?.spec?.priority).toBeUndefined();
});

it('makes no informer of a kind that has no owners and no controller watches', async () => {
  const informers = await run(definition({}));
  expect(() => informers.of('Event')).toThrow('does not watch it');
  expect(clients.has('Event')).toBe(false);
});

const definitionOf = (name: string, established = 'True', inUse = 'True'): CustomResourceDefinition => ({
  metadata: { name: `${name.toLowerCase()}s.example.com`, uid: name },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: name, plural: `${name.toLowerCase()}s` },
    versions: ['v1beta1', 'v1'].map((version) => ({ name: version, served: true, storage: version === 'v1' })),
  },
  status: {
    conditions: [
      { type: 'Established', status: established },
      { type: 'berth.io/InUse', status: inUse },
    ],
  },
});

it('follows the kinds of definitions from when they are established until they go', async () => {
  const informers = await run(definition({ followedIndexers: () => byName }));
  const definitions = clients.get('CustomResourceDefinition')!;
  const custom = () => [...informers.followed].filter(({ kind }) => kind.apiVersion.startsWith('example.com/'));
  definitions.put(definitionOf('Toy', 'False'));
  definitions.put(definitionOf('Game'));
  await expect.poll(() => custom().map(({ kind }) => `${kind.apiVersion} ${kind.kind}`)).toEqual(['example.com/v1 Game']);
  definitions.put(definitionOf('Toy'));
  await expect.poll(() => custom().length).toBe(2);
  const [{ informer }] = custom() as [FollowedKind];
  await informer.waitForSync(stop.signal);
  expect(informer.lister.byIndex('name', 'it')).toMatchObject([{ metadata: { name: 'it', namespace: 'a' } }]);
  await expect.poll(() => clients.get('Game')?.watchers).toBe(1);
  const versions = [{ name: 'v1', served: false, storage: true }];
  const game = definitionOf('Game');
  const unserved: CustomResourceDefinition = { ...game, spec: { ...game.spec, versions } };
  definitions.put(unserved);
  definitions.put(definitionOf('Card'));
  await expect
    .poll(() =>
      custom()
        .map(({ kind }) => kind.kind)
        .sort(),
    )
    .toEqual(['Card', 'Game', 'Toy']);
  definitions.remove('cards.example.com');
  definitions.remove('games.example.com');
  await expect.poll(() => custom().map(({ kind }) => kind.kind)).toEqual(['Toy']);
  await expect.poll(() => clients.get('Game')?.watchers).toBe(0);
  await informers.relist(stop.signal);
});

it('watches a custom kind from when it has objects, and waits for none that has not', async () => {
  const informers = await run(definition({ followedIndexers: () => byName }));
  const definitions = clients.get('CustomResourceDefinition')!;
  const toys = () => [...informers.followed].find(({ kind }) => kind.kind === 'Toy')?.informer;
  definitions.put(definitionOf('Toy', 'True', 'False'));
  await expect.poll(toys).toBeDefined();
  await toys()!.waitForSync(stop.signal);
  await informers.relist(stop.signal);
  expect(clients.get('Toy')?.callLog('list', 'watch')).toEqual([]);
  definitions.put(definitionOf('Toy'));
  await expect.poll(() => toys()?.lister.list().length).toBe(1);
  definitions.remove('toys.example.com');
  await expect.poll(() => clients.get('Toy')?.watchers).toBe(0);
});

it('watches only so many custom kinds, and another one when one goes', () => {
  const log: string[] = [];
  const each = (plural: string) => ({ kind: { plural, apiVersion: 'example.com/v1' }, stop: undefined }) as never;
  const logger = createFakeLogger();
  const used = createUsedKinds(({ kind }) => void log.push(kind.plural) as never, { logger }, 2);
  const [toys, games, cards] = [each('toys'), each('games'), each('cards')];
  for (const one of [toys, games, cards]) used.use(one);
  expect(log).toEqual(['toys', 'games']);
  expect(logger.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  used.forget(games);
  expect(log).toEqual(['toys', 'games', 'cards']);
  for (const one of [toys, cards]) used.forget(one);
  for (const one of [games, toys]) used.use(one);
  expect(log).toEqual(['toys', 'games', 'cards', 'games', 'toys']);
});

it('runs the informers of a controller’s own', async () => {
  const informers = createInformers(client, [], { clock: systemClock, logger: stderrLogger });
  const own = informers.scoped('Secret', { namespace: 'a' }, 'some secrets');
  void informers.run(stop.signal);
  await own.waitForSync(stop.signal);
  expect(own.lister.list()).toHaveLength(1);
});
