import type { Pod } from '../../api/generated/types.ts';
import { admitConnection } from '../registry/admit-connection.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { Carriage, StreamStart } from './carriages.ts';
import { forwardInput, forwardOutput, type StreamPeer } from './forward.ts';
import { type ContainerChoice, chooseContainer, findTarget } from './stream-target.ts';
import type { ServedStream, Tunnels } from './tunnels.ts';

export interface StreamDeps {
  readonly pods: KindStore;
  readonly tunnels: Tunnels;
}

/** An agent's stream that a client is to be joined with; who opens it closes it. */
export interface OpenedStream {
  readonly stream: ServedStream;
  /** What the client should know about the container that was chosen. */
  readonly note: string | undefined;
}

/** Throws PERMISSION_DENIED, then INVALID_ARGUMENT. */
export function authorizeStream<Start extends StreamStart>(carriage: Carriage<Start>, start: Start, context: CallContext): void {
  const { namespace = '', name = '' } = start;
  context.authorize({ verb: carriage.verb, kind: 'Pod', namespace, name });
  const also = carriage.alsoVerb?.(start);
  if (also) context.authorize({ verb: also, kind: 'Pod', namespace, name });
  carriage.check?.(start);
}

/**
 * Opens the stream of an authorized call: asks the rules that users added, finds the pod and its container, and asks
 * the agent of its node. Throws what `admitStream`, `findTarget`, `choose` and `Tunnels.open` throw.
 */
export async function openStream<Start extends StreamStart>(
  { pods, tunnels }: StreamDeps,
  carriage: Carriage<Start>,
  { start: wanted, context, choose = chooseContainer }: OpenWish<Start>,
): Promise<OpenedStream> {
  const start = await admitStream(pods, carriage, wanted, context);
  let choice: ContainerChoice | undefined;
  const { node, uid } = await findTarget(pods, start, (pod) => {
    if (!carriage.wholePod) choice = choose(pod, start.options?.container);
  });
  const chosen = choice ? { ...start, options: { ...start.options, container: choice.container } } : start;
  const stream = await tunnels.open(node, { ...carriage.open(chosen), podUid: uid }, context);
  return { stream, note: choice?.note };
}

/** Judges a stream by the rules that users added, and gives it as these leave it. Throws the refusal. */
export async function admitStream<Start extends StreamStart>(
  pods: KindStore,
  { admitted }: Pick<Carriage<Start>, 'admitted'>,
  start: Start,
  context: CallContext,
): Promise<Start> {
  if (!admitted) return start;
  const { namespace = '', name = '' } = start;
  const options = admitted.options(start);
  const after = await admitConnection(pods, { namespace, name }, { form: admitted.form, options }, context);
  return after === options || admitted.fixed ? start : { ...start, options: { ...noStreams, ...after } };
}

/** What a rule has left out of the options is not wanted. */
const noStreams = { stdin: false, stdout: false, stderr: false, tty: false };

export interface OpenWish<Start extends StreamStart> {
  readonly start: Start;
  readonly context: CallContext;
  /** How a container is chosen; doors differ in what they do without a name. */
  readonly choose?: (pod: Pod, wanted: string | undefined) => ContainerChoice;
}

/**
 * Joins a client with an agent's stream until one of them ends, and closes the latter. Throws as `forwardOutput`.
 */
export async function joinStream(
  stream: ServedStream,
  { output, input }: { readonly output: number; readonly input?: number },
  peer: StreamPeer,
  signal: AbortSignal,
): Promise<void> {
  let hasEnded = false;
  try {
    // Input that cannot be delivered any more is of no interest: what counts is how the stream ends.
    if (peer.input && input !== undefined) forwardInput(peer.input, stream, input).catch(() => {});
    await forwardOutput(stream, output, peer, signal);
    hasEnded = true;
  } finally {
    stream.close(!hasEnded);
  }
}
