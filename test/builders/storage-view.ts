import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { volumeIndexers } from '../../api/kinds/volume-matching.ts';
import { createIndexer, type Indexer, type IndexFunction } from '../../client/informer/indexer.ts';
import type { Storage } from '../../scheduler/plugins/volume-binding.ts';
import { createVolumePromises } from '../../scheduler/storage/promises.ts';

export interface Stored {
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly classes?: readonly StorageClass[];
  readonly keep?: Storage['writer']['keep'];
}

/**
 * What the plugin of volumes works with: these objects, and promises of its own;
 * what it wants written is written at once.
 */
export function storageOf({ claims = [], volumes = [], classes = [], keep = async () => undefined }: Stored) {
  return {
    claims: indexed(claims),
    volumes: indexed(volumes, volumeIndexers),
    classes: indexed(classes),
    promises: createVolumePromises(),
    writer: { keep },
  };
}

function indexed<T extends ApiObject>(
  objects: readonly T[],
  functions: Readonly<Record<string, IndexFunction<T>>> = {},
): Indexer<T> {
  const indexer = createIndexer<T>(functions);
  for (const object of objects) indexer.set(object);
  return indexer;
}
