import { afterEach, describe, expect, it } from 'vitest';
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { localPathClass } from '../../api/kinds/storage-class/local-path.ts';
import { volumeIndexers } from '../../api/kinds/volume-matching.ts';
import { createInformer } from '../../client/index.ts';
import { claim, node, volume } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { claimIndexers } from '../volume-binding/controller.ts';
import { awaitedNodeIndexers, createLocalPath, openNodeIndexers } from './controller.ts';

let end = async () => {};
afterEach(() => end());

const withFolder = node('n1')
  .with(({ metadata }) => void Object.assign(metadata!, { annotations: { 'berth.io/local-path-folder': '/data' } }))
  .build();
const wanted = claim('c').storageClass('local-path');

interface Stored {
  readonly volumes?: PersistentVolume[];
  readonly claims?: PersistentVolumeClaim[];
  readonly nodes?: Node[];
}

async function start({ volumes: ofVolumes = [], claims: ofClaims = [], nodes: ofNodes = [] }: Stored) {
  const base = { clock: createFakeClock(), logger: createFakeLogger() };
  const persistentVolumes = createFakeResourceClient<PersistentVolume>({ kind: 'PersistentVolume', objects: ofVolumes });
  const persistentVolumeClaims = createFakeResourceClient<PersistentVolumeClaim>({
    kind: 'PersistentVolumeClaim',
    objects: ofClaims,
  });
  const nodesClient = createFakeResourceClient<Node>({ kind: 'Node', objects: ofNodes });
  const classesClient = createFakeResourceClient<StorageClass>({ kind: 'StorageClass', objects: [localPathClass] });
  const volumes = createInformer({
    client: persistentVolumes,
    name: 'v',
    indexers: { ...volumeIndexers, ...awaitedNodeIndexers },
    ...base,
  });
  const claims = createInformer({
    client: persistentVolumeClaims,
    name: 'c',
    indexers: { ...claimIndexers, ...openNodeIndexers },
    ...base,
  });
  const nodes = createInformer({ client: nodesClient, name: 'n', ...base });
  const classes = createInformer({ client: classesClient, name: 's', ...base });
  const told: string[] = [];
  const events = { event: (_about: object, _type: string, reason: string) => void told.push(reason) };
  const client = { persistentVolumes, persistentVolumeClaims, nodes: nodesClient };
  const controller = createLocalPath({ client, volumes, claims, nodes, classes, events, logger: base.logger });
  const stop = new AbortController();
  const running = [
    ...[volumes, claims, nodes, classes].map((informer) => informer.run(stop.signal)),
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
  return { persistentVolumes, persistentVolumeClaims, nodes: nodesClient, told, pass };
}

const selected = (claims: { stored(key: string): PersistentVolumeClaim | undefined }) =>
  claims.stored('default/c')?.metadata?.annotations?.['volume.kubernetes.io/selected-node'];

describe('the maker of local-path volumes', () => {
  it('makes one when the scheduler has chosen a node', async () => {
    const { persistentVolumes, persistentVolumeClaims, told, pass } = await start({
      claims: [wanted.build()],
      nodes: [withFolder],
    });
    expect(persistentVolumes.objects()).toEqual([]);
    persistentVolumeClaims.put(wanted.selected('n1').build());
    await pass(2);
    expect(persistentVolumes.stored('pvc-uid-c')?.spec?.persistentVolumeSource?.local?.path).toBe('/data/pvc-uid-c_default_c');
    expect(told).toEqual(['ProvisioningSucceeded']);
    await pass(5);
    expect(persistentVolumes.callLog('create')).toHaveLength(1);
  });

  it('sends a claim elsewhere whose node is gone, and says why', async () => {
    const { persistentVolumes, persistentVolumeClaims, told } = await start({ claims: [wanted.selected('n1').build()] });
    expect(selected(persistentVolumeClaims)).toBeUndefined();
    expect(told).toEqual(['ProvisioningFailed']);
    expect(persistentVolumes.objects()).toEqual([]);
  });

  it('leaves a deleted volume to the agent of its node, and lets it go when the node is gone', async () => {
    const leaving = volume('v').madeOn('n1').leaving().build();
    const { persistentVolumes, nodes, pass } = await start({ volumes: [leaving], nodes: [withFolder] });
    expect(persistentVolumes.stored('v')?.metadata?.finalizers).toContain('berth.io/local-path');
    nodes.remove('n1');
    await pass(2);
    expect(persistentVolumes.stored('v')?.metadata?.finalizers).toEqual(['kubernetes.io/pv-protection']);
  });

  it('keeps volumes of a node that is gone until they are deleted', async () => {
    const { persistentVolumes } = await start({ volumes: [volume('v').madeOn('n1').build()] });
    expect(persistentVolumes.stored('v')?.metadata?.finalizers).toContain('berth.io/local-path');
  });
});
