import { expect, test } from 'vitest';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { createConnection } from '../../client/connection/connection.ts';
import type { ResourceClient, Scope, WatchEvent } from '../../client/index.ts';
import { codeOf, forEveryKind, labelled } from './every-kind.ts';

const names = (items: readonly ApiObject[]): string[] => items.map(({ metadata }) => metadata?.name ?? '');
const versionOf = ({ metadata }: ApiObject): string => metadata?.resourceVersion ?? '';

/** Every page of a list, one after the other; `between` runs after the first. */
async function pages(typed: ResourceClient<ApiObject>, scope: Scope, between = async (): Promise<void> => {}) {
  const found = [await typed.list(scope)];
  await between();
  for (let last = found[0]!; last.metadata.continue; found.push(last)) {
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = scope;
    last = await typed.list({ ...rest, continue: last.metadata.continue });
  }
  return found;
}

/** The first events of a watch, until there are so many. */
async function watched(typed: ResourceClient<ApiObject>, scope: Scope, count: number): Promise<string[]> {
  const stop = new AbortController();
  const seen: WatchEvent<ApiObject>[] = [];
  for await (const events of typed.watch(scope, { signal: stop.signal })) {
    seen.push(...events);
    if (seen.length >= count) break;
  }
  stop.abort();
  return seen.map(({ type, object }) => (type === 'BOOKMARK' ? type : `${type} ${object.metadata?.name}`));
}

forEveryKind((kind, subject) => {
  const relaxed = kind.durability === 'relaxed';

  test('all pages of a list show the state of the first, whatever is written meanwhile', async () => {
    const { make, typed, key, scope } = subject();
    const labels = { suite: 'pages' };
    for (const name of ['p1', 'p2', 'p3', 'p5', 'p6']) await make(name, { labels });
    const found = await pages(typed, { ...scope('pages'), limit: 2 }, async () => {
      await make('p4', { labels });
      await typed.patch(key('p5'), { metadata: { annotations: { 'example.com/late': 'yes' } } });
      await typed.patch(key('p6'), { metadata: { labels: { suite: 'other' } } });
    });
    const items = found.flatMap((page) => page.items);
    expect(names(items)).toEqual(['p1', 'p2', 'p3', 'p5', 'p6']);
    expect(items.some(({ metadata }) => metadata?.annotations?.['example.com/late'])).toBe(false);
    expect(new Set(found.map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
    expect(found.map((page) => page.items.length)).toEqual([2, 2, 1]);
    expect(found.at(-1)?.metadata.continue ?? '').toBe('');
  });

  test('a first page without selectors says how many objects remain', async () => {
    const { make, typed, scope } = subject();
    for (const name of ['r1', 'r2', 'r3']) await make(name);
    const { namespace } = scope();
    const place = namespace ? { namespace } : {};
    const { items } = await typed.list(place);
    const { metadata } = await typed.list({ ...place, limit: 1 });
    expect(metadata.remainingItemCount).toBe(items.length - 1);
    expect((await typed.list({ ...scope(), limit: 1 })).metadata).not.toHaveProperty('remainingItemCount');
  });

  test('a token continues the list that it was given for, and no other', async () => {
    const { make, typed, scope } = subject();
    for (const name of ['t1', 't2', 't3']) await make(name);
    const { metadata } = await typed.list({ ...scope(), limit: 1 });
    const token = metadata.continue!;
    for (const wrong of [
      { ...scope('other'), continue: token },
      { ...scope(), continue: 'nonsense' },
      { ...scope(), continue: token, resourceVersion: metadata.resourceVersion! },
      { ...scope(), continue: token, resourceVersionMatch: 'Exact' },
      { ...scope(), limit: -1 },
    ])
      expect(await codeOf(typed.list(wrong))).toBe('INVALID_ARGUMENT');
    expect((await typed.list({ ...scope(), limit: 1, continue: token })).items).toHaveLength(1);
  });

  test('a version asks for the newest, for at least it, or for exactly it', async () => {
    const { make, typed, scope } = subject();
    const labels = { suite: 'exact' };
    const first = await make('v1', { labels });
    const second = await make('v2', { labels });
    const listed = async (options: object) => names((await typed.list({ ...scope('exact'), ...options })).items);
    const both = ['v1', 'v2'];
    expect(await listed({})).toEqual(both);
    expect(await listed({ resourceVersion: '0' })).toEqual(both);
    expect(await listed({ resourceVersion: versionOf(first) })).toEqual(both);
    expect(await listed({ resourceVersion: versionOf(first), resourceVersionMatch: 'NotOlderThan' })).toEqual(both);
    const exactly = typed.list({ ...scope('exact'), resourceVersion: versionOf(first), resourceVersionMatch: 'Exact' });
    if (relaxed) expect(await codeOf(exactly)).toBe('UNIMPLEMENTED');
    else {
      const exact = await exactly;
      expect(exact.metadata.resourceVersion).toBe(versionOf(first));
      expect(names(exact.items)).toEqual(['v1']);
    }
    for (const wrong of [
      { resourceVersion: 'x' },
      { resourceVersionMatch: 'Exact' },
      { resourceVersion: '0', resourceVersionMatch: 'Exact' },
      { resourceVersion: versionOf(second), resourceVersionMatch: 'Nearly' },
      { sendInitialEvents: true },
    ])
      expect(await codeOf(typed.list({ ...scope('exact'), ...wrong }))).toBe('INVALID_ARGUMENT');
  });

  test('get answers with at least the version that is asked for', async () => {
    const { make, server, key } = subject();
    const made = await make('got');
    const connection = createConnection(server.admin);
    const method = { path: `/${kind.service}/Get`, request: 'berth.meta.v1.GetRequest', response: kind.message };
    const get = (resourceVersion: string) => connection.unary<ApiObject>(method, { ...key('got'), resourceVersion });
    try {
      for (const version of ['', '0', '1', versionOf(made)]) expect(await get(version)).toEqual(made);
      expect(await codeOf(get('x'))).toBe('INVALID_ARGUMENT');
    } finally {
      connection.close();
    }
  });

  test('its version is new with every change, and stays with a write that changes nothing', async () => {
    const { make, typed, key } = subject();
    const made = await make('same');
    expect(await typed.update(made)).toEqual(made);
    expect(await typed.patch(key('same'), { metadata: { labels: made.metadata?.labels } })).toEqual(made);
    const changed = await typed.update(labelled(made, 'x'));
    expect(Number(versionOf(changed))).toBeGreaterThan(Number(versionOf(made)));
    await expect(typed.update(labelled(made, 'y'))).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(
      typed.patch(key('same'), { metadata: { resourceVersion: versionOf(made), labels: { z: 'z' } } }),
    ).rejects.toMatchObject({ code: 'ABORTED' });
  });

  test('a watch begins after a version, with the present, or with nothing', async () => {
    const { make, typed, scope } = subject();
    const labels = { suite: 'begin' };
    const first = await make('w1', { labels });
    await make('w2', { labels });
    const begin = scope('begin');
    expect(await watched(typed, { ...begin, resourceVersion: versionOf(first) }, 1)).toEqual(['ADDED w2']);
    for (const resourceVersion of ['', '0'])
      expect((await watched(typed, { ...begin, resourceVersion }, 2)).sort()).toEqual(['ADDED w1', 'ADDED w2']);
    const initial = { ...begin, sendInitialEvents: true };
    expect((await watched(typed, { ...initial, resourceVersionMatch: 'NotOlderThan' }, 3)).sort()).toEqual([
      'ADDED w1',
      'ADDED w2',
      'BOOKMARK',
    ]);
    const later = watched(typed, { ...begin, sendInitialEvents: false, resourceVersion: versionOf(first) }, 2);
    await make('w3', { labels });
    expect(await later).toEqual(['ADDED w2', 'ADDED w3']);
    for (const wrong of [
      { resourceVersion: 'x' },
      { limit: 1 },
      { continue: 'x' },
      { resourceVersion: '1', resourceVersionMatch: 'Exact' },
      { sendInitialEvents: true, resourceVersionMatch: 'Exact' },
    ])
      expect(await codeOf(watched(typed, { ...begin, ...wrong }, 1))).toBe('INVALID_ARGUMENT');
  });

  if (kind.kind === 'Toy')
    test('a version that never was is not waited for long', async () => {
      const { typed, scope } = subject();
      const future = { resourceVersion: '9007199254740991' };
      expect(await codeOf(typed.list({ ...scope(), ...future }))).toBe('DEADLINE_EXCEEDED');
      expect(await codeOf(watched(typed, { ...scope(), ...future }, 1))).toBe('OUT_OF_RANGE');
    });
});
