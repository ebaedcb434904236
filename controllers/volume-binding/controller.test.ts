import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors/index.ts';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { volumeIndexers } from '../../api/kinds/volume-matching.ts';
import { createInformer } from '../../client/index.ts';
import { claim, storageClass, volume } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { claimIndexers, createVolumeBinding } from './controller.ts';

let end = async () => {};
afterEach(() => end());

const volumesWith = (...objects: PersistentVolume[]) =>
  createFakeResourceClient<PersistentVolume>({ kind: 'PersistentVolume', objects });
const claimsWith = (...objects: PersistentVolumeClaim[]) =>
  createFakeResourceClient<PersistentVolumeClaim>({ kind: 'PersistentVolumeClaim', objects });

/** Runs the controller over what is stored. */
async function start(
  volumes: ReturnType<typeof volumesWith>,
  claims: ReturnType<typeof claimsWith>,
  classes = createFakeResourceClient<StorageClass>({ kind: 'StorageClass' }),
) {
  const base = { clock: createFakeClock(), logger: createFakeLogger() };
  const told: string[] = [];
  const ofVolumes = createInformer<PersistentVolume>({ client: volumes, name: 'v', indexers: volumeIndexers, ...base });
  const ofClaims = createInformer<PersistentVolumeClaim>({ client: claims, name: 'c', indexers: claimIndexers, ...base });
  const ofClasses = createInformer<StorageClass>({ client: classes, name: 's', ...base });
  const controller = createVolumeBinding({
    client: { persistentVolumes: volumes, persistentVolumeClaims: claims },
    volumes: ofVolumes,
    claims: ofClaims,
    classes: ofClasses,
    events: { event: (about, _type, reason) => void told.push(`${about.name} ${reason}`) },
    ...base,
  });
  const stop = new AbortController();
  const running = [
    ...[ofVolumes, ofClaims, ofClasses].map((informer) => informer.run(stop.signal)),
    runController(controller, base, stop.signal),
  ];
  end = async () => {
    stop.abort();
    await Promise.all(running);
  };
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) await base.clock.advance(1_000);
    await settle();
  };
  await pass(3);
  return { pass, told };
}

/** Who has whom, read from both sides. */
function bindings(volumes: ReturnType<typeof volumesWith>, claims: ReturnType<typeof claimsWith>): string[] {
  const ofVolume = (made: PersistentVolume) => `${made.metadata?.name} ${made.status?.phase} ${made.spec?.claimRef?.name ?? '-'}`;
  const ofClaim = (made: PersistentVolumeClaim) => `${made.metadata?.name} ${made.status?.phase} ${made.spec?.volumeName ?? '-'}`;
  return [...volumes.objects().map(ofVolume), ...claims.objects().map(ofClaim)].toSorted();
}

describe('the binding of claims to volumes', () => {
  it('writes both sides, and what the claim got', async () => {
    const [volumes, claims] = [volumesWith(volume('v').phase('Pending').build()), claimsWith(claim('c').build())];
    await start(volumes, claims);
    expect(bindings(volumes, claims)).toEqual(['c Bound v', 'v Bound c']);
    expect(volumes.stored('v')?.spec?.claimRef).toMatchObject({ namespace: 'default', name: 'c', uid: 'uid-c' });
    expect(claims.stored('default/c')?.status).toMatchObject({
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: { string: '1Gi' } },
    });
  });

  it('gives each of many claims a volume of its own', async () => {
    const names = Array.from({ length: 20 }, (_, i) => String(i).padStart(2, '0'));
    const volumes = volumesWith(...names.map((i) => volume(`v${i}`).build()));
    const claims = claimsWith(...names.map((i) => claim(`c${i}`).build()));
    await start(volumes, claims);
    const given = claims.objects().map(({ spec }) => spec?.volumeName);
    expect(given.toSorted()).toEqual(names.map((i) => `v${i}`));
    for (const { metadata, spec } of volumes.objects())
      expect(claims.stored(`default/${spec?.claimRef?.name}`)?.spec?.volumeName).toBe(metadata?.name);
  });

  it('tells a claim that waits why, once, and gives it the volume that comes', async () => {
    const [volumes, claims] = [volumesWith(), claimsWith(claim('c').build())];
    const { pass, told } = await start(volumes, claims);
    volumes.put(volume('small').size('1Mi').build());
    await pass(2);
    expect(bindings(volumes, claims)).toEqual(['c Pending -', 'small Available -']);
    expect(told).toEqual(['c FailedBinding']);
    volumes.put(volume('v').build());
    await pass(2);
    expect(bindings(volumes, claims)).toContain('c Bound v');
  });

  it.each([1, 2, 3, 4])('goes on after it was stopped before write %i of a binding', async (writes) => {
    const [volumes, claims] = [volumesWith(volume('v').build(), volume('w').build()), claimsWith(claim('c').build())];
    const stopped = new ApiError('UNAVAILABLE', 'Unavailable', 'gone');
    let left = writes - 1;
    for (const client of [volumes, claims]) {
      const { patch } = client;
      client.patch = (async (...args: Parameters<typeof patch>) => {
        if (left-- <= 0) throw stopped;
        return patch(...args);
      }) as never;
    }
    await start(volumes, claims);
    await end();
    expect(bindings(volumes, claims)).not.toEqual(['c Bound v', 'v Bound c', 'w Available -']);
    left = Number.POSITIVE_INFINITY;
    await start(volumes, claims);
    expect(bindings(volumes, claims)).toEqual(['c Bound v', 'v Bound c', 'w Available -']);
  });

  it('releases a volume whose claim is deleted, and frees it when a person takes the claimRef away', async () => {
    const [volumes, claims] = [volumesWith(volume('v').build()), claimsWith(claim('c').build())];
    const { pass } = await start(volumes, claims);
    claims.remove('default/c');
    await pass(2);
    expect(bindings(volumes, claims)).toEqual(['v Released c']);
    const { metadata, ...again } = claim('c').build();
    claims.put({ ...again, metadata: { ...metadata, uid: 'uid-again' } });
    await pass(2);
    expect(bindings(volumes, claims)).toEqual(['c Pending -', 'v Released c']);
    claims.remove('default/c');
    claims.put(claim('d').build());
    const { claimRef: _, ...spec } = volumes.stored('v')!.spec!;
    volumes.put({ ...volumes.stored('v')!, spec });
    await pass(2);
    expect(bindings(volumes, claims)).toEqual(['d Bound v', 'v Bound d']);
  });

  it('says that a claim has lost its volume, and takes it back when it comes again', async () => {
    const [volumes, claims] = [volumesWith(volume('v').build()), claimsWith(claim('c').build())];
    const { pass, told } = await start(volumes, claims);
    volumes.remove('v');
    await pass(2);
    expect(bindings(volumes, claims)).toEqual(['c Lost v']);
    expect(told).toContain('c ClaimLost');
    volumes.put(volume('v').keptFor('default/c', 'uid-c').build());
    await pass(2);
    expect(bindings(volumes, claims)).toEqual(['c Bound v', 'v Bound c']);
  });

  it('gives claims without a class the default one when it comes, and asks its provisioner', async () => {
    const classes = createFakeResourceClient<StorageClass>({ kind: 'StorageClass' });
    const [volumes, claims] = [volumesWith(), claimsWith(claim('c').build(), claim('d').storageClass('').build())];
    const { pass, told } = await start(volumes, claims, classes);
    classes.put(storageClass('usual').provisioner('example.com/disks').byDefault().build());
    await pass(3);
    expect(claims.stored('default/c')).toMatchObject({
      metadata: { annotations: { 'volume.kubernetes.io/storage-provisioner': 'example.com/disks' } },
      spec: { storageClassName: 'usual' },
    });
    expect(claims.stored('default/d')?.spec?.storageClassName).toBe('');
    expect(told).toContain('c ExternalProvisioning');
    volumes.put(volume('v').storageClass('usual').keptFor('default/c', 'uid-c').build());
    await pass(2);
    expect(bindings(volumes, claims)).toContain('c Bound v');
  });

  it('deletes a volume that was made for a claim after the claim', async () => {
    const made = volume('v').madeOn('n1').keptFor('default/c', 'uid-c').reclaim('Delete').phase('Bound');
    const [volumes, claims] = [volumesWith(made.build()), claimsWith(claim('c').on('v').bound().build())];
    const { pass } = await start(volumes, claims);
    expect(volumes.callLog('delete')).toEqual([]);
    claims.remove('default/c');
    await pass(2);
    expect(volumes.callLog('delete')).toEqual(['delete v']);
  });

  it('writes nothing when all is as it should be', async () => {
    const [volumes, claims] = [volumesWith(volume('v').build()), claimsWith(claim('c').build())];
    await start(volumes, claims);
    await end();
    const writes = () => [...volumes.callLog('patch'), ...claims.callLog('patch')].length;
    const before = writes();
    await start(volumes, claims);
    expect(before).toBeGreaterThan(0);
    expect(writes()).toBe(before);
  });
});
