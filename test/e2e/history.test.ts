import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// A real pod's life, told afterwards from the server's history alone.
let house: PodHouse;

interface RevisionJson {
  readonly resourceVersion: string;
  readonly type: string;
  readonly user: string;
  readonly verb: string;
  readonly changes: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
}

beforeAll(async () => {
  house = await createPodHouse('history');
});
afterAll(() => house.berth.purge());

const historyOf = async (name: string): Promise<RevisionJson[]> =>
  JSON.parse(await house.berth.ok('history', `pod/${name}`, '-o', 'json')).revisions;

it('tells who created, placed, started, changed, ended and deleted a pod, when it is long gone', async () => {
  const { berth } = house;
  await house.apply(podOf('told', [script(stay)], {}, { labels: { step: 'one' } }));
  await house.running('told');
  const running = (await historyOf('told'))[0]?.resourceVersion ?? '';
  await berth.ok('label', 'pod', 'told', 'step=two', '--overwrite');
  await berth.ok('delete', 'pod', 'told');
  const { code } = await berth.berth(['get', 'pod', 'told']);
  expect(code).toBe(1);

  const told = (await historyOf('told')).toReversed();
  const node = (await house.berth.ok('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}')).trim();
  const change = (path: string) => told.filter(({ changes }) => changes.some((each) => each.path === path));
  expect(told[0]).toMatchObject({ type: 'ADDED', verb: 'create', user: 'admin' });
  expect(change('spec.nodeName')).toMatchObject([{ verb: 'bind', user: 'system:kube-scheduler' }]);
  expect(new Set(change('status.phase').map(({ user, verb }) => `${user} ${verb}`))).toEqual(
    new Set([`system:node:${node} patch-status`]),
  );
  expect(change('metadata.labels.step')).toMatchObject([
    { user: 'admin', changes: [{ path: 'metadata.labels.step', before: 'one', after: 'two' }] },
  ]);
  expect(change('metadata.deletionTimestamp')).toMatchObject([{ user: 'admin', verb: 'delete' }]);
  expect(told.at(-1)).toMatchObject({ type: 'DELETED', user: `system:node:${node}` });

  expect(await berth.ok('get', 'pods', '--at', running, '--no-headers', '-L', 'step')).toMatch(
    /^told +1\/1 +Running +0 .* one\n$/,
  );
  expect(await berth.ok('get', 'pod', 'told', '--at', running, '-o', 'jsonpath={.status.phase}')).toBe('Running');
  const diff = await berth.berth(['diff', 'pod/told', '--at', running]);
  expect(diff.code).toBe(1);
  expect(diff.stdout).toContain('-    step: one\n');
});

it('is read as before when the server was killed and has come back', async () => {
  const { berth } = house;
  const before = await historyOf('told');
  const old = berth.pid('server');
  process.kill(old, 'SIGKILL');
  const after = await eventually('the next server tells the history', async () => {
    const { code, stdout } = await berth.berth(['history', 'pod/told', '-o', 'json']);
    return code === 0 && berth.pid('server') !== old ? (JSON.parse(stdout).revisions as RevisionJson[]) : undefined;
  });
  expect(after).toEqual(before);
});
