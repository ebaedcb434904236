import { afterEach, describe, expect, it } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { claim, pod, volume } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { podOutline } from '../outline.ts';
import { claimUserIndexers, createVolumeProtection } from './controller.ts';

let end = async () => {};
afterEach(() => end());

const using = (name: string, claimName: string) =>
  pod(name).with(({ spec }) => {
    spec!.volumes = [{ name: 'data', volumeSource: { persistentVolumeClaim: { claimName } } }];
  });

async function start(objects: { volumes?: PersistentVolume[]; claims?: PersistentVolumeClaim[]; pods?: Pod[] }) {
  const base = { clock: createFakeClock(), logger: createFakeLogger() };
  const volumes = createFakeResourceClient<PersistentVolume>({ kind: 'PersistentVolume', objects: objects.volumes ?? [] });
  const claims = createFakeResourceClient<PersistentVolumeClaim>({
    kind: 'PersistentVolumeClaim',
    objects: objects.claims ?? [],
  });
  const pods = createFakePodClient({ objects: objects.pods ?? [] });
  const ofVolumes = createInformer<PersistentVolume>({ client: volumes, name: 'v', ...base });
  const ofClaims = createInformer<PersistentVolumeClaim>({ client: claims, name: 'c', ...base });
  const ofPods = createInformer<Pod>({ client: pods, name: 'p', transform: podOutline, indexers: claimUserIndexers, ...base });
  const client = { persistentVolumes: volumes, persistentVolumeClaims: claims, pods: pods as never };
  const controller = createVolumeProtection({ client, volumes: ofVolumes, claims: ofClaims, pods: ofPods, logger: base.logger });
  const stop = new AbortController();
  const running = [ofVolumes, ofClaims, ofPods].map((each) => each.run(stop.signal));
  running.push(runController(controller, base, stop.signal));
  end = async () => {
    stop.abort();
    await Promise.all(running);
  };
  const pass = () => base.clock.advance(1_000);
  await pass();
  const ofClaim = () => claims.stored('default/c')?.metadata?.finalizers ?? [];
  const ofVolume = () => volumes.stored('v')?.metadata?.finalizers ?? [];
  return { pods, volumes, pass, ofClaim, ofVolume };
}

const pvc = 'kubernetes.io/pvc-protection';
const pv = 'kubernetes.io/pv-protection';

describe('the protection of what is in use', () => {
  it('is put on every claim and every volume, beside what is there', async () => {
    const own = volume('v').with(({ metadata }) => void metadata?.finalizers?.splice(0, 1, 'example.com/mine'));
    const { ofClaim, ofVolume } = await start({ volumes: [own.build()], claims: [claim('c').unprotected().build()] });
    expect(ofClaim()).toEqual([pvc]);
    expect(ofVolume()).toEqual(['example.com/mine', pv]);
  });

  it('keeps a claim while a pod on a node uses it, ended or not, and lets it go with the pod', async () => {
    const { pods, pass, ofClaim } = await start({
      claims: [claim('c').leaving().build()],
      pods: [using('p', 'c').on('n').phase('Succeeded').build()],
    });
    expect(ofClaim()).toEqual([pvc]);
    pods.remove('default/p');
    await pass();
    expect(ofClaim()).toEqual([]);
  });

  it.each([
    ['that has no node yet', using('p', 'c')],
    ['of another claim', using('p', 'other').on('n')],
    ['of another namespace', using('p', 'c').on('n').namespace('other')],
  ])('does not keep it for a pod %s', async (_which, user) => {
    const { ofClaim } = await start({ claims: [claim('c').leaving().build()], pods: [user.build()] });
    expect(ofClaim()).toEqual([]);
  });

  it.each([
    ['is kept while it is bound', volume('v').phase('Bound').keptFor('default/c', 'u'), [pv]],
    ['is kept while it is being bound', volume('v').keptFor('default/c', 'u'), [pv]],
    ['goes when it is free', volume('v'), []],
    ['goes when it is kept for a claim that never came', volume('v').keptFor('default/c'), []],
    ['goes when its claim is gone', volume('v').phase('Released').keptFor('default/c', 'u'), []],
    ['goes when it has failed', volume('v').phase('Failed').keptFor('default/c', 'u'), []],
  ])('a volume %s', async (_title, made, expected) => {
    const { ofVolume } = await start({ volumes: [made.leaving().build()] });
    expect(ofVolume()).toEqual(expected);
  });
});
