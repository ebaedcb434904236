import type { BulkResult, BulkWrite, ObjectsClient } from '../../client/index.ts';

/**
 * Sends writes together and yields their results in the order of the writes, each as soon as those before it are there.
 */
export async function* writeAll<W extends BulkWrite>(
  objects: ObjectsClient,
  writes: readonly W[],
): AsyncGenerator<BulkResult<W>> {
  const waiting = new Map<number, BulkResult<W>>();
  let next = 0;
  for await (const result of objects.bulk(writes)) {
    waiting.set(result.index, result);
    for (let ready = waiting.get(next); ready; ready = waiting.get(next)) {
      waiting.delete(next++);
      yield ready;
    }
  }
}
