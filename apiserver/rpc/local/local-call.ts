import { status as codes, Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { longestTimerMs } from '../../../api/meta/timeout.ts';
import type { Identity } from '../../authn/identity.ts';
import type { OwnTransport } from '../caller.ts';

/** Who calls from within the process, and how it names itself. */
export interface LocalCaller {
  readonly identity: Identity;
  readonly userAgent: string;
}

export interface LocalCallOptions {
  readonly method: string;
  readonly caller: LocalCaller;
  readonly metadata: Metadata;
  /** In ms since 1970; Infinity: none. */
  readonly deadline: number;
}

const none: readonly string[] = [];

/**
 * The life of one call within the process, for both of its sides: it runs until it ends with a status, once. It ends
 * normally when the server has said all, and is abandoned when its client cancels it, its deadline is over, or the
 * server stops; the server's side hears of that as of a client that has gone.
 */
export class LocalCall implements OwnTransport {
  readonly method: string;
  readonly metadata: Metadata;
  readonly #caller: LocalCaller;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #over: ((status: StatusObject) => void)[] = [];
  #status: StatusObject | undefined;
  /** What the server has to say in the end, while its messages are not all read. */
  #lastWords: StatusObject | undefined;
  isCancelled = false;

  constructor({ method, caller, metadata, deadline }: LocalCallOptions) {
    this.method = method;
    this.metadata = metadata;
    this.#caller = caller;
    if (!Number.isFinite(deadline)) return;
    const expire = (): void => this.abandon(toStatus(codes.DEADLINE_EXCEEDED, 'Deadline exceeded'));
    this.#timer = setTimeout(expire, Math.min(Math.max(deadline - Date.now(), 0), longestTimerMs));
  }

  get isOver(): boolean {
    return this.#status !== undefined;
  }

  header(name: string): readonly string[] {
    if (name === 'user-agent') return [this.#caller.userAgent];
    const values = this.metadata.get(name);
    return values.length === 0 ? none : values.map(String);
  }

  headerNames(): readonly string[] {
    return ['user-agent', ...Object.keys(this.metadata.getMap())];
  }

  identify(): Identity {
    return this.#caller.identity;
  }

  onCancelled(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A client in this process takes its answer at once. */
  whenTaken(_ms: number, done: () => void): void {
    this.whenClosed(done);
  }

  whenClosed(done: () => void): void {
    if (this.isOver) done();
    else this.#over.push(done);
  }

  /** Calls `tell` with the status, in a later step than that in which the call ends. */
  whenOver(tell: (status: StatusObject) => void): void {
    this.#over.push((status) => process.nextTick(tell, status));
  }

  reset(): void {
    this.abandon(this.#lastWords ?? toStatus(codes.RESOURCE_EXHAUSTED, 'the answer was not read'));
  }

  /** The status of a failed call, which is told when its messages have been read. */
  failWith(status: StatusObject): void {
    this.#lastWords ??= status;
  }

  cancel(): void {
    this.abandon(toStatus(codes.CANCELLED, 'Cancelled on client'));
  }

  /** Ends it from outside: its client is gone, or cut off. */
  abandon(status: StatusObject): void {
    if (this.isOver) return;
    this.isCancelled = true;
    this.#end(status);
    for (const listener of [...this.#listeners]) listener();
  }

  /** The server has said all. */
  end(metadata: Metadata | undefined): void {
    this.#end(this.#lastWords ?? { code: codes.OK, details: 'OK', metadata: metadata ?? new Metadata() });
  }

  #end(status: StatusObject): void {
    if (this.isOver) return;
    this.#status = status;
    clearTimeout(this.#timer);
    for (const tell of this.#over.splice(0)) tell(status);
  }
}

export function toStatus(code: codes, details: string): StatusObject {
  return { code, details, metadata: new Metadata() };
}

/** What a handler says of a failure, as grpc-js reads it: a status, or an error of another kind. */
export function statusOf(error: Partial<StatusObject> & { readonly message?: string }): StatusObject {
  const { code = codes.UNKNOWN, details = error.message ?? 'Unknown error', metadata = new Metadata() } = error;
  return { code, details, metadata };
}

/** A status as clients of grpc-js get it; without the stack of the caller, which costs more than the call. */
export function toServiceError({ code, details, metadata }: StatusObject): ServiceError {
  return Object.assign(new Error(`${code} ${codes[code]}: ${details}`), { code, details, metadata });
}
