import { afterEach, describe, expect, it } from 'vitest';
import type { PersistentVolume } from '../../api/generated/types.ts';
import type { Scope } from '../../client/services/resource-client.ts';
import { volume } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createVolumeReclaimer, decideReclaim } from './volume-reclaimer.ts';

const made = volume('v').madeOn('n1').keptFor('default/c', 'uid-c').reclaim('Delete').phase('Released');
const ours = ['berth.io/local-path'];
const released = made.leaving().with(({ metadata }) => void Object.assign(metadata!, { finalizers: ours }));
const unmade = released.with(({ metadata }) => void Object.assign(metadata!, { annotations: {} }));

it.each([
  ['is removed when it is deleted', released, { kind: 'remove', path: '/data/v' }],
  ['stays until it is deleted', made, { kind: 'none' }],
  ['stays as long as it is protected', made.leaving(), { kind: 'none' }],
  ['keeps its data when it is to', released.reclaim('Retain'), { kind: 'let-go' }],
  ['keeps data that nobody says an agent made', unmade, { kind: 'let-go' }],
  [
    "is another agent's on another node",
    released.madeOn('n2').with(({ metadata }) => void Object.assign(metadata!, { finalizers: ours })),
    { kind: 'none' },
  ],
  ['is let go once', released.with(({ metadata }) => void Object.assign(metadata!, { finalizers: ['other'] })), { kind: 'none' }],
])('a volume %s', (_title, of, expected) => {
  expect(decideReclaim(of.build(), 'n1')).toEqual(expected);
});

let end = async () => {};
afterEach(() => end());

async function start(object: PersistentVolume) {
  const base = { clock: createFakeClock(), logger: createFakeLogger() };
  const client = createFakeResourceClient<PersistentVolume>({ kind: 'PersistentVolume', objects: [object] });
  const removed: string[] = [];
  const failures: Error[] = [];
  const told: string[] = [];
  const users = new Set<string>();
  const scopes: Scope[] = [];
  // The fake does not know what the server selects volumes by.
  const all = (scope: Scope = {}): Scope => {
    scopes.push(scope);
    return { ...scope, fieldSelector: undefined };
  };
  const reclaimer = createVolumeReclaimer({
    client: {
      list: (scope, call) => client.list(all(scope), call),
      watch: (scope, call) => client.watch(all(scope), call),
      patch: client.patch,
    },
    nodeName: 'n1',
    folders: {
      remove: async (path) => {
        const failure = failures.shift();
        if (failure) throw failure;
        removed.push(path);
      },
    },
    isInUse: (claim) => users.has(claim),
    events: { event: (_about, _type, reason, message) => void told.push(`${reason}: ${message}`) },
    ...base,
  });
  const stop = new AbortController();
  const running = reclaimer.run(stop.signal);
  end = async () => {
    stop.abort();
    await running;
  };
  const pass = async (seconds = 1) => {
    await settle();
    for (let i = 0; i < seconds; i++) await base.clock.advance(1_000);
    await settle();
  };
  const left = () => client.stored('v')?.metadata?.finalizers ?? [];
  return { client, scopes, removed, failures, told, users, pass, left };
}

describe('the reclaimer', () => {
  it('asks only for the volumes of its node', async () => {
    const { scopes } = await start(made.build());
    await settle();
    expect(new Set(scopes.map(({ fieldSelector }) => fieldSelector))).toEqual(new Set(['spec.local.nodeName=n1']));
  });

  it('lets a volume go after its folder, and only then', async () => {
    const { client, removed, failures, told, pass, left } = await start(made.build());
    failures.push(new Error('disk is gone'));
    client.put(released.build());
    await settle();
    await settle();
    expect(left()).toEqual(ours);
    expect(told).toEqual(['VolumeFailedDelete: cannot remove /data/v: disk is gone']);
    await pass(2);
    expect(removed).toEqual(['/data/v']);
    expect(left()).toEqual([]);
  });

  it('waits for a pod that runs on although the API has it no more', async () => {
    const { client, removed, users, pass, left } = await start(made.build());
    users.add('default/c');
    client.put(released.build());
    await pass(3);
    expect(removed).toEqual([]);
    users.clear();
    await pass(2);
    expect(removed).toEqual(['/data/v']);
    expect(left()).toEqual([]);
  });

  it('removes nothing of a volume that is to stay', async () => {
    const { removed, pass, left } = await start(released.reclaim('Retain').build());
    await pass();
    expect(left()).toEqual([]);
    expect(removed).toEqual([]);
  });
});
