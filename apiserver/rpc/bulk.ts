import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import { badRequest } from '../../api/errors/index.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { ObjectWrites, ObjectWriteVerb } from '../verbs/object-writes.ts';
import type { PreparedWrite } from '../verbs/standard-writes.ts';
import type { ItemStreams, ItemWork } from './item-stream.ts';

/** The numbers of BulkItem's requests. */
const verbs: Readonly<Record<number, ObjectWriteVerb | undefined>> = {
  2: 'create',
  3: 'update',
  4: 'updateStatus',
  5: 'patch',
  6: 'delete',
};

/** Objects.Bulk: the writes of the generic service as items of a stream. */
export function bulkMethod(path: string, writes: ObjectWrites, streams: ItemStreams): handleBidiStreamingCall<Buffer, Buffer> {
  return streams.method(path, ({ field, request }, context) => {
    const verb = verbs[field];
    if (verb === undefined)
      throw badRequest(
        field === 0
          ? 'the item says nothing to do: set create, update, updateStatus, patch or delete'
          : `an item has no field ${field}`,
      );
    return itemOf(writes[verb](request, context));
  });
}

/**
 * The kinds that the admission of a new pod reads: pod items wait for earlier writes of these on the stream.
 */
const readByPods: readonly string[] = ['ServiceAccount', 'PriorityClass', 'RuntimeClass'];

/**
 * Items about one object wait for each other, those of a namespace's objects for the namespace, and pods for what they
 * may name.
 */
function itemOf(write: PreparedWrite): ItemWork {
  const { store, at } = write;
  const { kind } = store;
  const own = at.name ? store.key(at) : undefined;
  const waitsFor = kind.namespaced && at.namespace ? [`namespaces/${at.namespace}`] : [];
  if (isKind(kind, 'Pod')) waitsFor.push(...readByPods);
  return { own, waitsFor, partOf: readByPods.includes(kind.kind) ? kind.kind : undefined, run: () => write.run() };
}
