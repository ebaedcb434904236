import { type ApiError, exhausted, unavailable } from '../../api/errors/index.ts';
import { isControlPlane } from '../auth/identity.ts';
import { FairShare } from '../limits/fair-share.ts';

export interface ListLimits {
  /** Bytes of answers that are being made or on their way to clients. */
  readonly maxBytes: number;
  /** One user's part of them. */
  readonly userBytes: number;
  /** Lists that may wait for their turn; then no user gets more than an equal share of the places. */
  readonly maxWaiting: number;
  /** How long one waits before it is refused. */
  readonly waitMs: number;
  /** An answer that was not taken after so long is cut off. */
  readonly takeMs: number;
}

/**
 * 16 MiB are eight full pages: enough to keep a processor busy, and, with the copies that the library and TLS make, less than a third of what a
 * server with 5,000 pods needs anyway. A client waits 30 s for an answer: it should hear before that it is to come back later.
 */
export const defaultListLimits: ListLimits = {
  maxBytes: 16 * 1024 * 1024,
  userBytes: 12 * 1024 * 1024,
  maxWaiting: 1_000,
  waitMs: 15_000,
  takeMs: 30_000,
};

export interface ListRequestSize {
  readonly user: string;
  /** What the answer may take. */
  readonly bytes: number;
  /** Asked for only by those who wait. */
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
  readonly user: string;
  readonly bytes: number;
  admit(): void;
}

/** Nobody is refused that has fewer lists waiting. */
const LEAST_WAITING = 10;
/** A refused list comes back after 1 to 3 s, each at a time of its own. */
const RETRY_MS = 1_000;
const RETRY_JITTER_MS = 2_000;

/**
 * Bounds what the answers of lists hold in memory together, however many clients come at once: a list has its turn when there is room for its
 * answer, in the order of arrival, and keeps the room until its client has taken the answer. One user never has all the room, nor all the places of
 * those who wait. Who waits too long, or comes when too many wait, gets RESOURCE_EXHAUSTED and a delay. The control plane always may wait.
 */
export class ListGate {
  private readonly limits: ListLimits;
  private readonly random: () => number;
  private readonly users = new Map<string, number>();
  private readonly waiting = new Set<Waiting>();
  private readonly places: FairShare;
  private used = 0;
  private refused = 0;

  constructor(limits: ListLimits, random: () => number) {
    this.limits = limits;
    this.places = new FairShare({ busyAt: limits.maxWaiting, least: Math.min(LEAST_WAITING, limits.maxWaiting) });
    this.random = random;
  }

  get usedBytes(): number {
    return this.used;
  }

  get refusedLists(): number {
    return this.refused;
  }

  get waitingLists(): number {
    return this.waiting.size;
  }

  /** Throws RESOURCE_EXHAUSTED, and UNAVAILABLE when the signal aborts. */
  async enter({ user, bytes, signal }: ListRequestSize): Promise<ListPass> {
    const wanted = Math.max(0, Math.min(bytes, this.limits.userBytes));
    if (this.waiting.size === 0 && this.hasRoom(user, wanted)) return this.pass(user, wanted);
    if (!this.places.enter(user, isControlPlane(user))) throw this.refusal();
    return this.wait(user, wanted, signal());
  }

  private wait(user: string, bytes: number, signal: AbortSignal): Promise<ListPass> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        this.waiting.delete(waiting);
        this.places.leave(user);
      };
      const refuse = (error: ApiError): void => {
        leave();
        reject(error);
        this.admitNext();
      };
      const admit = (): void => {
        leave();
        resolve(this.pass(user, bytes));
      };
      const abort = (): void => refuse(unavailable('cannot list: the client is gone, or the server is stopping'));
      const timer = setTimeout(() => refuse(this.refusal()), this.limits.waitMs);
      const waiting: Waiting = { user, bytes, admit };
      this.waiting.add(waiting);
      signal.addEventListener('abort', abort);
      if (signal.aborted) abort();
      else this.admitNext();
    });
  }

  private pass(user: string, bytes: number): ListPass {
    let held = 0;
    const hold = (next: number): void => {
      const sum = (this.users.get(user) ?? 0) + next - held;
      this.used += next - held;
      if (sum > 0) this.users.set(user, sum);
      else this.users.delete(user);
      const isLess = next < held;
      held = next;
      if (isLess) this.admitNext();
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

  /** In the order of arrival, past those whose user has enough; a large one is not passed by, or it would wait for ever. */
  private admitNext(): void {
    for (const waiting of this.waiting) {
      if (this.isOverShare(waiting.user, waiting.bytes)) continue;
      if (!this.hasRoom(waiting.user, waiting.bytes)) return;
      waiting.admit();
    }
  }

  private hasRoom(user: string, bytes: number): boolean {
    return this.used + bytes <= this.limits.maxBytes && !this.isOverShare(user, bytes);
  }

  private isOverShare(user: string, bytes: number): boolean {
    return (this.users.get(user) ?? 0) + bytes > this.limits.userBytes;
  }

  private refusal(): ApiError {
    this.refused++;
    const retryMs = Math.round(RETRY_MS + this.random() * RETRY_JITTER_MS);
    return exhausted(`cannot list now: too many lists are waiting (${this.waiting.size}); try again in a moment`, retryMs);
  }
}
