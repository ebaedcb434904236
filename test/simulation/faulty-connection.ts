import { setMaxListeners } from 'node:events';
import { conflict, expired, unavailable } from '../../api/errors/index.ts';
import { onAbort } from '../../client/abort.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { cancelled } from '../../client/connection/call-errors.ts';
import type { Connection, Method } from '../../client/connection/connection.ts';
import type { Duplex } from '../../client/connection/duplex.ts';
import type { CallOptions } from '../../client/services/resource-client.ts';

export interface FaultRates {
  /** Of calls: answered with UNAVAILABLE before they are carried out. */
  readonly refused: number;
  /** Of writes: carried out, and answered with UNAVAILABLE all the same. */
  readonly unheard: number;
  /** Of writes: answered with ABORTED. */
  readonly conflict: number;
  /** Of batches of watches: the stream breaks before it. */
  readonly broken: number;
  /** Of watches: the version is not known any more. */
  readonly expired: number;
  /** The longest that a call or a batch takes on its way. */
  readonly delayMs: number;
}

export const noFaults: FaultRates = { refused: 0, unheard: 0, conflict: 0, broken: 0, expired: 0, delayMs: 0 };

export interface Faults {
  /** May change at any time. */
  rates: FaultRates;
  readonly random: () => number;
  readonly clock: Clock;
}

const isWrite = (path: string): boolean => /\/(Create|Update\w*|Patch|Delete)$/.test(path);
const nowhere = { kind: 'Object', name: 'simulated' };
const never = new AbortController().signal;
// Hundreds of calls are on their way at once.
setMaxListeners(0, never);

/**
 * A connection on which calls and events are late, lost and doubled. A call whose caller has gone is carried out all
 * the same, later: as one that was on its way when a process died.
 */
export class FaultyConnection implements Connection {
  readonly #inner: Connection;
  readonly #faults: Faults;

  constructor(inner: Connection, faults: Faults) {
    this.#inner = inner;
    this.#faults = faults;
  }

  async unary<Res extends object>(method: Method, request: object, { signal }: CallOptions = {}): Promise<Res> {
    if (signal?.aborted) throw cancelled(method);
    const answer = this.#carryOut<Res>(method, request);
    answer.catch(() => {});
    return new Promise<Res>((resolve, reject) => {
      const unlink = onAbort(signal, () => reject(cancelled(method)));
      answer.then(resolve, reject).finally(unlink);
    });
  }

  async #carryOut<Res extends object>(method: Method, request: object): Promise<Res> {
    const { rates } = this.#faults;
    await this.#delay();
    if (this.#happens(rates.refused)) throw unavailable(`${method.path}: refused by the simulation`);
    const isOne = isWrite(method.path);
    if (isOne && this.#happens(rates.conflict)) throw conflict(nowhere, 'refused by the simulation');
    const answer = await this.#inner.unary<Res>(method, request);
    await this.#delay();
    if (isOne && this.#happens(rates.unheard)) throw unavailable(`${method.path}: its answer is lost in the simulation`);
    return answer;
  }

  async *stream<Res extends object>(method: Method, request: object, call: CallOptions = {}): AsyncGenerator<Res> {
    await this.#delay();
    if (this.#happens(this.#faults.rates.expired)) throw expired(`${method.path}: expired by the simulation`);
    for await (const batch of this.#inner.stream<Res>(method, request, call)) {
      await this.#delay();
      if (call.signal?.aborted) throw cancelled(method);
      if (this.#happens(this.#faults.rates.broken)) throw unavailable(`${method.path}: broken by the simulation`);
      yield batch;
    }
  }

  duplex<Req extends object, Res extends object>(method: Method, call?: CallOptions): Duplex<Req, Res> {
    return this.#inner.duplex<Req, Res>(method, call);
  }

  timeLimit(): undefined {
    return undefined;
  }

  close(): void {}

  #happens(rate: number): boolean {
    return rate > 0 && this.#faults.random() < rate;
  }

  async #delay(): Promise<void> {
    const { rates, random, clock } = this.#faults;
    if (rates.delayMs > 0) await pause(Math.floor(random() * rates.delayMs), never, clock);
  }
}
