import { volumeIndexers } from '../api/kinds/volume-matching.ts';
import { withoutManagers } from '../api/meta/without-managers.ts';
import { type Client, type Clock, createInformer, type Informer, type Logger } from '../client/index.ts';
import type { Observer } from './observer.ts';
import type { Storage } from './plugins/volume-binding.ts';
import { createPodOutline } from './pod-outline.ts';
import { createVolumePromises } from './storage/promises.ts';
import { createVolumeWriter } from './storage/volume-writer.ts';

export interface InformersOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the scheduler follows: all but managed fields, and less of pods, of which there are most. Nothing runs yet. */
export function createInformers({ client, clock, logger }: InformersOptions) {
  const named = (plural: string) => ({ name: `scheduler ${plural}`, transform: withoutManagers, clock, logger });
  return {
    nodes: createInformer({ client: client.nodes, ...named('nodes') }),
    namespaces: createInformer({ client: client.namespaces, ...named('namespaces') }),
    pods: createInformer({ client: client.pods, ...named('pods'), transform: createPodOutline() }),
    claims: createInformer({ client: client.persistentVolumeClaims, ...named('claims') }),
    volumes: createInformer({ client: client.persistentVolumes, indexers: volumeIndexers, ...named('volumes') }),
    classes: createInformer({ client: client.storageClasses, ...named('storage classes') }),
    budgets: createInformer({ client: client.podDisruptionBudgets, ...named('budgets') }),
  };
}

export type Informers = ReturnType<typeof createInformers>;

/** Tells the observer of everything. */
export function observe({ nodes, namespaces, pods, claims, volumes, classes }: Informers, observer: Observer): void {
  nodes.addHandler(observer.nodes);
  namespaces.addHandler(observer.namespaces);
  pods.addHandler(observer.pods);
  claims.addHandler(observer.claims);
  volumes.addHandler(observer.volumes);
  classes.addHandler(observer.classes);
}

/** Resolves when all of them know all there is, or on abort. */
export async function waitForAll(informers: Informers, signal: AbortSignal): Promise<void> {
  const all: readonly Pick<Informer<never>, 'waitForSync'>[] = Object.values(informers);
  for (const informer of all) await informer.waitForSync(signal);
}

/**
 * What the plugin of volumes works with, all of this scheduler's profiles together.
 * Hears of changes before the observer does.
 */
export function createStorage(informers: Informers, { client, clock }: Pick<InformersOptions, 'client' | 'clock'>): Storage {
  const { claims, volumes, classes, nodes } = informers;
  const listers = { claims: claims.lister, volumes: volumes.lister, nodes: nodes.lister };
  const writer = createVolumeWriter({ client, clock, ...listers });
  claims.addHandler(writer.watching.claims);
  volumes.addHandler(writer.watching.volumes);
  return { ...listers, classes: classes.lister, promises: createVolumePromises(), writer };
}
