import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { badRequest } from '../../../api/errors/index.ts';
import type { PodLogsRequest, PodReadFilesRequest } from '../../../api/generated/types.ts';
import { decodeStrictly } from '../../registry/decode.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import {
  attach,
  type Carriage,
  exec,
  type InputCarriage,
  logs,
  portForward,
  readFiles,
  type StreamStart,
  writeFiles,
} from '../../tunnel/carriages.ts';
import { authorizeStream, joinStream, openStream, type StreamDeps } from '../../tunnel/carry.ts';
import { endOf } from '../../tunnel/forward.ts';
import type { Tunnels } from '../../tunnel/tunnels.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import type { CallPipeline } from '../call-pipeline.ts';
import type { SpecialMethods } from '../typed-service.ts';
import { encodeWarning } from '../warnings.ts';
import { type Duplex, framesOf, keepLittleUnread, send } from './duplex.ts';

/** What streams to and from pods: found by the pod's node, carried by its agent's streams. */
export function podStreamMethods(pods: KindStore, tunnels: Tunnels, pipeline: CallPipeline): SpecialMethods {
  const deps = { pods, tunnels };
  const duplex = <Start extends StreamStart>(carriage: InputCarriage<Start>) =>
    pipeline.duplex((call, context) => carryBothWays(deps, carriage, call, context));
  return {
    Logs: pipeline.stream((request, context) => {
      const start = decodeStrictly<PodLogsRequest>('berth.core.v1.PodLogsRequest', request, 'request');
      authorizeStream(logs, start, context);
      return { run: (call) => carry(deps, logs, { start, call, context }) };
    }),
    ReadFiles: pipeline.stream((request, context) => {
      const start = decodeStrictly<PodReadFilesRequest>('berth.core.v1.PodReadFilesRequest', request, 'request');
      authorizeStream(readFiles, start, context);
      return { run: (call) => carry(deps, readFiles, { start, call, context }) };
    }),
    Exec: duplex(exec),
    Attach: duplex(attach),
    PortForward: duplex(portForward),
    WriteFiles: duplex(writeFiles),
  };
}

async function carryBothWays<Start extends StreamStart>(
  deps: StreamDeps,
  carriage: InputCarriage<Start>,
  call: Duplex,
  context: CallContext,
): Promise<void> {
  keepLittleUnread(call);
  const frames = framesOf(call);
  const first = await frames.next();
  const start = first.done ? undefined : decodeStrictly<{ start?: Start }>(carriage.message, first.value, 'frame').start;
  if (!start) throw badRequest(`the first frame of ${carriage.method} must be start`);
  authorizeStream(carriage, start, context);
  await carry(deps, carriage, { start, call, context, input: frames });
}

interface CarriedCall<Start> {
  readonly start: Start;
  readonly call: Duplex | ServerWritableStream<Buffer, Buffer>;
  readonly context: CallContext;
  readonly input?: AsyncIterableIterator<Buffer>;
}

async function carry<Start extends StreamStart>(
  deps: StreamDeps,
  carriage: Carriage<Start> & { readonly input?: number },
  { start, call, context, input }: CarriedCall<Start>,
): Promise<void> {
  const { stream, note } = await openStream(deps, carriage, { start, context });
  if (note) {
    const metadata = new Metadata();
    metadata.add('berth-warning', encodeWarning(note));
    call.sendMetadata(metadata);
  }
  const { signal } = context;
  const peer = { ...(input && { input }), send: (frame: Buffer) => send(call, frame, signal, () => endOf(signal)) };
  await joinStream(stream, carriage, peer, signal);
}
