import { encodeMessage } from '../../api/codec/message.ts';
import { type ApiError, exhausted, unavailable } from '../../api/errors/index.ts';
import type { Open } from '../../api/generated/types.ts';
import { FairShare } from '../limits/fair-share.ts';
import { type Flow, type Level, perLevel } from '../limits/levels.ts';
import { abortable } from './abortable.ts';

/** The agent's side of one stream: its frames (ServeRequest, encoded) and the way back (ServeResponse, encoded). */
export interface ServedStream {
  readonly frames: AsyncIterableIterator<Buffer>;
  send(frame: Buffer): Promise<void>;
  /**
   * Ends the agent's call; called once, by the opener of the stream. `isCut`: at once, whatever the agent has not read,
   * which hides a normal end from it.
   */
  close(isCut?: boolean): void;
}

/** A node's control stream. */
export interface ControlLink {
  send(frame: Buffer): void;
  /** Another link of the same node has taken over. */
  replaced(): void;
}

/** The call that a stream is opened for. */
export interface TunnelCaller {
  readonly flow: Flow;
  readonly signal: AbortSignal;
}

interface Waiter {
  readonly node: string;
  resolve(stream: ServedStream): void;
  reject(error: ApiError): void;
}

/** The time limit for an agent to open a requested stream. */
const OPEN_TIMEOUT_MS = 10_000;
/**
 * Streams that are open or being opened at one time, for administrators and the control plane and for tenants the same:
 * each holds the flow-control windows of two calls and two frames, about 256 KiB without a reader.
 */
const MAX_OPEN = 1_000;
/** From this part of the places on, no flow of a level gets more than an equal share. */
const BUSY_PART = 3 / 4;
/** No flow is refused that has fewer streams, while its level has places. */
const LEAST_SHARE = 10;
const RETRY_AFTER_MS = 5_000;

/** The connected nodes and the streams requested from them. Holds no client calls. */
export class Tunnels {
  readonly #newId: () => string;
  readonly #links = new Map<string, ControlLink>();
  readonly #waiting = new Map<string, Waiter>();
  readonly #maxOpen: number;
  readonly #places: Readonly<Record<Level, FairShare>>;

  constructor(newId: () => string, maxOpen = MAX_OPEN) {
    this.#newId = newId;
    this.#maxOpen = maxOpen;
    this.#places = perLevel(() => new FairShare({ busyAt: Math.ceil(maxOpen * BUSY_PART), least: LEAST_SHARE }));
  }

  /** Registers a node's control stream; the newest wins. The returned function takes it out again. */
  connect(node: string, link: ControlLink): () => void {
    this.#links.get(node)?.replaced();
    this.#links.set(node, link);
    return () => {
      if (this.#links.get(node) !== link) return;
      this.#links.delete(node);
      for (const waiter of this.#waiting.values())
        if (waiter.node === node) waiter.reject(unavailable(`node "${node}" has disconnected: try again`));
    };
  }

  /**
   * Asks a node for a stream. Throws UNAVAILABLE when the node is not connected or does not answer, RESOURCE_EXHAUSTED
   * when the caller's flow has its share of the streams, or its level all of them, and what the node refuses with. The
   * caller closes the stream.
   */
  async open(node: string, request: Omit<Open, 'streamId'>, { flow, signal }: TunnelCaller): Promise<ServedStream> {
    const link = this.#links.get(node);
    if (!link)
      throw unavailable(
        `node "${node}" is not connected to the API server: its agent does not run, does not reach the server, or waits for the container engine; ` +
          `"berth describe node ${node}" says which`,
      );
    const leave = this.hold(flow);
    try {
      const stream = await this.#ask(node, link, request, signal);
      const close = (isCut?: boolean): void => {
        leave();
        stream.close(isCut);
      };
      return { ...stream, close };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Takes a place of the caller's level, also for what holds memory without a stream of its own; the returned function
   * gives it back. Throws RESOURCE_EXHAUSTED.
   */
  hold({ level, key, name, isExempt }: Flow): () => void {
    const places = this.#places[level];
    if ((places.total >= this.#maxOpen && !isExempt) || !places.enter(key, isExempt))
      throw exhausted(
        `${places.total} streams to pods are open (priority level "${level}"), and ${name} has its share: close some, then try again`,
        RETRY_AFTER_MS,
      );
    return () => places.leave(key);
  }

  async #ask(node: string, link: ControlLink, request: Omit<Open, 'streamId'>, signal: AbortSignal): Promise<ServedStream> {
    const streamId = this.#newId();
    const served = new Promise<ServedStream>((resolve, reject) => this.#waiting.set(streamId, { node, resolve, reject }));
    const late = (): void =>
      this.#waiting.get(streamId)?.reject(unavailable(`node "${node}" did not answer within ${OPEN_TIMEOUT_MS / 1000} s`));
    const timer = setTimeout(late, OPEN_TIMEOUT_MS);
    try {
      link.send(encodeMessage('berth.node.v1.ControlResponse', { open: { ...request, streamId } }));
      return await abortable(served, signal);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(streamId);
    }
  }

  /** Hands an agent's stream to its requester; false when the requester is gone or the request went to another node. */
  serve(streamId: string, mayServe: (node: string) => boolean, stream: ServedStream): boolean {
    const waiter = this.#waiting.get(streamId);
    if (!waiter || !mayServe(waiter.node)) return false;
    waiter.resolve(stream);
    return true;
  }

  /** A node cannot serve a stream. */
  refuse(node: string, streamId: string, error: ApiError): void {
    const waiter = this.#waiting.get(streamId);
    if (waiter?.node === node) waiter.reject(error);
  }
}
