import { encodeMessage } from '../../../api/codec/message.ts';
import { type ApiError, exhausted, unavailable } from '../../../api/errors/index.ts';
import type { Open } from '../../../api/generated/types.ts';
import { abortable } from './duplex.ts';

/** The agent's side of one stream: its frames (ServeRequest, encoded) and the way back (ServeResponse, encoded). */
export interface ServedStream {
  readonly frames: AsyncIterableIterator<Buffer>;
  send(frame: Buffer): Promise<void>;
  /** Ends the agent's call; called once, by the opener of the stream. */
  close(): void;
}

/** A node's control stream. */
export interface ControlLink {
  send(frame: Buffer): void;
  /** Another link of the same node has taken over. */
  replaced(): void;
}

interface Waiter {
  readonly node: string;
  resolve(stream: ServedStream): void;
  reject(error: ApiError): void;
}

/** How long an agent may take from being asked to opening the stream. */
const OPEN_TIMEOUT_MS = 10_000;
/** Streams that are being opened at one time; a node that never answers must not fill the memory. */
const MAX_WAITING = 1_000;
/** Streams that are open at one time: each holds the flow-control windows of two calls and two frames, about 256 KiB without a reader. */
const MAX_OPEN = 2_000;
const RETRY_AFTER_MS = 5_000;

/** Which nodes are connected, and which streams were asked of them. Holds no calls of clients. */
export class Tunnels {
  private readonly newId: () => string;
  private readonly links = new Map<string, ControlLink>();
  private readonly waiting = new Map<string, Waiter>();
  private readonly maxOpen: number;
  private opened = 0;

  constructor(newId: () => string, maxOpen = MAX_OPEN) {
    this.newId = newId;
    this.maxOpen = maxOpen;
  }

  /** Registers a node's control stream; the newest wins. The returned function takes it out again. */
  connect(node: string, link: ControlLink): () => void {
    this.links.get(node)?.replaced();
    this.links.set(node, link);
    return () => {
      if (this.links.get(node) !== link) return;
      this.links.delete(node);
      for (const waiter of this.waiting.values())
        if (waiter.node === node) waiter.reject(unavailable(`node "${node}" has disconnected: try again`));
    };
  }

  /**
   * Asks a node for a stream. Throws UNAVAILABLE when the node is not connected or does not answer, RESOURCE_EXHAUSTED when too many
   * are open, and what the node refuses with. The caller closes the stream.
   */
  async open(node: string, request: Omit<Open, 'streamId'>, signal: AbortSignal): Promise<ServedStream> {
    const link = this.links.get(node);
    if (!link)
      throw unavailable(
        `node "${node}" is not connected to the API server: its agent does not run, does not reach the server, or waits for the container engine; ` +
          `"berth describe node ${node}" says which`,
      );
    if (this.waiting.size >= MAX_WAITING || this.opened >= this.maxOpen)
      throw exhausted(`too many streams to pods are open (${this.opened}): close some or try again later`, RETRY_AFTER_MS);
    const stream = await this.ask(node, link, request, signal);
    this.opened++;
    const close = (): void => {
      this.opened--;
      stream.close();
    };
    return { ...stream, close };
  }

  private async ask(
    node: string,
    link: ControlLink,
    request: Omit<Open, 'streamId'>,
    signal: AbortSignal,
  ): Promise<ServedStream> {
    const streamId = this.newId();
    const served = new Promise<ServedStream>((resolve, reject) => this.waiting.set(streamId, { node, resolve, reject }));
    const late = (): void =>
      this.waiting.get(streamId)?.reject(unavailable(`node "${node}" did not answer within ${OPEN_TIMEOUT_MS / 1000} s`));
    const timer = setTimeout(late, OPEN_TIMEOUT_MS);
    try {
      link.send(encodeMessage('berth.node.v1.ControlResponse', { open: { ...request, streamId } }));
      return await abortable(served, signal);
    } finally {
      clearTimeout(timer);
      this.waiting.delete(streamId);
    }
  }

  /** Hands an agent's stream to its requester; false when the requester has left or another node was asked. */
  serve(streamId: string, mayServe: (node: string) => boolean, stream: ServedStream): boolean {
    const waiter = this.waiting.get(streamId);
    if (!waiter || !mayServe(waiter.node)) return false;
    waiter.resolve(stream);
    return true;
  }

  /** A node cannot serve a stream. */
  refuse(node: string, streamId: string, error: ApiError): void {
    const waiter = this.waiting.get(streamId);
    if (waiter?.node === node) waiter.reject(error);
  }
}
