import type { Clock } from '../../../client/clock.ts';
import type { Meter } from '../meter.ts';
import { rcodes } from '../wire.ts';
import type { Exchange } from './exchange.ts';
import { type Question, questionEnd, questionId } from './question.ts';
import { isUsable, parseReply, type Reply } from './reply.ts';
import { type CachedReply, type CacheLimits, ReplyCache, staleTtlSeconds } from './reply-cache.ts';
import type { ServerAddress, UpstreamConfig } from './servers.ts';

export interface ForwarderOptions {
  readonly exchange: Exchange;
  readonly cache: CacheLimits;
  readonly meter: Meter;
  /** How long an exchange with an upstream server took, in seconds. */
  readonly onExchange: (seconds: number) => void;
  /** Its `now` never goes back. */
  readonly clock: Clock;
}

/** A reply as it is written: the age of its TTLs, or the TTL that takes their place. */
export interface KnownReply {
  readonly reply: Reply;
  readonly ageSeconds: number;
  readonly ttlSeconds?: number;
}

/** Called once, with undefined when no upstream server answers. */
export type OnReply = (known: KnownReply | undefined) => void;

interface Flight {
  readonly waiting: Set<OnReply>;
}

/** One try; a client waits five seconds, and then asks another server or gives up. */
const tryMs = 1000;
const allTriesMs = 4500;
/** With something stale at hand, clients wait for a server no longer than this. */
const staleAnswerMs = 500;
/** How long a name is not asked for again that could not be had: stale (RFC 8767), and without anything (RFC 9520). */
const staleRetryMs = 30_000;
const failureMs = 2000;
/** How long a server that did not answer is asked last. */
const troubledMs = 10_000;
const maxFlights = 1000;
const maxFailures = 1000;
/** Queries that wait for one reply; a client asks three times. */
const maxWaiting = 1000;

interface Server extends ServerAddress {
  troubledUntilMs: number;
  takesEdns: boolean;
  isLoop: boolean;
}

/** Asks upstream servers, once for all who ask the same at the same time, and remembers what they said. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache: ReplyCache;
  readonly #flights = new Map<string, Flight>();
  /** Until when a question is answered with a failure at once. */
  readonly #failures = new Map<string, number>();
  #servers: readonly Server[] = [];
  #attempts = 1;
  #isClosed = false;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#cache = new ReplyCache(options.cache);
  }

  get servers(): readonly ServerAddress[] {
    return this.#servers.filter(({ isLoop }) => !isLoop);
  }

  /** From now on these servers are asked. What others said is forgotten, as they may have said something else. */
  configure({ servers, attempts }: UpstreamConfig): void {
    this.#servers = servers.map((server) => ({ ...server, troubledUntilMs: 0, takesEdns: true, isLoop: false }));
    this.#attempts = attempts;
    this.#cache.clear();
    this.#failures.clear();
  }

  /** Never asks this server again: what is sent to it comes back here. */
  exclude({ address, port }: ServerAddress): void {
    for (const server of this.#servers) if (server.address === address && server.port === port) server.isLoop = true;
  }

  /** What is known fresh, without asking. */
  known(question: Question): KnownReply | undefined {
    const nowMs = this.#options.clock.now();
    const cached = this.#cache.get(questionId(question), nowMs);
    return cached !== undefined && nowMs < cached.freshUntilMs ? this.#fresh(cached, nowMs) : undefined;
  }

  /** Answers from what is known, or asks. */
  ask(question: Question, onReply: OnReply): void {
    const nowMs = this.#options.clock.now();
    const id = questionId(question);
    const cached = this.#cache.get(id, nowMs);
    const isSettled = cached === undefined ? nowMs < (this.#failures.get(id) ?? 0) : nowMs < cached.retryAtMs;
    if (cached !== undefined && nowMs < cached.freshUntilMs) onReply(this.#fresh(cached, nowMs));
    else if (isSettled) onReply(cached && this.#stale(cached));
    else this.#wait(id, question, cached, onReply);
  }

  close(): void {
    this.#isClosed = true;
  }

  #wait(id: string, question: Question, cached: CachedReply | undefined, onReply: OnReply): void {
    this.#options.meter.cached('miss');
    const flight = this.#flights.get(id) ?? this.#start(id, question);
    if (flight === undefined || flight.waiting.size >= maxWaiting) {
      this.#options.meter.dropped('busy');
      onReply(cached && this.#stale(cached));
    } else if (cached === undefined) flight.waiting.add(onReply);
    else this.#waitWithStale(flight, cached, onReply);
  }

  #fresh({ reply, storedAtMs }: CachedReply, nowMs: number): KnownReply {
    this.#options.meter.cached('hit');
    return { reply, ageSeconds: Math.floor((nowMs - storedAtMs) / 1000) };
  }

  #stale({ reply }: CachedReply): KnownReply {
    this.#options.meter.cached('stale');
    return { reply, ageSeconds: 0, ttlSeconds: staleTtlSeconds };
  }

  /** The flight's reply if it comes soon or there is one; else what is stale. */
  #waitWithStale(flight: Flight, cached: CachedReply, onReply: OnReply): void {
    const finish: OnReply = (known) => {
      cancel();
      flight.waiting.delete(finish);
      onReply(known ?? this.#stale(cached));
    };
    const cancel = this.#options.clock.after(staleAnswerMs, () => finish(undefined));
    flight.waiting.add(finish);
  }

  /** Undefined when too many are under way. */
  #start(id: string, question: Question): Flight | undefined {
    if (this.#flights.size >= maxFlights) return undefined;
    const flight: Flight = { waiting: new Set() };
    this.#flights.set(id, flight);
    void this.#askServers(question).then((reply) => {
      this.#flights.delete(id);
      if (this.#isClosed) return;
      this.#remember(id, reply);
      const known = reply && { reply, ageSeconds: 0 };
      for (const onReply of [...flight.waiting]) onReply(known);
    });
    return flight;
  }

  #remember(id: string, reply: Reply | undefined): void {
    const nowMs = this.#options.clock.now();
    if (reply !== undefined) {
      this.#failures.delete(id);
      this.#cache.set(id, reply, nowMs);
      return;
    }
    const cached = this.#cache.get(id, nowMs);
    if (cached !== undefined) {
      cached.retryAtMs = nowMs + staleRetryMs;
      return;
    }
    if (this.#failures.size >= maxFailures) this.#failures.delete(this.#failures.keys().next().value!);
    this.#failures.set(id, nowMs + failureMs);
  }

  /** Every server in turn, those in trouble last, until one says something of use. Never rejects. */
  async #askServers(question: Question): Promise<Reply | undefined> {
    const { clock } = this.#options;
    const deadlineMs = clock.now() + allTriesMs;
    for (let attempt = 0; attempt < this.#attempts; attempt++) {
      const nowMs = clock.now();
      const usable = this.#servers.filter(({ isLoop }) => !isLoop);
      const inTrouble = ({ troubledUntilMs }: Server): number => (nowMs < troubledUntilMs ? 1 : 0);
      for (const server of usable.toSorted((a, b) => inTrouble(a) - inTrouble(b))) {
        const timeoutMs = Math.min(tryMs, deadlineMs - clock.now());
        if (timeoutMs <= 0 || this.#isClosed) return undefined;
        const reply = await this.#askServer(server, question, timeoutMs);
        if (reply !== undefined) return reply;
      }
    }
    return undefined;
  }

  async #askServer(server: Server, question: Question, timeoutMs: number): Promise<Reply | undefined> {
    const { exchange, meter, clock, onExchange } = this.#options;
    const beganAtMs = clock.now();
    try {
      const onForeign = (): void => meter.upstream('foreign');
      const ask = (): Promise<Buffer> => exchange(server, question, { timeoutMs, withEdns: server.takesEdns, onForeign });
      let message = await ask();
      if (server.takesEdns && isOldServer(message)) {
        server.takesEdns = false;
        message = await ask();
      }
      onExchange((clock.now() - beganAtMs) / 1000);
      const reply = message.length < questionEnd(question) ? undefined : parseReply(message, questionEnd(question));
      if (reply !== undefined && isUsable(reply)) {
        server.troubledUntilMs = 0;
        meter.upstream('answered');
        return reply;
      }
      // Refusing one name says nothing of others: the next server is asked, and this one keeps its place.
      meter.upstream('refused');
    } catch {
      server.troubledUntilMs = clock.now() + troubledMs;
      meter.upstream('failed');
    }
    return undefined;
  }
}

/** It knows no EDNS (RFC 6891, 7). */
function isOldServer(message: Buffer): boolean {
  const rcode = message[3]! & 15;
  return rcode === rcodes.formErr || rcode === rcodes.notImp;
}
