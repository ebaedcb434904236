import type { ServerWritableStream } from '@grpc/grpc-js';
import { decodeMessage } from '../../../api/codec/message.ts';
import { unavailable } from '../../../api/errors/index.ts';
import type { Status } from '../../../api/generated/types.ts';
import { field, WireReader } from '../../watch/wire.ts';
import { fromStatus } from '../status.ts';
import { abortable, type Duplex, send } from './duplex.ts';
import type { ServedStream } from './tunnels.ts';

/** The fields of ServeRequest that end a stream, with an error or well. */
const ERROR_FIELD = 4;
const END_FIELD = 9;

/** Carries what the client sends to the agent, still encoded, as the given field of ServeResponse. */
export async function forwardInput(input: AsyncIterableIterator<Buffer>, stream: ServedStream, wrapper: number): Promise<void> {
  for await (const frame of input) await stream.send(field(wrapper, frame));
}

/**
 * Carries one field of the agent's frames (ServeRequest) to the client, still encoded and no faster than it reads, until the agent's
 * stream ends. Throws the agent's error, and UNAVAILABLE when the connection to the agent is lost or this server stops.
 */
export async function forwardOutput(
  stream: ServedStream,
  wanted: number,
  call: Duplex | ServerWritableStream<Buffer, Buffer>,
  signal: AbortSignal,
): Promise<void> {
  // A client that has gone hears nothing of it; whoever still listens is told that the server goes.
  const leaving = () => unavailable('the API server is stopping: try again');
  for (;;) {
    const frame = await abortable(stream.frames.next(), signal, leaving);
    if (frame.done) throw unavailable('the connection to the node was lost: try again');
    const reader = new WireReader(frame.value);
    while (reader.next()) {
      if (reader.number === ERROR_FIELD) throw fromStatus(decodeMessage<Status>('google.rpc.Status', reader.value()));
      if (reader.number === END_FIELD) return;
      if (reader.number === wanted) await abortable(send(call, Buffer.from(reader.value()), signal), signal, leaving);
    }
  }
}
