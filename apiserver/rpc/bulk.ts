import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import { badRequest } from '../../api/errors/index.ts';
import type { Admission } from '../admission/admission.ts';
import type { ObjectWrites, ObjectWriteVerb } from '../verbs/object-writes.ts';
import type { PreparedWrite } from '../verbs/standard-writes.ts';
import type { ItemStreams } from './item-stream.ts';

/** The numbers of BulkItem's requests. */
const verbs: Readonly<Record<number, ObjectWriteVerb | undefined>> = {
  2: 'create',
  3: 'update',
  4: 'updateStatus',
  5: 'patch',
  6: 'delete',
};

/** Objects.Bulk: the writes of the generic service as items of a stream. */
export function bulkMethod(
  path: string,
  writes: ObjectWrites,
  { reads = {} }: Pick<Admission, 'reads'>,
  streams: ItemStreams,
): handleBidiStreamingCall<Buffer, Buffer> {
  const awaited: ReadonlySet<string> = new Set(Object.values(reads).flat());
  return streams.method(path, ({ field, request }, context) => {
    const verb = verbs[field];
    if (verb === undefined)
      throw badRequest(
        field === 0
          ? 'the item says nothing to do: set create, update, updateStatus, patch or delete'
          : `an item has no field ${field}`,
      );
    const write = writes[verb](request, context);
    const { store, at } = write;
    return {
      own: at.name ? store.key(at) : undefined,
      waitsFor: waitsFor(write, reads),
      partOf: awaited.has(store.id) ? store.id : undefined,
      run: () => write.run(),
    };
  });
}

/**
 * What must end before a write begins, besides earlier writes of the same object: those of its namespace, and of all
 * objects of the kinds that its admission reads.
 */
function waitsFor({ store: { id, kind }, at }: PreparedWrite, reads: Readonly<Record<string, readonly string[]>>): string[] {
  const namespace = kind.namespaced && at.namespace ? [`namespaces/${at.namespace}`] : [];
  return [...namespace, ...(Object.hasOwn(reads, id) ? reads[id]! : [])];
}
