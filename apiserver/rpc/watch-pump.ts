import { constants } from 'node:http2';
import type { ServerWritableStream } from '@grpc/grpc-js';
import { exhausted } from '../../api/errors/index.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import type { WatchSource } from '../watch/watch-source.ts';
import { http2StreamOf } from './caller.ts';

export interface WatchLimits {
  /** Bookmarks come at least this often to those who want them, the first one as soon as they have what there is. */
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
}

/** After this, a cut-off stream that cannot even take its status is reset. */
const RESET_AFTER_MS = 1_000;

/**
 * Carries a watch to its client until the client goes, its time is over (then it ends normally), or it is cut off: a client that does
 * not read, so that its place in the ring is lost or nothing leaves for `stallMs`, gets RESOURCE_EXHAUSTED and may resume.
 */
export function pumpWatch(
  call: ServerWritableStream<Buffer, Buffer>,
  cache: KindCache,
  source: WatchSource,
  options: PumpOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const pump = new Pump(call, cache, source, options, (error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
    pump.start();
  });
}

class Pump {
  private readonly call: ServerWritableStream<Buffer, Buffer>;
  private readonly cache: KindCache;
  private readonly source: WatchSource;
  private readonly options: PumpOptions;
  private readonly done: (error?: unknown) => void;
  private inFlight = 0;
  private ended = false;
  private greeted = false;
  private leave: () => void = () => {};
  private readonly timers: NodeJS.Timeout[] = [];
  private stall: NodeJS.Timeout | undefined;

  constructor(
    call: ServerWritableStream<Buffer, Buffer>,
    cache: KindCache,
    source: WatchSource,
    options: PumpOptions,
    done: (error?: unknown) => void,
  ) {
    this.call = call;
    this.cache = cache;
    this.source = source;
    this.options = options;
    this.done = done;
  }

  start(): void {
    const { signal, limits, bookmarks, timeoutSeconds, random } = this.options;
    const abort = (): void => this.end();
    signal.addEventListener('abort', abort);
    const leaveWave = this.cache.wave.add(() => this.wake());
    this.leave = () => {
      signal.removeEventListener('abort', abort);
      leaveWave();
    };
    const age = limits.maxAgeMs * (0.75 + random() / 2);
    this.timers.push(setTimeout(abort, timeoutSeconds ? Math.min(timeoutSeconds * 1000, age) : age));
    if (bookmarks) this.timers.push(setInterval(() => this.bookmark(), limits.bookmarkMs * (0.75 + random() / 4)));
    if (signal.aborted) this.end();
    else this.wake();
  }

  /** Sends what there is, as far as the client takes it. */
  private wake(): void {
    try {
      while (!this.ended && this.inFlight < this.options.limits.inFlight) {
        const chunk = this.source.next();
        if (!chunk) break;
        this.write(chunk);
      }
      this.greet();
      if (!this.ended && this.source.lost) this.cutOff();
    } catch (error) {
      this.end(error);
    }
  }

  private write(chunk: Buffer): void {
    this.inFlight++;
    this.stall ??= setTimeout(() => this.cutOff(), this.options.limits.stallMs);
    this.call.write(chunk, () => {
      this.inFlight--;
      clearTimeout(this.stall);
      this.stall = undefined;
      if (this.inFlight > 0 && !this.ended) this.stall = setTimeout(() => this.cutOff(), this.options.limits.stallMs);
      this.wake();
    });
  }

  /** A version from before restarts is fresh at once: each kill leaves a gap, and only so many fit into what a start replays. */
  private greet(): void {
    if (this.ended || this.greeted || !this.options.bookmarks || this.inFlight > 0 || this.source.pending) return;
    this.greeted = true;
    this.bookmark();
  }

  private bookmark(): void {
    if (!this.ended && this.inFlight === 0 && !this.source.pending) this.write(this.source.bookmark());
  }

  private cutOff(): void {
    const stream = http2StreamOf(this.call);
    this.end(exhausted('the watch was cut off because its events were not read: resume from the last version', 1_000));
    const reset = setTimeout(() => stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), RESET_AFTER_MS);
    reset.unref();
    stream?.once('close', () => clearTimeout(reset));
  }

  private end(error?: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.leave();
    for (const timer of this.timers) clearTimeout(timer);
    clearTimeout(this.stall);
    this.done(error);
  }
}
