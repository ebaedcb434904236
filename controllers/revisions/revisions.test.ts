import { describe, expect, it } from 'vitest';
import { permissionDenied, unavailable } from '../../api/errors/index.ts';
import type { ControllerRevision, DaemonSet, OwnerReference } from '../../api/generated/types.ts';
import type { Informer } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { ownedIndexers } from '../owned-pods/pod-index.ts';
import { newRevision } from './history.ts';
import { Revisions } from './revisions.ts';

const set: DaemonSet = {
  metadata: { namespace: 'a', name: 'web', uid: 'd1' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
  },
};
const other: DaemonSet = { ...set, spec: { ...set.spec, template: { metadata: { labels: { app: 'web' } }, spec: {} } } };
const kind = { kind: { apiVersion: 'apps/v1', kind: 'DaemonSet' }, hashLabel: 'controller-revision-hash', longestName: 253 };
const owners = (ownerReferences: OwnerReference[]) => ({ ownerReferences });

/** A cache that shows what is stored, or, with `behind`, nothing. */
function setup(objects: ControllerRevision[], { behind = false, deleting = false } = {}) {
  const store = createFakeResourceClient<ControllerRevision>({ kind: 'ControllerRevision', objects });
  const live: DaemonSet = { ...set, metadata: { ...set.metadata, ...(deleting && { deletionTimestamp: { seconds: 1 } }) } };
  const sets = createFakeResourceClient<DaemonSet>({ kind: 'DaemonSet', objects: [live] });
  const byIndex = (index: keyof typeof ownedIndexers, value: string) =>
    behind ? [] : store.objects().filter((object) => ownedIndexers[index](object).includes(value));
  const informer = { lister: { byIndex }, shows: () => true } as unknown as Informer<ControllerRevision>;
  const noted: string[] = [];
  const clock = createFakeClock();
  const note = (key: string, _: unknown, { metadata }: ControllerRevision) => void noted.push(`${key} ${metadata?.name}`);
  const revisions = new Revisions<DaemonSet>({ ...kind, informer, reader: store, writes: store, owners: sets, note, clock });
  const { signal } = new AbortController();
  return { clock, store, noted, revisions, look: (object = set) => revisions.look(object, signal), signal };
}

const first = newRevision(kind, set, 1);
const name = first.metadata?.name ?? '';

describe('a look at the revisions', () => {
  it('makes that of a new template, and waits until it shows', async () => {
    const { look, store, noted } = setup([]);
    expect(await look()).toEqual({ is: 'written' });
    expect(noted).toEqual([`a/web ${name}`]);
    expect(await look()).toMatchObject({ is: 'known', update: { metadata: { name } } });
    expect(store.callLog('create')).toHaveLength(1);
  });

  it('finds the one that a create made whose answer was lost', async () => {
    const { look, noted } = setup([first], { behind: true });
    expect(await look()).toEqual({ is: 'written' });
    expect(noted).toEqual([`a/web ${name}`]);
  });

  it('repeats a create that may have been carried out before it makes that of a later template', async () => {
    const { clock, look, store } = setup([]);
    const create = store.create.bind(store);
    let calls = 0;
    store.create = async (...args) => {
      if (++calls === 2) throw permissionDenied('refused');
      const made = await create(...args);
      if (calls === 1) throw unavailable('gone');
      return made;
    };
    const refused = expect(look()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await clock.advance(1_000);
    await refused;
    expect(await look(other)).toEqual({ is: 'written' });
    expect(await look(other)).toEqual({ is: 'written' });
    expect(store.objects().map(({ revision }) => revision)).toEqual([1, 2]);
  });

  it.each<[string, ControllerRevision]>([
    ['another owner has', { ...first, metadata: { ...first.metadata, ...owners([{ uid: 'x', controller: true }]) } }],
    ['nothing owns, and that the selector does not match', { ...first, metadata: { namespace: 'a', name } }],
    ['another template has', { ...newRevision(kind, other, 1), metadata: first.metadata! }],
  ])('says that the name is taken by a revision that %s', async (_, found) => {
    const { look } = setup([found], { behind: true });
    expect(await look()).toEqual({ is: 'taken' });
  });

  it('gives that of an earlier template the greatest number', async () => {
    const { look, store } = setup([first, newRevision(kind, other, 2)]);
    expect(await look()).toEqual({ is: 'written' });
    expect(store.stored(`a/${name}`)).toMatchObject({ revision: 3 });
  });

  it('repeats a change of a number that may have been carried out before it makes the revision of a later template', async () => {
    const { clock, look, store, noted } = setup([first, newRevision(kind, other, 2)]);
    const patch = store.patch.bind(store);
    let calls = 0;
    store.patch = async (...args) => {
      if (++calls === 2) throw permissionDenied('refused');
      const made = await patch(...args);
      if (calls === 1) throw unavailable('gone');
      return made;
    };
    const refused = expect(look()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await clock.advance(1_000);
    await refused;
    const third = {
      ...set,
      spec: { ...set.spec, template: { metadata: { labels: { app: 'web' } }, spec: { hostNetwork: true } } },
    };
    expect(await look(third)).toEqual({ is: 'written' });
    // The number was changed by the first attempt: that has to show.
    expect(noted).toEqual([`a/web ${name}`]);
    expect(await look(third)).toEqual({ is: 'written' });
    expect(store.objects().map(({ revision }) => revision)).toEqual([3, 2, 4]);
  });

  it('adopts what nothing owns, unless the object is being deleted', async () => {
    const orphan = { ...first, metadata: { ...first.metadata, ownerReferences: [] } };
    const { look, store } = setup([orphan]);
    expect(await look()).toEqual({ is: 'written' });
    expect(store.stored(`a/${name}`)?.metadata?.ownerReferences).toMatchObject([{ uid: 'd1', controller: true }]);
    const late = setup([orphan], { deleting: true });
    await late.look();
    expect(late.store.stored(`a/${name}`)?.metadata?.ownerReferences).toEqual([]);
  });

  it('lets go what the selector does not match any more', async () => {
    const { look, store } = setup([{ ...first, metadata: { ...first.metadata, labels: {} } }]);
    expect(await look()).toEqual({ is: 'written' });
    expect(store.stored(`a/${name}`)?.metadata?.ownerReferences ?? []).toEqual([]);
  });
});

it('deletes revisions beyond the limit, and passes over one that is gone', async () => {
  const { revisions, store, signal } = setup([first]);
  const object = { ...set, spec: { ...set.spec, revisionHistoryLimit: 0 } };
  const known = store.objects();
  await revisions.truncate(object, known, () => true, signal);
  expect(store.objects()).toHaveLength(1);
  await revisions.truncate(object, known, () => false, signal);
  await revisions.truncate(object, known, () => false, signal);
  expect(store.objects()).toEqual([]);
});

it('notes in a revision that a pod of it has been ready', async () => {
  const { revisions, store, signal } = setup([first]);
  await revisions.markReady(set, store.objects()[0]!, signal);
  expect(store.stored(`a/${name}`)?.metadata?.annotations).toEqual({ 'berth.io/has-been-ready': 'true' });
});
