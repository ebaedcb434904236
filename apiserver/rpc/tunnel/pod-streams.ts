import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { badRequest } from '../../../api/errors/index.ts';
import type {
  Open,
  PodAttachRequest,
  PodExecRequest,
  PodLogsRequest,
  PodPortForwardRequest,
  PodReadFilesRequest,
  PodWriteFilesRequest,
} from '../../../api/generated/types.ts';
import type { AccessVerb } from '../../authz/attributes.ts';
import { decodeStrictly } from '../../registry/decode.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import type { CallPipeline } from '../call-pipeline.ts';
import type { SpecialMethods } from '../typed-service.ts';
import { encodeWarning } from '../warnings.ts';
import { type Duplex, framesOf, keepLittleUnread } from './duplex.ts';
import { forwardInput, forwardOutput } from './forward.ts';
import { chooseContainer, findTarget } from './stream-target.ts';
import type { Tunnels } from './tunnels.ts';

/** Names a pod, and a container of it or a port. */
interface StreamStart {
  readonly namespace?: string;
  readonly name?: string;
  readonly options?: { readonly container?: string; readonly ports?: readonly number[] };
}

/** How one method is carried by the agents' streams. */
interface Carriage<Start extends StreamStart> {
  readonly verb: AccessVerb;
  /** What the client has to be allowed besides that. */
  alsoVerb?(start: Start): AccessVerb | undefined;
  /** The request to the agent: the start frame with the chosen container. */
  open(start: Start): Omit<Open, 'streamId' | 'podUid'>;
  /** The field of ServeRequest that holds what goes to the client. */
  readonly output: number;
  /** Throws INVALID_ARGUMENT for what no agent could serve. */
  check?(start: Start): void;
  /** The pod is meant, not a container of it. */
  readonly wholePod?: true;
}

/** The same for methods that the client sends frames to; the first is the start. */
interface InputCarriage<Start extends StreamStart> extends Carriage<Start> {
  readonly method: string;
  readonly message: string;
  /** The field of ServeResponse that holds what comes from the client. */
  readonly input: number;
}

const logs: Carriage<PodLogsRequest> = { verb: 'logs', open: (start) => ({ logs: start }), output: 2 };

const readFiles: Carriage<PodReadFilesRequest> = {
  verb: 'read-files',
  open: (start) => ({ readFiles: start }),
  output: 7,
  check: ({ options }) => checkPath(options?.path),
};

const exec: InputCarriage<NonNullable<PodExecRequest['start']>> = {
  verb: 'exec',
  method: 'Exec',
  message: 'berth.core.v1.PodExecRequest',
  open: (start) => ({ exec: start }),
  output: 3,
  input: 1,
  check({ options }) {
    if (!options?.command?.length) throw badRequest('exec: name the command to run');
  },
};

const attach: InputCarriage<NonNullable<PodAttachRequest['start']>> = {
  verb: 'attach',
  // What was written before the client joined is the log's.
  alsoVerb: ({ fromStart }) => (fromStart ? 'logs' : undefined),
  method: 'Attach',
  message: 'berth.core.v1.PodAttachRequest',
  open: (start) => ({ attach: start }),
  output: 5,
  input: 2,
};

const portForward: InputCarriage<NonNullable<PodPortForwardRequest['start']>> = {
  verb: 'port-forward',
  method: 'PortForward',
  message: 'berth.core.v1.PodPortForwardRequest',
  open: (start) => ({ portForward: start }),
  output: 6,
  input: 3,
  wholePod: true,
  check({ options }) {
    const [port = 0, ...more] = options?.ports ?? [];
    if (port < 1 || port > 65_535 || more.length > 0)
      throw badRequest('port-forward: name exactly one port from 1 to 65535; each connection is a call of its own');
  },
};

const writeFiles: InputCarriage<NonNullable<PodWriteFilesRequest['start']>> = {
  verb: 'write-files',
  method: 'WriteFiles',
  message: 'berth.core.v1.PodWriteFilesRequest',
  open: (start) => ({ writeFiles: start }),
  output: 8,
  input: 4,
  check: ({ options }) => checkPath(options?.path),
};

interface StreamDeps {
  readonly pods: KindStore;
  readonly tunnels: Tunnels;
}

/** What streams to and from pods: found by the pod's node, carried by its agent's streams. */
export function podStreamMethods(pods: KindStore, tunnels: Tunnels, pipeline: CallPipeline): SpecialMethods {
  const deps = { pods, tunnels };
  const duplex = <Start extends StreamStart>(carriage: InputCarriage<Start>) =>
    pipeline.duplex((call, context) => carryBothWays(deps, carriage, call, context));
  return {
    Logs: pipeline.stream((request, context) => {
      const start = decodeStrictly<PodLogsRequest>('berth.core.v1.PodLogsRequest', request, 'request');
      authorize(logs, start, context);
      return { run: (call) => carry(deps, logs, { start, call, context }) };
    }),
    ReadFiles: pipeline.stream((request, context) => {
      const start = decodeStrictly<PodReadFilesRequest>('berth.core.v1.PodReadFilesRequest', request, 'request');
      authorize(readFiles, start, context);
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
  authorize(carriage, start, context);
  await carry(deps, carriage, { start, call, context, input: { frames, wrapper: carriage.input } });
}

/** Throws PERMISSION_DENIED, then INVALID_ARGUMENT. */
function authorize<Start extends StreamStart>(carriage: Carriage<Start>, start: Start, context: CallContext): void {
  const { namespace = '', name = '' } = start;
  context.authorize({ verb: carriage.verb, kind: 'Pod', namespace, name });
  const also = carriage.alsoVerb?.(start);
  if (also) context.authorize({ verb: also, kind: 'Pod', namespace, name });
  carriage.check?.(start);
}

interface CarriedCall<Start> {
  readonly start: Start;
  readonly call: Duplex | ServerWritableStream<Buffer, Buffer>;
  readonly context: CallContext;
  readonly input?: { readonly frames: AsyncIterableIterator<Buffer>; readonly wrapper: number };
}

async function carry<Start extends StreamStart>(
  { pods, tunnels }: StreamDeps,
  carriage: Carriage<Start>,
  { start, call, context, input }: CarriedCall<Start>,
): Promise<void> {
  const { node, uid, pod } = await findTarget(pods, start);
  const chosen = carriage.wholePod ? start : chosenStart(start, chooseContainer(pod, start.options?.container), call);
  const stream = await tunnels.open(node, { ...carriage.open(chosen), podUid: uid }, context);
  try {
    // Input that cannot be delivered any more is of no interest: what counts is how the stream ends.
    if (input) forwardInput(input.frames, stream, input.wrapper).catch(() => {});
    await forwardOutput(stream, carriage.output, call, context.signal);
  } finally {
    stream.close();
  }
}

/** The start frame with its container filled in; a warning tells the client about the default. */
function chosenStart<Start extends StreamStart>(
  start: Start,
  { container, note }: ReturnType<typeof chooseContainer>,
  call: CarriedCall<Start>['call'],
): Start {
  if (note) {
    const metadata = new Metadata();
    metadata.add('berth-warning', encodeWarning(note));
    call.sendMetadata(metadata);
  }
  return { ...start, options: { ...start.options, container } };
}

function checkPath(path: string | undefined): void {
  if (!path) throw badRequest('name a path in the container');
}
