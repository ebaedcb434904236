import { decodeMessage } from '../../api/codec/message.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { unavailable } from '../../api/errors/index.ts';
import type { Open, ServeRequest } from '../../api/generated/types.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { Reply } from '../verbs/prepared-call.ts';
import { abortable } from './abortable.ts';
import { fromStatus } from './node-error.ts';
import type { Tunnels } from './tunnels.ts';

export interface Asked {
  readonly node: string;
  readonly open: Omit<Open, 'streamId' | 'requestId'>;
  /** The number of the field of ServeRequest that holds the answer. */
  readonly field: number;
  /** What an agent cannot do that answers nothing: "does not keep a history". */
  readonly lacks: string;
}

/** One answer of a node's agent, as the agent encoded it. Throws UNAVAILABLE while the node is not connected. */
export async function askAgent(tunnels: Tunnels, { node, open, field, lacks }: Asked, call: CallContext): Promise<Reply> {
  const stream = await tunnels.open(node, { ...open, requestId: call.requestId }, call);
  try {
    const frame = await abortable(stream.frames.next(), call.signal);
    if (frame.done) throw unavailable('the connection to the node was lost: try again');
    return { bytes: readAnswer(frame.value, field, lacks) };
  } finally {
    stream.close();
  }
}

function readAnswer(frame: Buffer, field: number, lacks: string): Buffer {
  const reader = new WireReader(frame);
  while (reader.next()) if (reader.number === field) return Buffer.from(reader.value());
  const { error } = decodeMessage<ServeRequest>('berth.node.v1.ServeRequest', frame);
  throw error ? fromStatus(error) : unavailable(`the agent of the node ${lacks}: update it`);
}
