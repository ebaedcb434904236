import { type ApiError, exhausted, unavailable } from '../../api/errors/index.ts';
import { FairShare } from '../limits/fair-share.ts';
import { type Flow, type Level, perLevel } from '../limits/levels.ts';

export interface ListLimits {
  /** Bytes of answers that are being made or on their way to clients; each priority level has its part. */
  readonly maxBytes: number;
  /** One flow's part of them; never more than three quarters of its level. */
  readonly userBytes: number;
  /** Lists of a level that may wait for their turn; then no flow gets more than an equal share of the places. */
  readonly maxWaiting: number;
  /** How long one waits before it is refused. */
  readonly waitMs: number;
  /** The wait limit of a flow that holds nothing, while its level holds less than twice its share. */
  readonly firstWaitMs: number;
  /** An answer that was not taken after so long is cut off. */
  readonly takeMs: number;
}

/**
 * 32 MiB are sixteen full pages, six of them for administrators and the control plane, four for nodes, six for tenants:
 * enough to keep a processor busy, and, with the copies that the library and TLS make, less than half of what a server
 * with 5,000 pods needs anyway. The wait limit is below the client's deadline of 30 s, so that the client gets a retry
 * delay instead of a timeout.
 */
export const defaultListLimits: ListLimits = {
  maxBytes: 32 * 1024 * 1024,
  userBytes: 12 * 1024 * 1024,
  maxWaiting: 1_000,
  waitMs: 15_000,
  firstWaitMs: 1_000,
  takeMs: 30_000,
};

export interface ListRequestSize {
  readonly flow: Flow;
  /** What the answer may take. */
  readonly bytes: number;
  /** Evaluated only if the list has to wait. */
  readonly signal: () => AbortSignal;
}

/** The room that one list has. */
export interface ListPass {
  /** Says what the answer takes in fact. */
  resize(bytes: number): void;
  /** Gives the room back; more than once does no harm. */
  leave(): void;
}

interface Waiting {
  readonly flow: Flow;
  readonly bytes: number;
  admit(): void;
}

/** No flow is refused that has fewer lists waiting. */
const LEAST_WAITING = 10;
const FLOW_PART = 3 / 4;
/** A refused list comes back after 1 to 3 s, each at a time of its own. */
const RETRY_MS = 1_000;
const RETRY_JITTER_MS = 2_000;

/**
 * Bounds what the answers of lists hold in memory together, however many clients come at once. Each priority level has
 * room of its own, so that tenants never make administrators and nodes wait. Fails with RESOURCE_EXHAUSTED and a delay
 * when a list waits too long or too many wait.
 */
export class ListGate {
  readonly #gates: Readonly<Record<Level, LevelGate>>;

  constructor(limits: ListLimits, random: () => number) {
    this.#gates = perLevel(({ lists }, level) => {
      const maxBytes = Math.round(limits.maxBytes * lists);
      const userBytes = Math.ceil(Math.min(limits.userBytes, maxBytes * FLOW_PART));
      return new LevelGate(level, { ...limits, maxBytes, userBytes }, random);
    });
  }

  /** What a level holds, as metrics show it. */
  read(read: (gate: LevelGate) => number): { readonly labels: readonly string[]; readonly value: number }[] {
    return Object.entries(this.#gates).map(([level, gate]) => ({ labels: [level], value: read(gate) }));
  }

  /** Throws RESOURCE_EXHAUSTED, and UNAVAILABLE when the signal aborts. */
  async enter(request: ListRequestSize): Promise<ListPass> {
    return this.#gates[request.flow.level].enter(request);
  }
}

/**
 * The list memory of one level. A list starts when the memory for its answer is available, and releases it when the
 * client has read the answer. The next list is that of the flow that holds least, in order of arrival. A flow that
 * holds nothing waits for `firstWaitMs` at most, until the level holds twice its share. The control plane may always
 * wait.
 */
class LevelGate {
  readonly #level: Level;
  readonly #limits: ListLimits;
  readonly #random: () => number;
  readonly #flows = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  readonly #places: FairShare;
  #used = 0;
  #refused = 0;

  constructor(level: Level, limits: ListLimits, random: () => number) {
    this.#level = level;
    this.#limits = limits;
    this.#places = new FairShare({ busyAt: limits.maxWaiting, least: Math.min(LEAST_WAITING, limits.maxWaiting) });
    this.#random = random;
  }

  get usedBytes(): number {
    return this.#used;
  }

  get refusedLists(): number {
    return this.#refused;
  }

  get waitingLists(): number {
    return this.#waiting.size;
  }

  async enter({ flow, bytes, signal }: ListRequestSize): Promise<ListPass> {
    const wanted = Math.max(0, Math.min(bytes, this.#limits.userBytes));
    if (this.#waiting.size === 0 && this.#hasRoom(flow, wanted)) return this.#pass(flow, wanted);
    if (!this.#places.enter(flow.key, flow.isExempt)) throw this.#refusal(flow);
    return this.#wait(flow, wanted, signal());
  }

  #wait(flow: Flow, bytes: number, signal: AbortSignal): Promise<ListPass> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        this.#waiting.delete(waiting);
        this.#places.leave(flow.key);
      };
      const refuse = (error: ApiError): void => {
        leave();
        reject(error);
        this.#admitNext();
      };
      const admit = (): void => {
        leave();
        resolve(this.#pass(flow, bytes));
      };
      const abort = (): void => refuse(unavailable('cannot list: the client is gone, or the server is stopping'));
      const over = (leftMs: number): void => {
        if (!this.#flows.has(flow.key) && this.#used + bytes <= 2 * this.#limits.maxBytes) admit();
        else if (leftMs > 0) timer = setTimeout(() => over(0), leftMs);
        else refuse(this.#refusal(flow));
      };
      const { waitMs } = this.#limits;
      const firstWaitMs = Math.min(this.#limits.firstWaitMs, waitMs);
      let timer = setTimeout(() => over(waitMs - firstWaitMs), firstWaitMs);
      const waiting: Waiting = { flow, bytes, admit };
      this.#waiting.add(waiting);
      signal.addEventListener('abort', abort);
      if (signal.aborted) abort();
      else this.#admitNext();
    });
  }

  #pass({ key }: Flow, bytes: number): ListPass {
    let held = 0;
    const hold = (next: number): void => {
      const sum = (this.#flows.get(key) ?? 0) + next - held;
      this.#used += next - held;
      if (sum > 0) this.#flows.set(key, sum);
      else this.#flows.delete(key);
      const isLess = next < held;
      held = next;
      if (isLess) this.#admitNext();
    };
    hold(bytes);
    let hasLeft = false;
    return {
      resize: (next) => {
        if (!hasLeft) hold(next);
      },
      leave: () => {
        hasLeft = true;
        hold(0);
      },
    };
  }

  /** Skips lists of flows that hold enough. Other large lists are not skipped, or they would starve. */
  #admitNext(): void {
    for (let next = this.#next(); next && this.#hasRoom(next.flow, next.bytes); next = this.#next()) next.admit();
  }

  #next(): Waiting | undefined {
    let best: Waiting | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const held = this.#flows.get(waiting.flow.key) ?? 0;
      if (held >= least || this.#isOverShare(waiting.flow, waiting.bytes)) continue;
      [best, least] = [waiting, held];
      if (held === 0) break;
    }
    return best;
  }

  #hasRoom(flow: Flow, bytes: number): boolean {
    return this.#used + bytes <= this.#limits.maxBytes && !this.#isOverShare(flow, bytes);
  }

  #isOverShare({ key }: Flow, bytes: number): boolean {
    return (this.#flows.get(key) ?? 0) + bytes > this.#limits.userBytes;
  }

  #refusal({ key, name }: Flow): ApiError {
    this.#refused++;
    const retryMs = Math.round(RETRY_MS + this.#random() * RETRY_JITTER_MS);
    const held = this.#flows.get(key) ?? 0;
    const remedy =
      held > 0 ? `${name} has ${held} bytes of lists on their way: read them, or try again later` : 'try again in a moment';
    return exhausted(
      `cannot list now: too many lists wait (${this.#waiting.size}, priority level "${this.#level}"); ${remedy}`,
      retryMs,
    );
  }
}
