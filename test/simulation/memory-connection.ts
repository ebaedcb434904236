import { unimplemented } from '../../api/errors/index.ts';
import type { WatchRequest } from '../../api/generated/types.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { CallContext } from '../../apiserver/verbs/call-context.ts';
import { readRequest } from '../../apiserver/verbs/object-writes.ts';
import { joinPieces } from '../../apiserver/verbs/pieces.ts';
import { protobufEvents } from '../../apiserver/watch/event-format.ts';
import { FRAME_HEADER_BYTES } from '../../apiserver/watch/event-frame.ts';
import { onAbort } from '../../client/abort.ts';
import { cancelled } from '../../client/connection/call-errors.ts';
import { decodeResponse, encodeRequest } from '../../client/connection/call-messages.ts';
import type { Connection, Method } from '../../client/connection/connection.ts';
import type { Duplex } from '../../client/connection/duplex.ts';
import type { CallOptions } from '../../client/services/resource-client.ts';
import { fakeCall } from '../fakes/fake-call-context.ts';
import type { MemoryServer } from './memory-server.ts';

/** A connection to a server in memory, as an administrator; under a leader's term where one is given. */
export class MemoryConnection implements Connection {
  readonly #server: MemoryServer;
  readonly #term: LeaseTerm | undefined;

  constructor(server: MemoryServer, term?: LeaseTerm) {
    this.#server = server;
    this.#term = term;
  }

  async unary<Res extends object>(method: Method, request: object): Promise<Res> {
    const prepare = this.#server.methods.get(method.path);
    if (!prepare) throw unimplemented(`${method.path} is not simulated`);
    const { bytes } = await prepare(encodeRequest(method, request), this.#call()).run();
    return decodeResponse<Res>(method, bytes instanceof Uint8Array ? bytes : joinPieces(bytes));
  }

  async *stream<Res extends object>(method: Method, request: object, { signal }: CallOptions = {}): AsyncGenerator<Res> {
    const store = [...this.#server.registry.stores].find(({ kind }) => method.path === `/${kind.service}/Watch`);
    if (!store) throw unimplemented(`${method.path} is not simulated`);
    const watch = readRequest<WatchRequest>('WatchRequest', encodeRequest(method, request));
    const frames = new Frames();
    const stop = new AbortController();
    const unlink = onAbort(signal, () => stop.abort());
    const call = this.#call({ signal: stop.signal });
    this.#server.verbs
      .watch(store, watch, protobufEvents(store.kind.message), call)
      .run(frames)
      .then(
        () => frames.end(),
        (error: unknown) => frames.end(error),
      );
    try {
      for await (const frame of frames) yield decodeResponse<Res>(method, frame.subarray(FRAME_HEADER_BYTES));
      if (signal?.aborted) throw cancelled(method);
    } finally {
      unlink();
      stop.abort();
    }
  }

  /** Its users make single calls instead. */
  duplex<Req, Res>(method: Method): Duplex<Req, Res> {
    const refuse = async (): Promise<never> => {
      throw unimplemented(`${method.path} is not simulated`);
    };
    // biome-ignore lint/correctness/useYield: a stream that fails at once
    const messages = async function* (): AsyncGenerator<Res> {
      await refuse();
    };
    return { write: refuse, end() {}, messages, cancel() {}, closed: AbortSignal.abort() };
  }

  timeLimit(): undefined {
    return undefined;
  }

  close(): void {}

  #call(parts: Partial<CallContext> = {}): CallContext {
    const { authorizer } = this.#server;
    const made: CallContext = fakeCall({
      authorizer,
      authorize: (access) => authorizer.authorize(made.identity, access),
      whenTaken: (_, done) => done(),
      ...(this.#term && { leaseTerm: this.#term }),
      ...parts,
    });
    return made;
  }
}

/** What a watch sends, as it is read. */
class Frames implements AsyncIterable<Buffer> {
  readonly #frames: { readonly frame: Buffer; readonly taken: () => void }[] = [];
  #end: { readonly error?: unknown } | undefined;
  #wake = (): void => {};

  begin(): void {}

  send(frame: Buffer, taken: () => void): void {
    this.#frames.push({ frame, taken });
    this.#wake();
  }

  cutOff(): void {}

  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const next = this.#frames.shift();
      if (next) {
        yield next.frame;
        next.taken();
      } else if (this.#end) {
        if ('error' in this.#end) throw this.#end.error;
        return;
      } else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
