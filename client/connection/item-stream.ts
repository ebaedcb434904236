import { ApiError, asApiError, exhausted, unavailable } from '../../api/errors/index.ts';
import type { Status } from '../../api/generated/types.ts';
import { onAbort } from '../abort.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { CallOptions } from '../services/resource-client.ts';
import { cancelled } from './call-errors.ts';
import type { Duplex } from './duplex.ts';
import type { Method } from './method.ts';
import { fromStatus } from './status-details.ts';

/** One request of many that share a stream. */
export interface ItemRequest<Result> {
  /** The item as the stream's message wants it, encoded. Throws ApiError for what cannot be encoded. */
  encode(id: number): Buffer;
  /** The same as a call of its own, for servers that do not know the stream. */
  unary(call: CallOptions): Promise<Result>;
}

/** What the server says of an item. */
interface ItemResult {
  readonly id?: number;
  readonly error?: Status;
}

export interface ItemStreamOptions<Result> {
  readonly method: Method;
  open(): Duplex<Buffer, { results?: Result[] }>;
  /** Ends it; everything under way is rejected with CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /**
   * When an item has no result after so long, and nothing else has had one meanwhile, it is rejected with
   * DEADLINE_EXCEEDED, and with it the stream.
   */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** As the server: it reads no more items while so many are under way. */
const maxSent = 1_000;
/** More wait for their turn here, up to this. */
const maxWaiting = 100_000;
const maxItemsPerMessage = 500;
/** So many at once become calls of their own, where the server does not know the stream. */
const maxAlone = 32;
/** Objects have at most 1.5 MiB, messages 4 MiB. */
const maxMessageBytes = 1024 * 1024;
/** The usual time for an item. */
export const itemTimeoutMs = 30_000;

interface Pending<Result> {
  readonly id: number;
  readonly request: ItemRequest<Result>;
  readonly bytes: Buffer;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  sentAt: number;
}

/**
 * Requests that share a stream. What is asked for in one turn travels in one message; at most 1,000 are under way, the
 * others wait. The stream is opened with the first request and again after it broke: only what was under way then is
 * lost (rejected with the stream's error; its outcome is unknown). A server that does not know the stream gets each as
 * a call of its own.
 */
export class ItemStream<Result extends ItemResult> {
  readonly #options: ItemStreamOptions<Result>;
  readonly #clock: Clock;
  readonly #waiting: Pending<Result>[] = [];
  readonly #alone = new Set<Promise<void>>();
  #current: OpenStream<Result> | undefined;
  #nextId = 1;
  #sending = false;
  #closed = false;
  /** The server does not know the stream. */
  #unknown = false;
  #idle: () => void = () => {};

  constructor(options: ItemStreamOptions<Result>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Resolves with the item's result when the server carried it out. Throws what the server says of the item,
   * or the stream's error.
   */
  send(request: ItemRequest<Result>, { signal }: CallOptions = {}): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { method, signal: whole } = this.#options;
      if (this.#closed || whole?.aborted || signal?.aborted) throw cancelled(method);
      if (this.#waiting.length >= maxWaiting) throw exhausted(`call ${method.path}: ${maxWaiting} items wait already`);
      const id = this.#nextId;
      this.#nextId = (this.#nextId % 0xffff_ffff) + 1;
      const pending: Pending<Result> = { id, request, bytes: request.encode(id), resolve, reject, sentAt: 0 };
      const unlink = onAbort(signal, () => this.#giveUp(pending));
      pending.resolve = (result) => {
        unlink();
        resolve(result);
      };
      pending.reject = (error) => {
        unlink();
        reject(error);
      };
      this.#waiting.push(pending);
      this.#wake();
    });
  }

  /** Takes no more; resolves when everything has its result and the server has ended the stream. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.length > 0 || (this.#current?.sent.size ?? 0) > 0 || this.#alone.size > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await this.#current?.end();
  }

  /** Cancels an item for its caller; the server still carries out an item that was sent. */
  #giveUp(pending: Pending<Result>): void {
    const at = this.#waiting.indexOf(pending);
    if (at >= 0) this.#waiting.splice(at, 1);
    pending.reject(cancelled(this.#options.method));
  }

  #wake(): void {
    this.#idle();
    if (this.#sending || this.#waiting.length === 0) return;
    this.#sending = true;
    setImmediate(() => {
      this.#send()
        .catch((error: unknown) => this.#rejectWaiting(error))
        .finally(() => {
          this.#sending = false;
          if (this.#hasRoom()) this.#wake();
        });
    });
  }

  #hasRoom(): boolean {
    return this.#unknown ? this.#alone.size < maxAlone : (this.#current?.sent.size ?? 0) < maxSent;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      if (this.#unknown) this.#sendAlone(this.#waiting.splice(0, maxAlone - this.#alone.size));
      else {
        this.#current ??= this.#open();
        await this.#current.send(this.#take(maxSent - this.#current.sent.size));
      }
    }
  }

  #take(most: number): Pending<Result>[] {
    const limit = Math.min(most, maxItemsPerMessage, this.#waiting.length);
    let [count, bytes] = [0, 0];
    while (count < limit && (count === 0 || bytes + this.#waiting[count]!.bytes.length <= maxMessageBytes))
      bytes += this.#waiting[count++]!.bytes.length;
    return this.#waiting.splice(0, count);
  }

  #open(): OpenStream<Result> {
    const { open, timeoutMs = itemTimeoutMs, method } = this.#options;
    const stream = new OpenStream<Result>(open(), {
      clock: this.#clock,
      timeoutMs,
      method,
      onResult: () => this.#wake(),
      onEnd: (left, error) => this.#ended(stream, left, error),
    });
    return stream;
  }

  #ended(stream: OpenStream<Result>, left: readonly Pending<Result>[], error: ApiError | undefined): void {
    if (this.#current === stream) this.#current = undefined;
    if (error?.code === 'UNIMPLEMENTED') {
      this.#unknown = true;
      this.#waiting.unshift(...left);
    } else {
      const why = error ?? unavailable(`call ${this.#options.method.path}: the server ended the stream before it answered`);
      for (const { reject } of left) reject(why);
    }
    this.#wake();
  }

  #sendAlone(items: readonly Pending<Result>[]): void {
    const { signal, timeoutMs = itemTimeoutMs } = this.#options;
    for (const { request, resolve, reject } of items) {
      const call = request.unary({ signal, timeoutMs }).then(resolve, (error: unknown) => {
        // A server that comes back may be a newer one.
        if (asApiError(error)?.code === 'UNAVAILABLE') this.#unknown = false;
        reject(error);
      });
      const job = call.finally(() => {
        this.#alone.delete(job);
        this.#wake();
      });
      this.#alone.add(job);
    }
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#idle();
  }
}

interface OpenStreamOptions<Result> {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly method: Method;
  onResult(): void;
  /** With what has no result, and why the stream is over; without an error when the server ended it well. */
  onEnd(left: readonly Pending<Result>[], error: ApiError | undefined): void;
}

/** One stream from its opening to its end. */
class OpenStream<Result extends ItemResult> {
  readonly sent = new Map<number, Pending<Result>>();
  readonly #duplex: Duplex<Buffer, { results?: Result[] }>;
  readonly #options: OpenStreamOptions<Result>;
  readonly #over: Promise<void>;
  #timedOut: ApiError | undefined;
  #cancelTimer: () => void = () => {};
  #watching = false;
  #answeredAt = 0;
  #answers = 0;

  constructor(duplex: Duplex<Buffer, { results?: Result[] }>, options: OpenStreamOptions<Result>) {
    this.#duplex = duplex;
    this.#options = options;
    this.#over = this.#read();
  }

  async send(items: readonly Pending<Result>[]): Promise<void> {
    for (const item of items) {
      item.sentAt = this.#options.clock.now();
      this.sent.set(item.id, item);
    }
    this.#watch();
    // Why a write fails is what the stream ends with, and `#read` hears that.
    await this.#duplex.write(packItems(items.map(({ bytes }) => bytes))).catch(() => {});
  }

  /**
   * Half-closes; everything has its answer, so a server that does not end the stream in turn is not waited for without
   * end.
   */
  async end(): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    this.#duplex.end();
    const stopWaiting = clock.after(timeoutMs, () => this.#duplex.cancel());
    await this.#over;
    stopWaiting();
  }

  async #read(): Promise<void> {
    let failure: ApiError | undefined;
    try {
      for await (const { results = [] } of this.#duplex.messages()) {
        this.#answeredAt = this.#options.clock.now();
        this.#answers++;
        for (const result of results) this.#settle(result);
        this.#options.onResult();
      }
    } catch (error) {
      failure = this.#timedOut ?? asApiError(error);
    }
    this.#cancelTimer();
    const left = [...this.sent.values()];
    this.sent.clear();
    this.#options.onEnd(left, failure);
  }

  #settle(result: Result): void {
    const item = this.sent.get(result.id ?? 0);
    this.sent.delete(result.id ?? 0);
    if (result.error) item?.reject(fromStatus(result.error));
    else item?.resolve(result);
  }

  /**
   * Looks after the item that waits longest: the first, as they were sent in order. A server that goes on answering is
   * not given up: items wait there when their client has a rate.
   */
  #watch(): void {
    const [oldest] = this.sent.values();
    if (this.#watching || oldest === undefined) return;
    const { clock, timeoutMs } = this.#options;
    const since = Math.max(oldest.sentAt, this.#answeredAt);
    const answers = this.#answers;
    this.#watching = true;
    this.#cancelTimer = clock.after(Math.min(Math.max(since + timeoutMs - clock.now(), 0), timeoutMs), () => {
      this.#watching = false;
      if (this.sent.has(oldest.id) && this.#answers === answers) this.#timeOut();
      else this.#watch();
    });
  }

  #timeOut(): void {
    const { timeoutMs, method } = this.#options;
    const why = `the API server did not answer an item of ${method.path} within ${timeoutMs} ms`;
    this.#timedOut = new ApiError('DEADLINE_EXCEEDED', 'Timeout', why);
    this.#duplex.cancel();
  }
}

const itemsTag = 0x0a;

/** A message of items (field 1) that are encoded already. */
function packItems(items: readonly Buffer[]): Buffer {
  return Buffer.concat(items.flatMap((bytes) => [lengthPrefix(bytes.length), bytes]));
}

function lengthPrefix(length: number): Buffer {
  const bytes = [itemsTag];
  let rest = length;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
