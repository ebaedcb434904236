import { describe, expect, it } from 'vitest';
import { isConflict } from '../../api/errors/index.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import { claim, node, volume } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import type { Promised } from './promises.ts';
import { createVolumeWriter, volumeWaitMs } from './volume-writer.ts';

/** A writer that sees what is stored only when it is told. */
function setUp(first: PersistentVolumeClaim, free: readonly PersistentVolume[] = []) {
  const persistentVolumeClaims = createFakeResourceClient<PersistentVolumeClaim>({
    kind: 'PersistentVolumeClaim',
    objects: [first],
  });
  const persistentVolumes = createFakeResourceClient<PersistentVolume>({ kind: 'PersistentVolume', objects: free });
  const [claims, volumes, nodes] = [createIndexer<PersistentVolumeClaim>(), createIndexer<PersistentVolume>(), createIndexer()];
  nodes.set(node('n1').build());
  const clock = createFakeClock();
  const writer = createVolumeWriter({ client: { persistentVolumeClaims, persistentVolumes }, claims, volumes, nodes, clock });
  /** What the informers do. */
  const see = () => {
    for (const each of persistentVolumes.objects()) {
      volumes.set(each);
      writer.watching.volumes.onUpdate?.(each, each);
    }
    for (const each of persistentVolumeClaims.objects()) {
      claims.set(each);
      writer.watching.claims.onUpdate?.(each, each);
    }
  };
  see();
  const stop = new AbortController();
  const keep = (promised: Omit<Promised, 'claim' | 'claimUid'>) => {
    const outcome: { done?: string; error?: unknown } = {};
    writer.keep([{ claim: 'default/c', claimUid: 'uid-c', ...promised }], stop.signal).then(
      (rejection) => void Object.assign(outcome, { done: rejection?.reason ?? 'kept' }),
      (error) => void Object.assign(outcome, { error }),
    );
    return outcome;
  };
  return { persistentVolumeClaims, persistentVolumes, clock, see, keep, stop };
}

const c = claim('c');
const selectedNode = 'volume.kubernetes.io/selected-node';

describe('the writer of promises', () => {
  it('gives the claim its volume, and waits until a controller has bound the two', async () => {
    const { persistentVolumeClaims, persistentVolumes, see, keep } = setUp(c.build(), [volume('v').build()]);
    const outcome = keep({ nodeName: 'n1', volume: 'v' });
    await settle();
    expect(persistentVolumes.stored('v')?.spec?.claimRef).toMatchObject({ namespace: 'default', name: 'c', uid: 'uid-c' });
    see();
    await settle();
    expect(outcome.done).toBeUndefined();
    persistentVolumeClaims.put(c.on('v').bound().build());
    see();
    await settle();
    expect(outcome.done).toBe('kept');
  });

  it('says where a volume is to be made, once, and waits for it', async () => {
    const { persistentVolumeClaims, persistentVolumes, see, keep } = setUp(c.build());
    const [one, other] = [keep({ nodeName: 'n1' }), keep({ nodeName: 'n1' })];
    await settle();
    expect(persistentVolumeClaims.stored('default/c')?.metadata?.annotations?.[selectedNode]).toBe('n1');
    see();
    persistentVolumes.put(volume('made').madeOn('n1').keptFor('default/c', 'uid-c').build());
    persistentVolumeClaims.put(c.on('made').bound().build());
    see();
    await settle();
    expect([one.done ?? 'lost', other.error ? 'lost' : other.done]).toContain('kept');
  });

  it('writes nothing that is there already', async () => {
    const kept = volume('v').keptFor('default/c', 'uid-c').build();
    const { persistentVolumeClaims, persistentVolumes, keep } = setUp(c.on('v').bound().build(), [kept]);
    const outcome = keep({ nodeName: 'n1', volume: 'v' });
    await settle();
    expect(outcome.done).toBe('kept');
    expect([...persistentVolumes.callLog('patch'), ...persistentVolumeClaims.callLog('patch')]).toEqual([]);
  });

  it('gives up after a while, and says for what it waited', async () => {
    const { clock, keep } = setUp(c.build());
    const outcome = keep({ nodeName: 'n1' });
    await settle();
    await clock.advance(volumeWaitMs);
    await settle();
    expect(outcome.done).toContain('claim "c" was waited for 10 s: its volume has not been created yet');
  });

  it.each<[string, (scene: ReturnType<typeof setUp>) => void, string]>([
    ['its claim is gone', ({ persistentVolumeClaims }) => persistentVolumeClaims.put(c.uid('uid-later').build()), 'not found'],
    ['its claim is deleted', ({ persistentVolumeClaims }) => persistentVolumeClaims.put(c.leaving().build()), 'is being deleted'],
    ['the node is given up', ({ persistentVolumeClaims }) => persistentVolumeClaims.put(c.build()), 'cannot be made on the node'],
    [
      'the volume is not reached from the node',
      ({ persistentVolumeClaims, persistentVolumes }) => {
        persistentVolumes.put(volume('far').madeOn('n2').build());
        persistentVolumeClaims.put(c.on('far').bound().build());
      },
      'volume node affinity conflict',
    ],
  ])('gives up when %s', async (_title, happen, reason) => {
    const scene = setUp(c.build());
    const outcome = scene.keep({ nodeName: 'n1' });
    await settle();
    scene.see();
    happen(scene);
    scene.see();
    await settle();
    expect(outcome.done).toContain(reason);
  });

  it('throws the conflict when another claim has taken the volume, and ends when it is told to', async () => {
    const taken = setUp(c.build(), [volume('v').build()]);
    taken.persistentVolumes.put(volume('v').keptFor('default/d', 'uid-d').build());
    const lost = taken.keep({ nodeName: 'n1', volume: 'v' });
    const stopped = setUp(c.build());
    const ended = stopped.keep({ nodeName: 'n1' });
    await settle();
    stopped.stop.abort();
    await settle();
    expect(isConflict(lost.error)).toBe(true);
    expect(ended.done).toContain('was waited for');
  });
});
