import { isCancelled, isExhausted, isExpired, isNotFound, isUnavailable } from '../../api/errors/index.ts';
import type { PodLogOptions, Timestamp } from '../../api/generated/types.ts';
import { fromRfc3339 } from '../../api/meta/time.ts';
import { createBackoff } from '../backoff.ts';
import { type Clock, pause, systemClock } from '../clock.ts';
import type { ObjectKey } from '../services/resource-client.ts';
import { LogLines, type LogPiece } from './log-lines.ts';
import { createLogPosition, type LogGap, type LogPosition } from './log-position.ts';
import type { PodStreams } from './pod-streams.ts';

export interface FollowLogsOptions {
  /** Ends it; what is thrown then is CANCELLED. */
  readonly signal?: AbortSignal;
  /** The connection was lost, and is being made again. */
  readonly onLost?: (error: unknown) => void;
  /** It goes on. */
  readonly onResumed?: () => void;
  /**
   * Lines may be missing: they were written faster than they were read, or while there was no connection, and the node
   * has deleted them. Called before the first line behind the gap is given.
   */
  readonly onGap?: (gap: LogGap) => void;
  /** How long to try before the loss is thrown (default five minutes). */
  readonly giveUpAfterMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

const defaultGiveUpMs = 300_000;
const newline = 10;

/**
 * A container's log as it grows, until the container ends. Goes on after a lost connection, a restart of the API
 * server, of the node's agent or of its container engine: no line is repeated, and none is lost but for those that the
 * node has deleted meanwhile, which `onGap` tells. Stays with the run of the container that it began with, as long as
 * the node keeps it. When the container has ended the rest is read once more without following: engines up to Docker
 * 20.10 end a log that is followed with the container, though its reader was behind.
 *
 * What is given ends with the end of a line, but for lines of more than 64 KiB and a last line without an end. Errors
 * before the log was opened, and all but UNAVAILABLE, are thrown; NOT_FOUND afterwards says that the run ended and was
 * removed while the log could not be read.
 */
export async function* followLogs(
  pods: Pick<PodStreams, 'logResponses'>,
  key: ObjectKey,
  log: PodLogOptions,
  options: FollowLogsOptions = {},
): AsyncGenerator<Buffer> {
  const { clock = systemClock, giveUpAfterMs = defaultGiveUpMs, signal = new AbortController().signal } = options;
  const backoff = createBackoff({ initialMs: 200, maxMs: 5_000, ...(options.random && { random: options.random }) });
  const reading = new Reading(log, options.onGap);
  let lostAt: number | undefined;
  let ended = false;
  let held: LogLines | undefined;
  for (;;) {
    const lines = new LogLines();
    try {
      const request = { ...key, containerID: reading.containerID };
      for await (const { containerID, openedAt, data } of pods.logResponses(request, reading.request(!ended), { signal })) {
        if (containerID) {
          reading.opened(containerID, openedAt);
          if (lostAt !== undefined) options.onResumed?.();
          lostAt = undefined;
          backoff.reset();
        }
        const fresh = data && data.length > 0 ? reading.fresh(lines.push(data)) : undefined;
        if (fresh && fresh.length > 0) yield fresh;
        if (reading.complete) return;
      }
      // A line without an end may have been cut: the second reading tells.
      if (ended) {
        const last = reading.fresh(lines.flush());
        if (last.length > 0) yield last;
        return;
      }
      ended = true;
      held = lines;
      reading.lost();
      continue;
    } catch (error) {
      // Removed since it ended: there is nothing left to read.
      if (ended && isNotFound(error)) {
        const last = held && reading.fresh(held.flush());
        if (last && last.length > 0) yield last;
        return;
      }
      if (signal.aborted || reading.containerID === undefined || !isPassing(error)) throw error;
      // The connection is well: only what this one was reading has been deleted, and what is still there is read next.
      if (!isExpired(error)) {
        if (lostAt === undefined) options.onLost?.(error);
        lostAt ??= clock.now();
      }
      if (lostAt !== undefined && clock.now() - lostAt >= giveUpAfterMs) throw error;
    }
    reading.lost();
    await pause(backoff.next(), signal, clock);
  }
}

/** Whether the same call may succeed a little later. A server that ends its calls as it goes may say CANCELLED. */
function isPassing(error: unknown): boolean {
  return isUnavailable(error) || isExhausted(error) || isCancelled(error) || isExpired(error);
}

/** What is known of one log that is being followed. */
class Reading {
  containerID: string | undefined;
  readonly #log: PodLogOptions;
  readonly #position: LogPosition;
  readonly #onGap: FollowLogsOptions['onGap'];
  #openedAt: Timestamp | undefined;
  #left: number;
  /** Whether what was handed on ends within a line. */
  #inLine = false;

  constructor(log: PodLogOptions, onGap: FollowLogsOptions['onGap']) {
    this.#log = log;
    this.#onGap = onGap;
    this.#position = createLogPosition({ inMiddle: log.tailLines !== undefined });
    this.#left = log.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  get complete(): boolean {
    return this.#left <= 0;
  }

  /** What to ask for: at first what was wanted, afterwards what is missing. Times are needed to tell. */
  request(follow: boolean): PodLogOptions {
    const { limitBytes: _cutHere, ...log } = this.#log;
    const first: PodLogOptions = { ...log, follow, timestamps: true };
    if (this.containerID === undefined) return first;
    const { tailLines, sinceSeconds, sinceTime, ...rest } = first;
    const from = this.#position.resumeFrom;
    if (from !== undefined) return { ...rest, sinceTime: fromRfc3339(from) };
    // No line to go on from: of a log's end, what was written since it was opened is missing;
    // otherwise it is the same request again.
    const began = sinceSeconds === undefined ? sinceTime : secondsBefore(this.#openedAt, sinceSeconds);
    return { ...rest, sinceTime: tailLines === undefined ? began : this.#openedAt };
  }

  opened(containerID: string, at: Timestamp | undefined): void {
    this.containerID = containerID;
    this.#openedAt ??= at;
  }

  lost(): void {
    this.#position.rewind();
  }

  /** What of these pieces has not been handed on, as it was asked for: with or without times, and not too much. */
  fresh(pieces: readonly LogPiece[]): Buffer {
    const parts: Buffer[] = [];
    for (const { time, data, first } of pieces) {
      const seen = this.#position.see(time, data.length, first);
      if (seen === data.length && data.length > 0) continue;
      const { gap } = this.#position;
      if (first && gap) {
        this.#onGap?.(gap);
        if (this.#inLine) parts.push(Buffer.from('\n'));
      }
      if (first && seen === 0 && this.#log.timestamps) parts.push(Buffer.from(`${time} `));
      parts.push(data.subarray(seen));
    }
    const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    const wanted = all.length > this.#left ? all.subarray(0, this.#left) : all;
    this.#left -= wanted.length;
    if (wanted.length > 0) this.#inLine = wanted[wanted.length - 1] !== newline;
    return wanted;
  }
}

function secondsBefore(time: Timestamp | undefined, seconds: number): Timestamp | undefined {
  return time && { ...time, seconds: (time.seconds ?? 0) - seconds };
}
