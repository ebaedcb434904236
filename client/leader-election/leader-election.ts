import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { badRequest, isInvalid } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { linkAbort, onAbort } from '../abort.ts';
import { type Clock, pause, systemClock } from '../clock.ts';
import { type Logger, stderrLogger } from '../logger.ts';
import type { ResourceClient } from '../services/resource-client.ts';
import { createLeaseClaim, type LeaseClaim } from './lease-claim.ts';

export interface LeaderElectionOptions {
  readonly leases: Pick<ResourceClient<Lease>, 'get' | 'create' | 'update' | 'watch'>;
  /** Where the lease is (default "kube-system"). */
  readonly namespace?: string | undefined;
  /** Of the lease: who competes for the same work names the same one. */
  readonly name: string;
  /** Of this candidate; no two may share one (default: the machine's name and a random part). */
  readonly identity?: string | undefined;
  /** For how long others leave a lease alone that is not renewed (default 15 s, in whole seconds). */
  readonly leaseDurationMs?: number | undefined;
  /**
   * For how long a leader that cannot renew goes on leading (default 10 s);
   * the rest of the lease is for ending its work.
   */
  readonly renewDeadlineMs?: number | undefined;
  /**
   * Everything that the work writes carries its term (`ConnectOptions.leaseTerm`), so that the server refuses it once
   * another leads: work that ends late does no harm, and is waited for (default false).
   */
  readonly isFenced?: boolean | undefined;
  /** How often a leader renews, and others look (default 2 s). */
  readonly retryPeriodMs?: number | undefined;
  /** Called whenever another candidate, this one included, is seen to lead. */
  readonly onLeader?: ((identity: string) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** From 0 (included) to 1 (excluded). */
  readonly random?: (() => number) | undefined;
  readonly logger?: Logger | undefined;
}

/** 'ended': the work is over, or the caller stopped it. 'lost': another may lead now. */
export type LeadershipEnd = 'ended' | 'lost';

/**
 * The work under a lost lease has not ended in time: another may be doing it already,
 * and only the end of the process ends it for sure.
 */
export class LeadershipOverrunError extends Error {
  constructor(lease: string, graceMs: number) {
    super(`lease "${lease}" was lost ${graceMs / 1000} s ago and the work under it has not ended: end this process`);
    this.name = 'LeadershipOverrunError';
  }
}

/** Kubernetes' figures. */
const defaults = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
/** Candidates retry at different times: each wait is longer by a random part of up to this many retry periods. */
const jitter = 1.2;

/**
 * Runs `lead` while this process, alone among all that name the same lease, holds it; for components of which one shall
 * work and others stand by.
 *
 *     standing by --lease free, or not renewed for its duration--> leading --lead ended, signal--> released: 'ended'
 *                                                                     |
 *                                                       not renewed for renewDeadline,
 *                                                          or another holds it --> lead's signal aborts,
 *                                                                                  lead ends: 'lost'
 *
 * - Whether a holder lives is judged by changes of the lease seen on this process's timers;
 *   wall clocks may differ and jump.
 * - Every write is based on the version read before, so that of several who take a free lease one gets it.
 * - A leader that cannot renew stops before another candidate may start: `lead` has `leaseDuration - renewDeadline` to
 *   end after its signal aborted; when that is not enough this throws LeadershipOverrunError, and the caller shall end
 *   the process. With `isFenced` it waits for the work instead.
 * - When `lead` ends or `signal` aborts, the lease is released after `lead` has ended: a standby takes over at once.
 * - What a process has sent before it lost the lease, or while it was suspended, may still arrive: writes have to be
 *   safe by themselves (versions, preconditions), or carry the term that `lead` is called with
 *   (`ConnectOptions.leaseTerm`): the server refuses those of an older term.
 *
 * Call it again after 'lost' to stand by anew. Throws what `lead` throws,
 * and INVALID_ARGUMENT for figures or a name that cannot be.
 */
export async function runLeaderElected(
  options: LeaderElectionOptions,
  lead: (signal: AbortSignal, term: LeaseTerm) => Promise<void>,
  signal: AbortSignal,
): Promise<LeadershipEnd> {
  const election = new Election(options);
  try {
    const term = await election.acquire(signal);
    return term === undefined ? 'ended' : await election.hold(term, lead, signal);
  } finally {
    election.claim.end();
  }
}

/**
 * Passes unless it is renewed; counted from when the renewal was asked for,
 * so that it is over before another candidate thinks so.
 */
interface Term {
  readonly over: AbortSignal;
  /** A renewal is asked for: tell what is returned whether it came about. */
  renewing(): (renewed: boolean) => void;
  end(): void;
}

function createTerm(clock: Clock, ms: number): Term {
  const controller = new AbortController();
  const start = () => clock.after(ms, () => controller.abort());
  let cancel = start();
  return {
    over: controller.signal,
    renewing() {
      const next = start();
      return (renewed) => {
        if (!renewed) next();
        else {
          cancel();
          cancel = next;
        }
      };
    },
    end() {
      cancel();
      controller.abort();
    },
  };
}

type Settings = ReturnType<typeof settingsOf>;

function settingsOf(options: LeaderElectionOptions) {
  const { leaseDurationMs = defaults.leaseDurationMs, renewDeadlineMs = defaults.renewDeadlineMs } = options;
  const { retryPeriodMs = defaults.retryPeriodMs, namespace = namespaces.system, name } = options;
  const refuse = (why: string) => badRequest(`leader election for lease "${namespace}/${name}": ${why}`);
  if (!(leaseDurationMs >= 1000) || leaseDurationMs % 1000 !== 0)
    throw refuse(`the lease duration, ${leaseDurationMs} ms, must be whole seconds, and one at least`);
  if (!(retryPeriodMs > 0)) throw refuse(`the retry period, ${retryPeriodMs} ms, must be more than 0`);
  if (!(renewDeadlineMs < leaseDurationMs))
    throw refuse(`the renew deadline, ${renewDeadlineMs} ms, must be less than the lease duration, ${leaseDurationMs} ms`);
  if (!(renewDeadlineMs > retryPeriodMs * jitter))
    throw refuse(
      `the renew deadline, ${renewDeadlineMs} ms, must be more than ${jitter} times the retry period, ${retryPeriodMs} ms`,
    );
  return {
    ...{ leaseDurationMs, renewDeadlineMs, retryPeriodMs, namespace, name },
    leases: options.leases,
    isFenced: options.isFenced ?? false,
    identity: options.identity ?? `${hostname()}_${randomUUID()}`,
    onLeader: options.onLeader ?? (() => {}),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    logger: options.logger ?? stderrLogger,
  };
}

/** One candidate, from standing by to the end of its term. */
class Election {
  readonly #settings: Settings;
  readonly claim: LeaseClaim;
  readonly #about: { readonly lease: string; readonly identity: string };
  // A connection that hangs must not take the whole time that there is for renewing.
  readonly #timeoutMs: number;
  readonly #tellOfLeader: () => void;
  /** Ends the wait before the next attempt. */
  #wake = (): void => {};

  constructor(options: LeaderElectionOptions) {
    this.#settings = settingsOf(options);
    this.claim = createLeaseClaim({ ...this.#settings, onOver: () => this.#wake() });
    this.#about = { lease: `${this.#settings.namespace}/${this.#settings.name}`, identity: this.#settings.identity };
    this.#timeoutMs = this.#settings.renewDeadlineMs / 2;
    this.#tellOfLeader = leaderTeller(this.claim, this.#settings);
  }

  /** Undefined when the signal aborted before. */
  async acquire(signal: AbortSignal): Promise<Term | undefined> {
    const { leases, namespace, name, clock, logger, retryPeriodMs, renewDeadlineMs, random } = this.#settings;
    const following = linkAbort(signal);
    const watched = { leases, namespace, name, clock, logger, retryPeriodMs };
    const watching = followLease(watched, (lease) => this.#notice(lease), following.signal);
    try {
      for (let failures = 0; !signal.aborted; ) {
        const term = createTerm(clock, renewDeadlineMs);
        try {
          const outcome = await this.claim.attempt({ signal, timeoutMs: this.#timeoutMs });
          this.#tellOfLeader();
          if (outcome === 'mine') return term;
          failures = 0;
        } catch (err) {
          if (isInvalid(err)) throw err;
          if (!signal.aborted)
            logger[failures++ === 0 ? 'warn' : 'debug']({ ...this.#about, err }, 'cannot read or take the lease, will retry');
        }
        term.end();
        const nap = linkAbort(signal);
        this.#wake = nap.abort;
        await pause(retryPeriodMs * (1 + jitter * random()), nap.signal, clock);
        nap.unlink();
      }
      return undefined;
    } finally {
      following.abort();
      following.unlink();
      await watching;
    }
  }

  #notice(lease: Lease): void {
    this.claim.observe(lease);
    if (!lease.spec?.holderIdentity) this.#wake();
  }

  async hold(
    term: Term,
    lead: (signal: AbortSignal, term: LeaseTerm) => Promise<void>,
    signal: AbortSignal,
  ): Promise<LeadershipEnd> {
    const { leaseDurationMs, renewDeadlineMs, isFenced, logger, clock } = this.#settings;
    const leading = linkAbort(signal);
    const unlink = onAbort(term.over, leading.abort);
    const ended = new AbortController();
    const graceMs = leaseDurationMs - renewDeadlineMs;
    let isLost = false;
    const guarding = async () => {
      if (await this.#keep(term, ended.signal)) return;
      isLost = true;
      logger.warn({ ...this.#about, holder: this.claim.holder() }, 'the lease is lost, stopping the work under it');
      await pause(graceMs, ended.signal, clock);
      if (ended.signal.aborted) return;
      if (!isFenced) throw new LeadershipOverrunError(this.#about.lease, graceMs);
      logger.warn({ ...this.#about, graceMs }, 'the work under the lost lease has not ended yet; the server refuses its writes');
    };
    logger.info(this.#about, 'holds the lease, begins to lead');
    const guard = guarding();
    const work = (async () => lead(leading.signal, this.claim.term()))();
    try {
      await Promise.race([work, guard.then(() => work)]);
    } finally {
      ended.abort();
      await guard.catch(() => {});
      leading.unlink();
      unlink();
      term.end();
      if (!isLost) await this.#release();
    }
    return isLost ? 'lost' : 'ended';
  }

  /** Renews until `ended` aborts: true; or until the term is over or another candidate holds the lease: false. */
  async #keep(term: Term, ended: AbortSignal): Promise<boolean> {
    const { retryPeriodMs, clock, logger } = this.#settings;
    const waiting = linkAbort(ended);
    const unlink = onAbort(term.over, waiting.abort);
    while (!waiting.signal.aborted) {
      await pause(retryPeriodMs, waiting.signal, clock);
      if (waiting.signal.aborted) break;
      const settle = term.renewing();
      try {
        const outcome = await this.claim.attempt({ signal: waiting.signal, timeoutMs: this.#timeoutMs });
        settle(outcome === 'mine');
        if (outcome === 'mine') continue;
        this.#tellOfLeader();
        term.end();
      } catch (err) {
        settle(false);
        if (!waiting.signal.aborted) logger.warn({ ...this.#about, err }, 'cannot renew the lease, will retry');
      }
    }
    unlink();
    waiting.unlink();
    return !term.over.aborted;
  }

  async #release(): Promise<void> {
    try {
      await this.claim.release({ timeoutMs: this.#timeoutMs });
    } catch (err) {
      this.#settings.logger.warn({ ...this.#about, err }, 'cannot release the lease: others wait until it is over');
    }
  }
}

function leaderTeller(claim: LeaseClaim, { onLeader, logger, identity, namespace, name }: Settings): () => void {
  let told = '';
  return () => {
    const holder = claim.holder();
    if (holder === told) return;
    told = holder;
    if (holder === '') return;
    if (holder !== identity) logger.info({ lease: `${namespace}/${name}`, identity, holder }, 'stands by: another leads');
    onLeader(holder);
  };
}

type Watched = Pick<Settings, 'leases' | 'namespace' | 'name' | 'clock' | 'logger' | 'retryPeriodMs'>;

/**
 * Shows a candidate every change of the lease, so that it counts a dead holder's time from the last renewal, and
 * retries at once when the lease is released. What a watch misses the next regular attempt finds.
 */
async function followLease(watched: Watched, notice: (lease: Lease) => void, signal: AbortSignal): Promise<void> {
  const { leases, namespace, name, clock, logger, retryPeriodMs } = watched;
  const scope = { namespace, fieldSelector: `metadata.name=${name}` };
  while (!signal.aborted) {
    try {
      for await (const events of leases.watch(scope, { signal })) {
        for (const { type, object } of events) if (type === 'MODIFIED' && !signal.aborted) notice(object);
      }
    } catch (err) {
      if (!signal.aborted)
        logger.debug({ lease: `${namespace}/${name}`, err }, 'cannot watch the lease, looks at it now and then');
    }
    await pause(retryPeriodMs, signal, clock);
  }
}
