import { exhausted } from '../../api/errors/index.ts';
import type { FrameRoom } from '../limits/watch-room.ts';
import type { EventBatcher } from '../watch/event-batcher.ts';
import type { Ticker } from '../watch/ticker.ts';
import type { Turns } from '../watch/turns.ts';
import type { WatchSource } from '../watch/watch-source.ts';
import type { WatchMeter } from './watch-meter.ts';
import type { WatchSink } from './watch-sink.ts';

export interface WatchLimits {
  /** The longest interval between bookmarks, if requested; the first follows the initial events. */
  readonly bookmarkMs: number;
  /** A stream ends normally at this age, give or take a quarter; the client resumes. */
  readonly maxAgeMs: number;
  /** A watcher that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** So many messages may be on their way to one watcher. */
  readonly inFlight: number;
}

export const defaultWatchLimits: WatchLimits = { bookmarkMs: 45_000, maxAgeMs: 40 * 60_000, stallMs: 30_000, inFlight: 2 };

export interface PumpOptions {
  readonly bookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly limits: WatchLimits;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Wakes the watchers of the kind. */
  readonly batcher: EventBatcher;
  readonly ticker: Ticker;
  /** Where a watcher goes on that has much to look at and finds little. */
  readonly turns: Turns;
  readonly meter: WatchMeter;
  /** What the client's flow may leave unread. */
  readonly room: FrameRoom;
  /** Called once, when the client has what there was at the beginning, or is gone. */
  readonly onStarted: () => void;
}

/**
 * Carries a watch to its client until the client goes, its time is over (then it ends normally), or it is cut off: a
 * client that does not read, so that its place in the ring is lost or nothing leaves for `stallMs`, gets
 * RESOURCE_EXHAUSTED and may resume.
 */
export function pumpWatch(sink: WatchSink, source: WatchSource, options: PumpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const pump = new Pump(sink, source, options, (error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
    pump.start();
  });
}

class Pump {
  readonly #sink: WatchSink;
  readonly #source: WatchSource;
  readonly #options: PumpOptions;
  readonly #done: (error?: unknown) => void;
  #inFlight = 0;
  /** On their way to the client, in order. */
  readonly #unread: Buffer[] = [];
  #ended = false;
  #started = false;
  #greeted = false;
  #converting = false;
  #leave: () => void = () => {};
  /** Instants of the ticker's clock. */
  #endAt = 0;
  #bookmarkAt = 0;
  #progressAt = 0;

  constructor(sink: WatchSink, source: WatchSource, options: PumpOptions, done: (error?: unknown) => void) {
    this.#sink = sink;
    this.#source = source;
    this.#options = options;
    this.#done = done;
  }

  start(): void {
    this.#sink.begin();
    const { signal, limits, timeoutSeconds, random, batcher, ticker, turns } = this.#options;
    const abort = (): void => this.#end();
    signal.addEventListener('abort', abort);
    const leaveBatcher = batcher.add(this.#wake);
    const leaveTicker = ticker.add((now) => this.#tick(now));
    this.#leave = () => {
      signal.removeEventListener('abort', abort);
      leaveBatcher();
      leaveTicker();
      turns.delete(this.#wake);
    };
    const age = limits.maxAgeMs * (0.75 + random() / 2);
    this.#endAt = ticker.now() + (timeoutSeconds ? Math.min(timeoutSeconds * 1000, age) : age);
    this.#bookmarkAt = this.#nextBookmarkAt();
    if (signal.aborted) this.#end();
    else this.#wake();
  }

  /** Sends what there is, as far as the client takes it. */
  readonly #wake = (): void => {
    try {
      while (!this.#ended && this.#inFlight < this.#options.limits.inFlight) {
        if (this.#source.pending && !this.#options.room.hasRoom(this.#wake)) break;
        const frame = this.#source.next();
        if (!frame) break;
        this.#write(frame);
      }
      if (this.#inFlight === 0 && !this.#source.hasInitial) this.#reportStarted();
      this.#greet();
      if (this.#ended) return;
      if (this.#source.lost) this.#cutOff();
      else if (this.#source.waits) this.#convert();
      else if (this.#source.pending && this.#mayWrite()) this.#options.turns.add(this.#wake);
    } catch (error) {
      this.#end(error);
    }
  };

  /** Otherwise it is woken when a message has left, or when its flow has room. */
  #mayWrite(): boolean {
    return this.#inFlight < this.#options.limits.inFlight && this.#options.room.hasRoom(this.#wake);
  }

  /** Asks the webhook that converts what comes next; one that fails ends the watch, and the client resumes. */
  #convert(): void {
    if (this.#converting) return;
    this.#converting = true;
    this.#source.convert().then(
      () => {
        this.#converting = false;
        if (!this.#ended) this.#wake();
      },
      (error: unknown) => this.#end(error),
    );
  }

  #tick(now: number): void {
    const { limits, bookmarks } = this.#options;
    if (now >= this.#endAt) this.#end();
    else if (this.#inFlight > 0 && now - this.#progressAt >= limits.stallMs) this.#cutOff();
    else if (bookmarks && now >= this.#bookmarkAt) {
      this.#bookmarkAt = this.#nextBookmarkAt();
      this.#bookmark();
    }
  }

  #nextBookmarkAt(): number {
    const { limits, random, ticker } = this.#options;
    return ticker.now() + limits.bookmarkMs * (0.75 + random() / 4);
  }

  #write(frame: Buffer): void {
    if (this.#inFlight++ === 0) this.#progressAt = this.#options.ticker.now();
    const { meter, room } = this.#options;
    room.take(frame);
    this.#unread.push(frame);
    meter.messages.inc();
    meter.bytes.inc(frame.length);
    this.#sink.send(frame, this.#written);
  }

  readonly #written = (): void => {
    this.#inFlight--;
    const frame = this.#unread.shift();
    if (frame) this.#options.room.give(frame);
    this.#progressAt = this.#options.ticker.now();
    if (!this.#source.hasInitial) this.#reportStarted();
    if (!this.#ended) this.#wake();
  };

  #reportStarted(): void {
    if (this.#started) return;
    this.#started = true;
    this.#options.onStarted();
  }

  /**
   * A version from before restarts is fresh at once: each kill leaves a gap, and only so many fit into what a start
   * replays.
   */
  #greet(): void {
    if (this.#ended || this.#greeted || !this.#options.bookmarks || this.#inFlight > 0) return;
    if (this.#source.pending || this.#source.awaits) return;
    this.#greeted = true;
    this.#bookmark();
  }

  #bookmark(): void {
    const { pending, awaits } = this.#source;
    if (!this.#ended && this.#inFlight === 0 && !pending && !awaits) this.#write(this.#source.bookmark());
  }

  #cutOff(): void {
    this.#sink.cutOff();
    this.#options.meter.cutOff.inc();
    this.#end(exhausted('the watch was cut off because its events were not read: resume from the last version', 1_000));
  }

  #end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leave();
    for (const frame of this.#unread.splice(0)) this.#options.room.give(frame);
    this.#options.room.forget(this.#wake);
    this.#source.close();
    this.#reportStarted();
    this.#done(error);
  }
}
