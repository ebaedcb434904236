import { constants } from 'node:http2';
import { badRequest, failedPrecondition } from '../../../api/errors/index.ts';
import type { ControlRequest, ServeRequest } from '../../../api/generated/types.ts';
import { type Identity, isMaster, nodeNameOf } from '../../authn/identity.ts';
import { afterFrames } from '../../connections/after-frames.ts';
import { decodeStrictly } from '../../registry/decode.ts';
import { fromStatus } from '../../tunnel/node-error.ts';
import type { Tunnels } from '../../tunnel/tunnels.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import type { CallPipeline } from '../call-pipeline.ts';
import { http2StreamOf } from '../caller.ts';
import { serviceDefinition } from '../definitions.ts';
import { type Duplex, framesOf, keepLittleUnread, send } from './duplex.ts';

export const TUNNEL_SERVICE = 'berth.node.v1.Tunnel';

/** The agents' service: one control stream of each node, and one stream for each log or command. */
export function tunnelService(tunnels: Tunnels, pipeline: CallPipeline) {
  return {
    definition: serviceDefinition(TUNNEL_SERVICE),
    implementation: {
      Control: pipeline.duplex((call, context) => control(tunnels, call, context)),
      Serve: pipeline.duplex((call, context) => serve(tunnels, call, context)),
    },
  };
}

function mayBeNode(identity: Identity, node: string): boolean {
  return isMaster(identity) || nodeNameOf(identity) === node;
}

async function control(tunnels: Tunnels, call: Duplex, context: CallContext): Promise<void> {
  const frames = framesOf(call);
  const read = (bytes: Buffer): ControlRequest => decodeStrictly<ControlRequest>('berth.node.v1.ControlRequest', bytes, 'frame');
  const first = await frames.next();
  const node = first.done ? undefined : read(first.value).hello?.nodeName;
  if (!node) throw badRequest('the first frame of Control must be hello with the name of the node');
  context.authorizeNode(node);
  const ended = new AbortController();
  const stop = (): void => ended.abort();
  context.signal.addEventListener('abort', stop);
  const disconnect = tunnels.connect(node, { send: (frame) => void call.write(frame), replaced: stop });
  try {
    await untilAborted(ended.signal, async () => {
      for await (const bytes of frames) {
        const { streamId = '', status } = read(bytes).refuse ?? {};
        if (streamId) tunnels.refuse(node, streamId, fromStatus(status ?? {}));
      }
    });
  } finally {
    context.signal.removeEventListener('abort', stop);
    disconnect();
  }
}

async function untilAborted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
  await Promise.race([work(), aborted]);
}

async function serve(tunnels: Tunnels, call: Duplex, context: CallContext): Promise<void> {
  // The node of the stream is checked when the stream is looked up.
  context.authorizeNode();
  keepLittleUnread(call);
  const frames = framesOf(call);
  const first = await frames.next();
  const streamId = first.done
    ? undefined
    : decodeStrictly<ServeRequest>('berth.node.v1.ServeRequest', first.value, 'frame').streamId;
  if (!streamId) throw badRequest('the first frame of Serve must name the stream');
  await new Promise<void>((resolve, reject) => {
    const close = (isCut = false): void => {
      if (!isCut) resolve();
      else
        afterFrames(() => {
          http2StreamOf(call)?.close(constants.NGHTTP2_CANCEL);
          resolve();
        });
    };
    const stream = { frames, send: (frame: Buffer) => send(call, frame, context.signal), close };
    context.signal.addEventListener('abort', () => resolve());
    if (tunnels.serve(streamId, (node) => mayBeNode(context.identity, node), stream)) return;
    reject(failedPrecondition('StreamNotWanted', `no session waits for stream "${streamId}"`));
  });
}
