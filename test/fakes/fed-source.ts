import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey } from '../../api/meta/key.ts';
import { createIndexer, type IndexFunction } from '../../client/informer/indexer.ts';
import type { InformerHandler } from '../../client/informer/informer.ts';

/** An informer that the test feeds. */
export function createFedSource<T extends ApiObject>(indexes: Record<string, IndexFunction<T>> = {}) {
  const lister = createIndexer<T>(indexes);
  const handlers = new Set<InformerHandler<T>>();
  return {
    lister,
    addHandler(handler: InformerHandler<T>) {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
    set(object: T) {
      const old = lister.set(object);
      for (const each of handlers) if (old) each.onUpdate?.(object, old);
      if (!old) for (const each of handlers) each.onAdd?.(object);
    },
    delete(object: T) {
      const old = lister.delete(objectKey(object));
      for (const each of handlers) if (old) each.onDelete?.(old);
    },
  };
}
