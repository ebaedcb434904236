import type { ClientDuplexStream, ServiceError, StatusObject } from '@grpc/grpc-js';
import type { ApiError } from '../../api/errors/index.ts';
import { unavailable } from '../../api/errors/index.ts';

/** Both directions of a call, each with flow control. */
export interface Duplex<Req, Res> {
  /** Resolves when there is room for more. Throws the call's error when it is over. */
  write(message: Req): Promise<void>;
  /** Nothing more is written. */
  end(): void;
  /**
   * What comes, until the other side ends. May be read once. Leaving the loop early ends neither direction: what comes
   * afterwards is thrown away, and writing goes on.
   */
  messages(): AsyncIterable<Res>;
  /** Ends the call, also in the middle. */
  cancel(): void;
  /** Aborted when the call is over, by either side. */
  readonly closed: AbortSignal;
}

export interface DuplexCodec<Req, Res> {
  encode(message: Req): Buffer;
  decode(bytes: Buffer): Res;
  toError(error: unknown): ApiError;
  /** The call is over. */
  onEnd(): void;
}

/**
 * The library takes 16 messages that are not sent yet, whatever their size:
 * so many bytes are enough to keep a connection busy.
 */
const mostUnsent = 128 * 1024;

export function createDuplex<Req, Res>(call: ClientDuplexStream<Buffer, Buffer>, codec: DuplexCodec<Req, Res>): Duplex<Req, Res> {
  const closed = new AbortController();
  let failure: ServiceError | undefined;
  let ended = false;
  /** The reader has left: the call's end comes only after what is still on its way. */
  let unwanted = false;
  /** Those waiting for room. */
  const waiting = new Set<() => void>();
  /** Bytes that the library has taken and not sent. */
  let unsent = 0;
  const isFull = (): boolean => call.writableNeedDrain || unsent >= mostUnsent;
  const wakeAll = () => {
    for (const wake of waiting) wake();
    waiting.clear();
  };

  call.on('error', (error: ServiceError) => {
    failure = error;
  });
  call.on('status', (_status: StatusObject) => {
    codec.onEnd();
    closed.abort();
    wakeAll();
  });
  call.on('drain', wakeAll);
  // Makes the library read ahead (a bounded number of messages),
  // so that the call's end is noticed also while nothing is read.
  call.on('readable', () => {
    if (unwanted) discard(call);
  });

  function checkOpen(): void {
    if (failure) throw codec.toError(failure);
    if (closed.signal.aborted || ended) throw unavailable('write to a stream: it has ended');
  }

  return {
    closed: closed.signal,
    async write(message) {
      checkOpen();
      const bytes = codec.encode(message);
      unsent += bytes.length;
      call.write(bytes, () => {
        unsent -= bytes.length;
        if (!isFull()) wakeAll();
      });
      while (isFull() && !closed.signal.aborted) await new Promise<void>((resolve) => waiting.add(resolve));
      if (failure) throw codec.toError(failure);
    },
    end() {
      if (ended) return;
      ended = true;
      call.end();
    },
    async *messages() {
      try {
        // Otherwise leaving the loop would destroy the call, and with it the direction in which is still written.
        for await (const bytes of call.iterator({ destroyOnReturn: false })) yield codec.decode(bytes as Buffer);
      } catch (error) {
        throw codec.toError(error);
      } finally {
        unwanted = true;
        discard(call);
      }
    },
    cancel: () => call.cancel(),
  };
}

function discard(call: ClientDuplexStream<Buffer, Buffer>): void {
  while (call.read() !== null);
}
