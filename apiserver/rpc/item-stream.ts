import { setImmediate as turn } from 'node:timers/promises';
import { status as codes, type handleBidiStreamingCall } from '@grpc/grpc-js';
import { exhausted, internal, unavailable } from '../../api/errors/index.ts';
import type { CallMeters } from '../calls/call-meter.ts';
import { joinWarnings } from '../calls/warnings.ts';
import type { LimitKeeper } from '../limits/client-limits.ts';
import { FairShare } from '../limits/fair-share.ts';
import { type Level, perLevel } from '../limits/levels.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { resetUnread } from './caller.ts';
import { encodeResult, type Item, type Outcome, readItems } from './item-frames.ts';
import { type Duplex, framesOf, keepLittleUnread } from './tunnel/duplex.ts';

/** Bounds of streams of items. Those that clients see stand in the protos, too. */
export interface ItemStreamLimits {
  /** A message may have so many items. */
  readonly itemsPerMessage: number;
  /** Nothing more is read while so many items, or bytes of items and results, are under way or wait to be sent. */
  readonly itemsUnderWay: number;
  readonly bytesUnderWay: number;
  /** After so many items other calls get their turn. */
  readonly itemsPerTurn: number;
  /** Results go out together up to so many bytes: far below what clients receive in one message (4 MiB by default). */
  readonly messageBytes: number;
  /** A client that takes no result for so long is cut off. */
  readonly stallMs: number;
  /**
   * So many streams of a priority level may be open at once, each of which may hold the bytes above twice; then no
   * client gets more than its share.
   */
  readonly streams: number;
}

export const defaultItemStreamLimits: ItemStreamLimits = {
  itemsPerMessage: 1_000,
  itemsUnderWay: 1_000,
  bytesUnderWay: 4 * 1024 * 1024,
  itemsPerTurn: 32,
  messageBytes: 256 * 1024,
  stallMs: 30_000,
  streams: 256,
};

/** No client is refused that has fewer. */
const LEAST_STREAMS = 2;
const RETRY_AFTER_MS = 1_000;
/** So many messages may be on their way to one client. */
const MESSAGES_ON_THEIR_WAY = 2;

/** An item that was read and admitted, but not started. */
export interface ItemWork {
  /**
   * The key of what it writes: items with the same key run in the order in which they were sent. Undefined: an object
   * that no other item can name, because the server makes its name.
   */
  readonly own?: string | undefined;
  /** The group of the item, for callers that wait for all items of a group. */
  readonly partOf?: string | undefined;
  /** It begins when what was sent before it and writes one of these, or is part of one, has ended. */
  readonly waitsFor?: readonly string[];
  run(): Promise<{ readonly bytes: Uint8Array; readonly warnings?: readonly string[] | undefined }>;
}

/** Reads an item. Throws what is wrong with it. */
export type ReadItem = (item: Item, context: CallContext) => ItemWork;

export interface ItemStreamsOptions {
  readonly pipeline: CallPipeline;
  readonly limits: ItemStreamLimits;
  readonly clients: LimitKeeper;
  readonly meters: CallMeters;
}

/** Streams of items: many requests over one call, each with a result of its own (see berth.meta.v1.Objects.Bulk). */
export class ItemStreams {
  readonly #options: ItemStreamsOptions;
  readonly #shares: Readonly<Record<Level, FairShare>>;

  constructor(options: ItemStreamsOptions) {
    this.#options = options;
    this.#shares = perLevel(() => new FairShare({ busyAt: options.limits.streams, least: LEAST_STREAMS }));
  }

  /**
   * A method whose calls are streams of items. Its status is the error of the stream, sent after the results of the
   * items read before.
   */
  method(path: string, read: ReadItem): handleBidiStreamingCall<Buffer, Buffer> {
    const { pipeline, meters, ...options } = this.#options;
    const count = meters.itemsOf(path);
    return pipeline.duplex(async (call, context) => {
      const { level, key, name, isExempt } = context.flow;
      const shares = this.#shares[level];
      if (!shares.enter(key, isExempt))
        throw exhausted(
          `${name} has its share of ${shares.share} streams of writes open (priority level "${level}"): close some, or make single calls`,
          RETRY_AFTER_MS,
        );
      const stream = new ItemStream({ call, context, pipeline, read, count, ...options });
      try {
        await stream.serve();
      } finally {
        // Also when the client has gone: one that reconnects again and again would otherwise have any number of
        // streams.
        void stream.idle().then(() => shares.leave(key));
      }
    });
  }
}

interface ItemStreamParts extends Omit<ItemStreamsOptions, 'meters'> {
  readonly call: Duplex;
  readonly context: CallContext;
  readonly read: ReadItem;
  readonly count: (code: number) => void;
}

/**
 * An item's way: read -> begun, in the order of the items -> carried out -> its result waits -> sent, with all that
 * wait -> taken by the transport. It counts as under way from the first step to the last, and nothing is read while too
 * much is.
 */
class ItemStream {
  readonly #parts: ItemStreamParts;
  #items = 0;
  #bytes = 0;
  #unsent: { readonly result: Buffer; readonly size: number }[] = [];
  #onTheirWay = 0;
  #flushing = false;
  #stall: NodeJS.Timeout | undefined;
  #error: unknown;
  /** Results have no reader any longer: the client has gone, or was cut off. */
  #gone = false;
  #wake: () => void = () => {};
  /** Items that have no result yet. */
  #begun = 0;
  #onIdle: () => void = () => {};
  /** What is being written, by key. */
  readonly #busy = new Map<string, Promise<void>>();

  constructor(parts: ItemStreamParts) {
    this.#parts = parts;
  }

  async serve(): Promise<void> {
    const { call, context } = this.#parts;
    const leave = (): void => {
      this.#gone = true;
      this.#wake();
    };
    const stop = (): void => this.#wake();
    call.on('cancelled', leave);
    context.signal.addEventListener('abort', stop);
    if (call.cancelled) leave();
    keepLittleUnread(call);
    try {
      await this.#readAll().catch((error: unknown) => this.#fail(error));
      await this.#until(() => this.#items === 0);
    } finally {
      clearTimeout(this.#stall);
      call.removeListener('cancelled', leave);
      context.signal.removeEventListener('abort', stop);
    }
    if (this.#error !== undefined) throw this.#error;
    if (context.signal.aborted && !call.cancelled) throw unavailable('the API server is stopping: try again');
  }

  get #ending(): boolean {
    return this.#gone || this.#error !== undefined || this.#parts.context.signal.aborted;
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    this.#wake();
  }

  /** Resolves when the condition holds, or results have no reader any longer. One caller at a time. */
  async #until(condition: () => boolean): Promise<void> {
    while (!this.#gone && !condition()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async #readAll(): Promise<void> {
    const { call, limits, clients, context } = this.#parts;
    const take = (): number => clients.take(context.flow);
    const frames = framesOf(call);
    const hasRoom = (): boolean => this.#items < limits.itemsUnderWay && this.#bytes < limits.bytesUnderWay;
    for (;;) {
      await this.#until(() => this.#ending || hasRoom());
      const frame = await this.#nextFrame(frames);
      if (frame === undefined) return;
      const items = readItems(frame, limits.itemsPerMessage);
      for (let at = 0; at < items.length; at++) {
        if (at > 0 && at % limits.itemsPerTurn === 0) await turn();
        // Beyond its client's rate an item waits, and nothing more is read: what is sent in bulk is slowed down, not
        // refused.
        for (let wait = take(); wait > 0 && !this.#ending; wait = take()) await this.#pause(wait);
        if (this.#ending) return;
        this.#begin(items[at]!);
      }
    }
  }

  /** Resolves after so long, or when the stream ends. */
  async #pause(ms: number): Promise<void> {
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      this.#wake();
    }, ms);
    await this.#until(() => this.#ending || isOver);
    clearTimeout(timer);
  }

  /** Undefined when there is none any more, or the stream ends for another reason. */
  async #nextFrame(frames: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
    let frame: IteratorResult<Buffer> | undefined;
    frames.next().then(
      (next) => {
        frame = next;
        this.#wake();
      },
      (error: unknown) => this.#fail(error),
    );
    await this.#until(() => this.#ending || frame !== undefined);
    return this.#ending || !frame || frame.done ? undefined : frame.value;
  }

  /** Resolves when every item that was begun has ended, after `serve`. */
  async idle(): Promise<void> {
    if (this.#begun === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #begin(item: Item): void {
    this.#items++;
    this.#begun++;
    this.#bytes += item.size;
    let work: ItemWork;
    const context = this.#parts.context.forItem?.() ?? this.#parts.context;
    try {
      work = this.#parts.read(item, context);
      if (context.authorized === false) throw internal('the item asks for no permission');
    } catch (error) {
      this.#finish(item, this.#refused(error, context));
      return;
    }
    const before = this.#jobsBefore(work);
    const job =
      before.length > 0
        ? Promise.all(before).then(() => this.#carryOut(item, work, context))
        : this.#carryOut(item, work, context);
    if (work.own !== undefined) this.#occupy(work.own, job);
    if (work.partOf !== undefined)
      this.#occupy(
        work.partOf,
        Promise.all([this.#busy.get(work.partOf), job]).then(() => {}),
      );
  }

  #jobsBefore({ own, waitsFor = [] }: ItemWork): Promise<void>[] {
    const jobs = (own === undefined ? waitsFor : [own, ...waitsFor]).map((key) => this.#busy.get(key));
    return jobs.filter((job) => job !== undefined);
  }

  #occupy(key: string, job: Promise<void>): void {
    this.#busy.set(key, job);
    void job.then(() => {
      if (this.#busy.get(key) === job) this.#busy.delete(key);
    });
  }

  async #carryOut(item: Item, work: ItemWork, context: CallContext): Promise<void> {
    try {
      const result = await work.run();
      context.audited?.ended();
      const warnings = context.warnings && joinWarnings(result.warnings, context.warnings);
      this.#finish(item, warnings ? { ...result, warnings } : result);
    } catch (error) {
      this.#finish(item, this.#refused(error, context));
    }
  }

  #refused(error: unknown, context: CallContext): Outcome {
    const { pipeline, call } = this.#parts;
    const { code, bytes } = pipeline.errors.refuseItem(error, call, context);
    return { code, error: bytes };
  }

  #finish(item: Item, outcome: Outcome): void {
    if (--this.#begun === 0) this.#onIdle();
    this.#parts.count('error' in outcome ? outcome.code : codes.OK);
    const result = encodeResult(item.id, outcome);
    this.#bytes += result.length - item.size;
    this.#unsent.push({ result, size: result.length });
    if (this.#flushing) return;
    this.#flushing = true;
    // What is committed together ends in one turn, and its results travel together.
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (!this.#gone && this.#unsent.length > 0 && this.#onTheirWay < MESSAGES_ON_THEIR_WAY) {
      let [count, bytes] = [0, 0];
      while (count < this.#unsent.length && (count === 0 || bytes + this.#unsent[count]!.size <= this.#parts.limits.messageBytes))
        bytes += this.#unsent[count++]!.size;
      const sent = this.#unsent.splice(0, count);
      this.#write(
        Buffer.concat(
          sent.map(({ result }) => result),
          bytes,
        ),
        count,
      );
    }
  }

  #write(message: Buffer, count: number): void {
    const { call, limits } = this.#parts;
    this.#onTheirWay++;
    this.#stall ??= setTimeout(() => this.#cutOff(), limits.stallMs);
    call.write(message, () => {
      this.#onTheirWay--;
      this.#items -= count;
      this.#bytes -= message.length;
      clearTimeout(this.#stall);
      this.#stall = this.#onTheirWay > 0 && !this.#gone ? setTimeout(() => this.#cutOff(), limits.stallMs) : undefined;
      this.#flush();
      this.#wake();
    });
  }

  #cutOff(): void {
    resetUnread(this.#parts.call);
    this.#gone = true;
    this.#fail(exhausted('the stream was cut off because its results were not read', RETRY_AFTER_MS));
  }
}
