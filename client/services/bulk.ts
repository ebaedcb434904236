import { encodeMessage } from '../../api/codec/message.ts';
import { type ApiError, asApiError, badRequest, internal } from '../../api/errors/index.ts';
import type {
  BulkResult as BulkResultMessage,
  DeleteOptions,
  ObjectDeleteRequest,
  ObjectPatchRequest,
  ObjectResponse,
  ObjectWriteRequest,
  WriteOptions,
} from '../../api/generated/types.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { longestTimerMs } from '../../api/meta/timeout.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { ItemStream, itemTimeoutMs } from '../connection/item-stream.ts';
import type { CallOptions, ObjectKey, ObjectWriteOptions, PatchTarget } from './resource-client.ts';

/** One write of many, with objects in their JSON form. */
export type BulkWrite =
  | {
      readonly verb: 'create' | 'update' | 'updateStatus';
      readonly kind: string;
      readonly object: JsonObject;
      readonly options?: ObjectWriteOptions | undefined;
    }
  | {
      readonly verb: 'patch';
      readonly kind: string;
      readonly target: PatchTarget;
      /** As ObjectsClient.patch takes it. */
      readonly patch: object;
      readonly options?: WriteOptions | undefined;
    }
  | {
      readonly verb: 'delete';
      readonly kind: string;
      readonly key: ObjectKey;
      readonly options?: DeleteOptions | undefined;
    };

/** What became of one write. */
export type BulkResult<W extends BulkWrite = BulkWrite> = {
  readonly write: W;
  /** Which of the writes it was, from 0. */
  readonly index: number;
  /** What the server says of an accepted object, a sentence each. They do not go to `onWarning`. */
  readonly warnings: readonly string[];
} & (
  | { readonly object: JsonObject; readonly error?: undefined }
  /** UNAVAILABLE and DEADLINE_EXCEEDED: whether it was carried out is unknown. */
  | { readonly object?: undefined; readonly error: ApiError }
);

export type BulkVerb = BulkWrite['verb'];
export type BulkRequest = ObjectWriteRequest | ObjectPatchRequest | ObjectDeleteRequest;
/** The answer to an item that was carried out. */
export type BulkAnswer = Pick<BulkResultMessage, 'response' | 'warnings'>;

const service = 'berth.meta.v1.Objects';
const bulkMethod: Method = {
  path: `/${service}/Bulk`,
  request: 'berth.meta.v1.BulkRequest',
  response: 'berth.meta.v1.BulkResponse',
};

const unaryMethod = (name: string, request: string): Method => ({
  path: `/${service}/${name}`,
  request: `berth.meta.v1.${request}`,
  response: 'berth.meta.v1.ObjectResponse',
});

const unaryMethods: Readonly<Record<BulkVerb, Method>> = {
  create: unaryMethod('Create', 'ObjectWriteRequest'),
  update: unaryMethod('Update', 'ObjectWriteRequest'),
  updateStatus: unaryMethod('UpdateStatus', 'ObjectWriteRequest'),
  patch: unaryMethod('Patch', 'ObjectPatchRequest'),
  delete: unaryMethod('Delete', 'ObjectDeleteRequest'),
};

/** A stream of writes: each is the request of the call of its name. */
export interface BulkStream {
  send(verb: BulkVerb, request: BulkRequest, call?: CallOptions): Promise<BulkAnswer>;
  close(): Promise<void>;
}

export function openBulk(connection: Connection, call: CallOptions = {}): BulkStream {
  const { signal, timeoutMs } = call;
  const stream = new ItemStream<BulkResultMessage>({
    method: bulkMethod,
    open: () => connection.duplex(bulkMethod, { signal }),
    signal,
    timeoutMs: connection.timeLimit(timeoutMs, itemTimeoutMs) ?? longestTimerMs,
  });
  return {
    send: (verb, request, each) =>
      stream.send(
        {
          encode: (id) => encodeItem({ id, [verb]: request }),
          unary: async (own) => ({ response: await connection.unary<ObjectResponse>(unaryMethods[verb], request, own) }),
        },
        each,
      ),
    close: () => stream.close(),
  };
}

function encodeItem(item: object): Buffer {
  try {
    return encodeMessage('berth.meta.v1.BulkItem', item);
  } catch (cause) {
    throw badRequest(`write an item: it is no BulkItem: ${(cause as Error).message}`);
  }
}

/** Between writes as users give them and the requests that carry them. */
export interface BulkCodec {
  request(write: BulkWrite): BulkRequest;
  read(response: ObjectResponse): JsonObject;
}

/** So many writes are taken before their results come. */
const maxUnderWay = 1_000;

/** Sends writes as they are asked for and yields their results as they come, at most `maxUnderWay` behind. */
export async function* runBulk<W extends BulkWrite>(
  stream: BulkStream,
  writes: Iterable<W> | AsyncIterable<W>,
  codec: BulkCodec,
): AsyncGenerator<BulkResult<W>> {
  const results: BulkResult<W>[] = [];
  let underWay = 0;
  let failure: { readonly error: unknown } | undefined;
  let finished = false;
  let wakeReader = (): void => {};
  let wakeSender = (): void => {};
  let left = false;

  async function sendOne(write: W, index: number): Promise<void> {
    try {
      const { response, warnings = [] } = await stream.send(write.verb, codec.request(write));
      results.push({ write, index, warnings, object: codec.read(response ?? {}) });
    } catch (error) {
      const known = asApiError(error) ?? internal('read the answer of a write', error);
      results.push({ write, index, warnings: [], error: known });
    }
    wakeReader();
  }

  async function sendAll(): Promise<void> {
    let index = 0;
    for await (const write of writes) {
      while (underWay >= maxUnderWay && !left) {
        await new Promise<void>((resolve) => {
          wakeSender = resolve;
        });
      }
      if (left) return;
      underWay++;
      void sendOne(write, index++);
    }
  }

  const sending = sendAll()
    .catch((error: unknown) => {
      failure = { error };
    })
    .finally(() => {
      finished = true;
      wakeReader();
    });
  try {
    for (;;) {
      while (results.length > 0) {
        const result = results.shift()!;
        underWay--;
        wakeSender();
        yield result;
      }
      if (finished && underWay === 0) break;
      await new Promise<void>((resolve) => {
        wakeReader = resolve;
      });
    }
    await sending;
    await stream.close();
  } finally {
    left = true;
    wakeSender();
    // Left early: what was sent is carried out, and the stream ends when that is known.
    if (!finished || underWay > 0) void stream.close();
  }
  if (failure) throw failure.error;
}
