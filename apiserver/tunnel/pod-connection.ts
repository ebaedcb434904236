import { Duplex } from 'node:stream';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { field } from '../../api/codec/wire-format.ts';
import { unavailable } from '../../api/errors/index.ts';
import type { PodPortForwardRequest, ServeRequest } from '../../api/generated/types.ts';
import { fromStatus } from './node-error.ts';
import type { ServedStream, TunnelCaller, Tunnels } from './tunnels.ts';

/** The field of ServeResponse that carries what goes to the port. */
const INPUT_FIELD = 3;
/** The gRPC library holds 16 messages for an agent that does not read. */
const MAX_PIECE = 32 * 1024;

/** A port of a pod, and the node whose agent reaches it. */
export interface PodPort {
  readonly node: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly port: number;
}

/** Connects the server itself to a port of a pod, through the pod's agent. Throws as `Tunnels.open`. */
export async function connectPod(tunnels: Tunnels, { node, uid, ...target }: PodPort, caller: TunnelCaller): Promise<Duplex> {
  const { namespace, name, port } = target;
  const portForward = { namespace, name, options: { ports: [port] } };
  return new PodConnection(await tunnels.open(node, { portForward, podUid: uid }, caller));
}

/** A stream of the agent as bytes, each direction with its own end. */
class PodConnection extends Duplex {
  readonly #stream: ServedStream;
  #isClosed = false;

  constructor(stream: ServedStream) {
    super({ allowHalfOpen: true });
    this.#stream = stream;
  }

  /** Called again only after a push. */
  override _read(): void {
    this.#readOn().catch((error: unknown) => this.destroy(error as Error));
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const frame = await this.#stream.frames.next();
      if (frame.done) throw unavailable('the connection to the node was lost');
      const { portForward, error, end } = decodeMessage<ServeRequest>('berth.node.v1.ServeRequest', frame.value);
      if (error) throw fromStatus(error);
      const hasEnded = portForward?.dataEnd !== undefined || end !== undefined;
      if (!hasEnded && !portForward?.data?.length) continue;
      this.push(hasEnded ? null : Buffer.from(portForward!.data!));
      return;
    }
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  async #send(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += MAX_PIECE) await this.#frame({ data: chunk.subarray(at, at + MAX_PIECE) });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#frame({ dataEnd: {} }).then(() => done(), done);
  }

  #frame(frame: PodPortForwardRequest): Promise<void> {
    return this.#stream.send(field(INPUT_FIELD, encodeMessage('berth.core.v1.PodPortForwardRequest', frame)));
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#isClosed) this.#stream.close(!this.readableEnded);
    this.#isClosed = true;
    done(error);
  }
}
