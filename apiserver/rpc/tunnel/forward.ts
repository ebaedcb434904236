import type { ServerWritableStream } from '@grpc/grpc-js';
import { decodeMessage } from '../../../api/codec/message.ts';
import { field } from '../../../api/codec/wire-format.ts';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import { unavailable } from '../../../api/errors/index.ts';
import type { Status } from '../../../api/generated/types.ts';
import { fromStatus } from '../status.ts';
import { abortable, type Duplex, send } from './duplex.ts';
import type { ServedStream } from './tunnels.ts';

/** The fields of ServeRequest that end a stream, with an error or well. */
const ERROR_FIELD = 4;
const END_FIELD = 9;

/** In every frame that a client sends input with, the bytes are this field, and there is no other. */
const BYTES_FIELD = 2;
/**
 * The gRPC library holds 16 messages for an agent that does not read, however large they are: this large are those with
 * input at most.
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
 * until the agent's stream ends. Throws the agent's error, and UNAVAILABLE when the connection to the agent is lost or
 * this server stops.
 */
export async function forwardOutput(
  stream: ServedStream,
  wanted: number,
  call: Duplex | ServerWritableStream<Buffer, Buffer>,
  signal: AbortSignal,
): Promise<void> {
  // Tells a connected client that the server is stopping.
  const leaving = () => unavailable('the API server is stopping: try again');
  for (;;) {
    const frame = await abortable(stream.frames.next(), signal, leaving);
    if (frame.done) throw unavailable('the connection to the node was lost: try again');
    const reader = new WireReader(frame.value);
    while (reader.next()) {
      if (reader.number === ERROR_FIELD) throw fromStatus(decodeMessage<Status>('google.rpc.Status', reader.value()));
      if (reader.number === END_FIELD) return;
      if (reader.number === wanted) await send(call, asBuffer(reader.value()), signal, leaving);
    }
  }
}

/** The same bytes, not copied. */
function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
