import type { Kind, Meter } from './meter.ts';
import { type NameNode, setOf } from './name-node.ts';
import { drop, Query } from './query.ts';
import { type Asked, Response, writeError } from './response.ts';
import type { SearchPaths } from './search-path.ts';
import { ttlSeconds } from './service-records.ts';
import type { Forwarder, KnownReply } from './upstream/forwarder.ts';
import type { Question } from './upstream/question.ts';
import { classIn, maxMessageSize, maxUdpSize, rcodes, record, texts, types } from './wire.ts';
import type { Found, Zones } from './zones.ts';

/** What `respond` says instead of a length. */
export const noAnswer = 0;
export const later = -1;

export interface ResponderOptions {
  readonly zones: Zones;
  readonly searchPaths: SearchPaths;
  readonly forwarder: Forwarder;
  readonly meter: Meter;
  /** The namespace of the pod that has the address; undefined for others, whose queries mean what they say. */
  readonly namespaceOf: (address: string) => string | undefined;
  /** Told of each question for a HINFO record outside of the cluster: what the loop check asks for. */
  readonly onHostInfo: (key: string) => void;
}

/** A query that waits for upstream servers. */
export interface Task extends Asked {
  readonly isStream: boolean;
  readonly limit: number;
  readonly type: number;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  /**
   * What may answer, in this order: the names to ask for, each behind the CNAME records that lead to it. Of several the
   * first counts that exists.
   */
  readonly routes: readonly Route[];
  readonly isSearch: boolean;
  /** Where the cluster's zone begins in the question, for the negative answer when no route leads anywhere. */
  readonly zoneStart: number;
  next: number;
}

interface Route {
  readonly aliases: readonly string[];
  readonly key: string;
}

/** Of ExternalName services that lead to one another. */
const maxAliases = 8;
/** Instead of all there is: an answer to ANY serves nothing but attacks (RFC 8482). */
const anyAnswer = [record(types.hinfo, 3600, texts('RFC8482', ''))];

/**
 * Answers queries, one at a time. What the cluster or the cache knows is answered at once, without an object made for
 * it; what upstream servers have to be asked for is a task.
 */
export class Responder {
  readonly #options: ResponderOptions;
  readonly #query = new Query();
  readonly #response = new Response();
  readonly #scratch = Buffer.allocUnsafeSlow(maxMessageSize);
  #turn = 0;
  #task: Task | undefined;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  /**
   * Writes the answer to `out`, which has room for 65,535 bytes over TCP and 1,232 over UDP, and returns its length;
   * `noAnswer` for what deserves none; `later` when `takeTask` has to be completed first. `message` must not be changed
   * afterwards. Whatever the message holds, it does not throw.
   */
  respond(message: Buffer, source: string, isStream: boolean, out: Buffer): number {
    const { meter, zones } = this.#options;
    const query = this.#query;
    const status = query.read(message);
    if (status !== 0) {
      if (status === drop) {
        meter.dropped('malformed');
        return noAnswer;
      }
      meter.answered('invalid', status);
      return writeError(message, status, out);
    }
    const limit = isStream ? maxMessageSize : Math.min(query.udpSize, maxUdpSize);
    this.#response.begin(message, query, limit, out);
    const node = zones.index.find(query.key);
    if (node !== undefined && query.class === classIn) {
      const set = setOf(node, query.type);
      if (set !== undefined) {
        this.#response.answer(set.records, set.records.length > 1 ? this.#turn++ % set.records.length : 0);
        return this.#finish('cluster', rcodes.noError, true, isStream);
      }
    }
    return this.#respondOtherwise(message, source, isStream, limit);
  }

  /** What `respond` said `later` of. */
  takeTask(): Task {
    const task = this.#task!;
    this.#task = undefined;
    return task;
  }

  /** Asks what has to be asked, then calls `send` once; the bytes are good until `send` returns. */
  complete(task: Task, send: (response: Buffer) => void): void {
    const route = task.routes[task.next]!;
    this.#options.forwarder.ask(questionOf(task, route), (known) => {
      if (this.#leadsOn(task, known)) return this.complete(task, send);
      this.#response.begin(task.message, task, task.limit, this.#scratch);
      send(this.#scratch.subarray(0, this.#writeRoute(task, route, known)));
    });
  }

  #finish(kind: Kind, rcode: number, isAuthoritative: boolean, isStream: boolean): number {
    this.#options.meter.answered(kind, rcode);
    return this.#response.finish(rcode, isAuthoritative, isStream);
  }

  #respondOtherwise(message: Buffer, source: string, isStream: boolean, limit: number): number {
    const { type, class: of, key } = this.#query;
    // Zone transfers, questions for EDNS records and for other classes.
    if (of !== classIn || type === types.opt || (type >= types.ixfr - 2 && type < types.any))
      return this.#finish('invalid', rcodes.refused, false, isStream);
    if (type === types.any) {
      this.#response.answer(anyAnswer, 0);
      return this.#finish('invalid', rcodes.noError, false, isStream);
    }
    const found = this.#options.zones.find(key);
    const request: Request = { message, isStream, limit, found };
    if (found.state === 'foreign') {
      if (type === types.hinfo) this.#options.onHostInfo(key);
      return this.#askUpstream(request, [{ aliases: [], key }], false);
    }
    if (found.state === 'missing' && found.zoneStart > 0) {
      const namespace = this.#options.namespaceOf(source);
      if (namespace !== undefined) return this.#search(request, namespace);
    }
    return this.#answerOwn(request, found, []);
  }

  /** Answers a missing name with what the rest of the search path says of it. */
  #search(request: Request, namespace: string): number {
    const { own, foreign } = this.#options.searchPaths.resolve(this.#query.key, namespace);
    if (own !== undefined) return this.#answerOwn(request, this.#options.zones.find(own), [own]);
    if (foreign.length === 0) return this.#answerOwn(request, request.found, []);
    const routes = foreign.map((key) => ({ aliases: [record(types.cname, ttlSeconds, key)], key }));
    return this.#askUpstream(request, routes, true);
  }

  /**
   * Answers from the cluster's names: those of `found`, which is the name asked for or the last of `names`, which
   * CNAME records lead to.
   */
  #answerOwn(request: Request, found: Found, names: string[]): number {
    const { zones } = this.#options;
    const aliases = names.map((name) => record(types.cname, ttlSeconds, name));
    let at = found;
    while (at.state === 'records' && setOf(at.node!, this.#query.type) === undefined) {
      const alias = setOf(at.node!, types.cname)?.records[0];
      if (alias === undefined) break;
      const target = alias.slice(alias.length - targetLength(alias));
      aliases.push(alias);
      if (aliases.length > maxAliases) return this.#finish('cluster', rcodes.servFail, false, request.isStream);
      at = zones.find(target);
      if (at.state === 'foreign') return this.#askUpstream(request, [{ aliases, key: target }], false);
    }
    for (const alias of aliases) this.#response.alias(alias);
    const kind = names.length > 0 ? 'search' : 'cluster';
    if (at.state === 'missing') return this.#deny(kind, rcodes.nxDomain, request);
    const set = at.node && setOf(at.node, this.#query.type);
    if (set === undefined) return this.#deny(kind, rcodes.noError, request);
    this.#response.answer(set.records, this.#turn++ % set.records.length);
    return this.#finish(kind, rcodes.noError, true, request.isStream);
  }

  /** Says that there is no such name, or nothing of this type, and for how long that is true. */
  #deny(kind: Kind, rcode: number, { isStream, found }: { isStream: boolean; found: Pick<Found, 'zoneStart'> }): number {
    this.#response.authority(this.#soa(), found.zoneStart);
    return this.#finish(kind, rcode, true, isStream);
  }

  #soa(): string {
    const { index } = this.#options.zones;
    return setOf(index.find(index.zone) as NameNode, types.soa)!.records[0]!;
  }

  /** At once where the cache knows, else later. */
  #askUpstream({ message, isStream, limit, found }: Request, routes: readonly Route[], isSearch: boolean): number {
    const { end, type, hasEdns, dnssecOk, checkingDisabled } = this.#query;
    const { zoneStart } = found;
    // In one literal: a spread would cost a third of the answer.
    const task: Task = {
      message,
      end,
      type,
      hasEdns,
      dnssecOk,
      checkingDisabled,
      isStream,
      limit,
      routes,
      isSearch,
      zoneStart,
      next: 0,
    };
    for (;;) {
      const route = routes[task.next]!;
      const known = this.#options.forwarder.known(questionOf(task, route));
      if (known === undefined) break;
      if (!this.#leadsOn(task, known)) return this.#writeRoute(task, route, known);
    }
    this.#task = task;
    return later;
  }

  /** Whether there is no such name, and another one to try. */
  #leadsOn(task: Task, known: KnownReply | undefined): boolean {
    if (!task.isSearch || known?.reply.rcode !== rcodes.nxDomain || task.next + 1 >= task.routes.length) return false;
    task.next++;
    return true;
  }

  #writeRoute(task: Task, route: Route, known: KnownReply | undefined): number {
    const kind = task.isSearch ? 'search' : 'upstream';
    if (known === undefined) return this.#finish(kind, rcodes.servFail, false, task.isStream);
    const { reply, ageSeconds, ttlSeconds: ttl } = known;
    if (task.isSearch && reply.rcode === rcodes.nxDomain)
      return this.#deny(kind, rcodes.nxDomain, { isStream: task.isStream, found: { zoneStart: task.zoneStart } });
    for (const alias of route.aliases) this.#response.alias(alias);
    this.#response.reply(reply, ageSeconds, ttl);
    return this.#finish(kind, reply.rcode, false, task.isStream);
  }
}

/** What is being answered. */
interface Request {
  readonly message: Buffer;
  readonly isStream: boolean;
  readonly limit: number;
  /** What the cluster's zones say of the name that was asked for. */
  readonly found: Found;
}

function questionOf({ type, dnssecOk, checkingDisabled }: Task, { key }: Route): Question {
  return { key, type, dnssecOk, checkingDisabled };
}

/** Of a CNAME record: how long its target is. */
function targetLength(alias: string): number {
  return (alias.charCodeAt(10) << 8) | alias.charCodeAt(11);
}
