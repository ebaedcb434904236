import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { decodeMessage } from '../../../api/codec/message.ts';
import { badRequest, failedPrecondition, internal, notFound, unavailable } from '../../../api/errors/index.ts';
import type { Pod, PodExecRequest, PodExecStart, PodLogsRequest, Status } from '../../../api/generated/types.ts';
import { annotations } from '../../../api/meta/well-known.ts';
import { decodeStrictly } from '../../registry/decode.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { field, WireReader } from '../../watch/wire.ts';
import { type CallContext, type Door, encodeWarning } from '../door.ts';
import { fromStatus } from '../status.ts';
import type { SpecialMethods } from '../typed-service.ts';
import { checkName } from '../verbs.ts';
import { cancelled, type Duplex, framesOf, send } from './duplex.ts';
import type { ServedStream, Tunnels } from './tunnels.ts';

/** Fields of ServeRequest. */
const frameFields = { logs: 2, exec: 3, error: 4 } as const;
/** The field of ServeResponse. */
const EXEC_INPUT = 1;

/** Pods.Logs and Pods.Exec: found by the pod's node, carried by its agent's streams. */
export function podStreamMethods(pods: KindStore, tunnels: Tunnels, door: Door): SpecialMethods {
  return {
    Logs: door.stream((request, call, context) => logs(pods, tunnels, request, call, context)),
    Exec: door.duplex((call, context) => exec(pods, tunnels, call, context)),
  };
}

async function logs(
  pods: KindStore,
  tunnels: Tunnels,
  bytes: Buffer,
  call: ServerWritableStream<Buffer, Buffer>,
  context: CallContext,
): Promise<void> {
  const request = decodeStrictly<PodLogsRequest>('berth.core.v1.PodLogsRequest', bytes, 'request');
  const target = await findTarget(pods, request, request.options?.container);
  if (target.note) call.sendMetadata(note(target.note));
  const options = { ...request.options, container: target.container };
  const stream = await tunnels.open(target.node, { podUid: target.uid, logs: { ...request, options } }, context.signal);
  try {
    await forward(stream, frameFields.logs, call, context.signal);
  } finally {
    stream.close();
  }
}

async function exec(pods: KindStore, tunnels: Tunnels, call: Duplex, context: CallContext): Promise<void> {
  const input = framesOf(call);
  const first = await input.next();
  const start = first.done
    ? undefined
    : decodeStrictly<PodExecRequest>('berth.core.v1.PodExecRequest', first.value, 'frame').start;
  if (!start) throw badRequest('the first frame of Exec must be start');
  if (!start.options?.command?.length) throw badRequest('exec: name the command to run');
  const target = await findTarget(pods, start, start.options.container);
  if (target.note) call.sendMetadata(note(target.note));
  const request: PodExecStart = { ...start, options: { ...start.options, container: target.container } };
  const stream = await tunnels.open(target.node, { podUid: target.uid, exec: request }, context.signal);
  try {
    // Input that cannot be delivered any more is of no interest: what counts is how the command ends.
    forwardInput(input, stream).catch(() => {});
    await forward(stream, frameFields.exec, call, context.signal);
  } finally {
    stream.close();
  }
}

async function forwardInput(input: AsyncIterableIterator<Buffer>, stream: ServedStream): Promise<void> {
  for await (const frame of input) await stream.send(field(EXEC_INPUT, frame));
}

/** Carries the agent's frames to the client, still encoded, until the agent's stream ends. */
async function forward(
  stream: ServedStream,
  wanted: number,
  call: Duplex | ServerWritableStream<Buffer, Buffer>,
  signal: AbortSignal,
): Promise<void> {
  let leave = (): void => {};
  const gone = new Promise<never>((_, reject) => {
    leave = () => reject(cancelled());
    signal.addEventListener('abort', leave);
  });
  // A client that goes while nothing is written must not leave the loop waiting.
  gone.catch(() => {});
  try {
    for (;;) {
      const frame = await Promise.race([stream.frames.next(), gone]);
      if (frame.done) break;
      const reader = new WireReader(frame.value);
      while (reader.next()) {
        if (reader.number === frameFields.error) throw fromStatus(decodeMessage<Status>('google.rpc.Status', reader.value()));
        if (reader.number === wanted) await send(call, Buffer.from(reader.value()), signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', leave);
  }
  if (stream.signal.aborted) throw unavailable('the connection to the node was lost: try again');
}

interface Target {
  readonly node: string;
  readonly uid: string;
  readonly container: string;
  /** What the client should know about the choice. */
  readonly note: string | undefined;
}

async function findTarget(
  pods: KindStore,
  request: { namespace?: string; name?: string },
  wanted: string | undefined,
): Promise<Target> {
  const at = checkName(pods, request);
  const entry = await pods.read(at);
  if (!entry) throw notFound(pods.subject(at));
  const pod: Pod = pods.cache.decoder.decode(entry);
  const node = pod.spec?.nodeName;
  if (!node) throw failedPrecondition('PodNotAssigned', `pod "${at.name}" is not yet assigned to a node`, pods.subject(at));
  const uid = pod.metadata?.uid;
  if (!uid) throw internal(`pod "${at.name}" has no uid`);
  return { node, uid, ...chooseContainer(pod, at.name, wanted) };
}

function chooseContainer(pod: Pod, name: string, wanted: string | undefined): { container: string; note: string | undefined } {
  const main = (pod.spec?.containers ?? []).map((container) => container.name ?? '');
  const others = [...(pod.spec?.initContainers ?? []).map((each) => each.name ?? ''), ...ephemeralNames(pod)];
  if (wanted) {
    if (main.includes(wanted) || others.includes(wanted)) return { container: wanted, note: undefined };
    throw badRequest(`pod "${name}" has no container "${wanted}": choose one of ${[...main, ...others].join(', ')}`);
  }
  const preferred = pod.metadata?.annotations?.[annotations.defaultContainer];
  const container = preferred && main.includes(preferred) ? preferred : (main[0] ?? '');
  if (main.length <= 1 || container === preferred) return { container, note: undefined };
  return { container, note: `defaulted container "${container}" out of: ${[...main, ...others].join(', ')}` };
}

function ephemeralNames(pod: Pod): string[] {
  return (pod.spec?.ephemeralContainers ?? []).map((each) => each.ephemeralContainerCommon?.name ?? '');
}

function note(text: string): Metadata {
  const metadata = new Metadata();
  metadata.add('berth-warning', encodeWarning(text));
  return metadata;
}
