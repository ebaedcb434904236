import { decodeMessage } from '../../api/codec/message.ts';
import { field } from '../../api/codec/wire-format.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { ApiError, unavailable } from '../../api/errors/index.ts';
import type { Status } from '../../api/generated/types.ts';
import { abortable } from './abortable.ts';
import { fromStatus } from './node-error.ts';
import type { ServedStream } from './tunnels.ts';

/** The client's side of a stream, over any transport. */
export interface StreamPeer {
  /** What the client sends behind the start: frames of the method's request, encoded. */
  readonly input?: AsyncIterableIterator<Buffer>;
  /**
   * Sends a frame of the method's response, encoded; resolves when there is room for the next. Rejects with `stopping`
   * when the call's signal aborts before.
   */
  send(frame: Buffer): Promise<void>;
}

/** What a client that is still connected learns when its call is aborted. */
export const stopping = (): ApiError => unavailable('the API server is stopping: try again');

/** Why a call ended before its stream did: its client has gone, or this server stops. */
export const endOf = ({ reason }: AbortSignal): ApiError => (reason instanceof ApiError ? reason : stopping());

/** The fields of ServeRequest that end a stream, with an error or well. */
const ERROR_FIELD = 4;
const END_FIELD = 9;

/** The only field of a frame with input of the client: its bytes. */
const BYTES_FIELD = 2;
/**
 * The largest frame with input. The gRPC library buffers 16 messages of any size for an agent that does not read, so
 * this bounds the buffer.
 */
const MAX_INPUT_BYTES = 32 * 1024;

/**
 * Carries what the client sends to the agent, still encoded, as the given field of ServeResponse; large pieces of input
 * in several frames.
 */
export async function forwardInput(input: AsyncIterableIterator<Buffer>, stream: ServedStream, wrapper: number): Promise<void> {
  for await (const frame of input) for (const piece of piecesOf(frame)) await stream.send(field(wrapper, piece));
}

function* piecesOf(frame: Buffer): Generator<Uint8Array> {
  const reader = new WireReader(frame);
  const divisible = frame.length > MAX_INPUT_BYTES && reader.next() && reader.number === BYTES_FIELD;
  if (!divisible) {
    yield frame;
    return;
  }
  const bytes = reader.value();
  for (let at = 0; at < bytes.length; at += MAX_INPUT_BYTES)
    yield field(BYTES_FIELD, Buffer.from(bytes.subarray(at, at + MAX_INPUT_BYTES)));
}

/**
 * Carries one field of the agent's frames (ServeRequest) to the client, still encoded and no faster than it reads,
 * until the agent's stream ends. Throws the agent's error, UNAVAILABLE when the connection to the agent is lost or this
 * server stops, and CANCELLED when the client has gone.
 */
export async function forwardOutput(
  stream: ServedStream,
  wanted: number,
  peer: Pick<StreamPeer, 'send'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const frame = await abortable(stream.frames.next(), signal, () => endOf(signal));
    if (frame.done) throw unavailable('the connection to the node was lost: try again');
    const reader = new WireReader(frame.value);
    while (reader.next()) {
      if (reader.number === ERROR_FIELD) throw errorIn(reader);
      if (reader.number === END_FIELD) return;
      if (reader.number === wanted) await peer.send(asBuffer(reader.value()));
    }
  }
}

const errorIn = (reader: WireReader): ApiError => fromStatus(decodeMessage<Status>('google.rpc.Status', reader.value()));

/**
 * The stream as it is, once its first frame has come, or after so long. Throws the agent's error where that is the
 * first frame.
 */
export async function awaitFirstFrame(stream: ServedStream, ms: number, signal: AbortSignal): Promise<ServedStream> {
  const first = stream.frames.next();
  first.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    const frame = await abortable(Promise.race([first, late]), signal, () => endOf(signal));
    const reader = new WireReader(frame && !frame.done ? frame.value : Buffer.alloc(0));
    while (reader.next()) if (reader.number === ERROR_FIELD) throw errorIn(reader);
  } finally {
    clearTimeout(timer);
  }
  return { ...stream, frames: withFirst(first, stream.frames) };
}

async function* withFirst(
  first: Promise<IteratorResult<Buffer>>,
  rest: AsyncIterableIterator<Buffer>,
): AsyncIterableIterator<Buffer> {
  const { done, value } = await first;
  if (done) return;
  yield value;
  yield* rest;
}

/** The same bytes, not copied. */
function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
