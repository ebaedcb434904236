import type { Lease, Pod } from '../../api/generated/types.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import { createChance } from '../../bench/study/chance.ts';
import { clientOver } from '../../client/client-over.ts';
import type { Client } from '../../client/index.ts';
import { runControllers } from '../../controllers/main.ts';
import { createFakeClock, type FakeClock, settle } from '../fakes/fake-clock.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type FaultRates, type Faults, FaultyConnection, noFaults } from './faulty-connection.ts';
import { MemoryConnection } from './memory-connection.ts';
import { type MemoryServer, startMemoryServer } from './memory-server.ts';

const leaseAt = { namespace: 'kube-system', name: 'berth-controllers' };

export interface Chance {
  /** From 0 up to, not including, 1. */
  next(): number;
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
}

/** One step of the simulated time, in milliseconds. */
const stepMs = 50;
/** What a change in memory takes to reach everyone who waits for it, in turns of the event loop. */
const turns = 4;

/**
 * A cluster in memory: the real registry and the real controllers, nodes that are played, and a clock that is moved.
 * Calls and watches of the controllers are faulty, and the controllers are killed at any moment; everything that the
 * test does itself arrives.
 */
export class World {
  readonly chance: Chance;
  readonly clock: FakeClock = createFakeClock();
  /** Without faults. */
  readonly client: Client;
  readonly server: MemoryServer;
  readonly faults: Faults;
  readonly #select: readonly string[];
  readonly #stop: AbortController;
  #controllers: AbortController | undefined;
  readonly #ended: Promise<void>[] = [];
  #terms = 0;

  static async start(seed: number, select: readonly string[]): Promise<World> {
    const stop = new AbortController();
    const world = new World(seed, select, await startMemoryServer(stop.signal), stop);
    for (const name of ['default', 'kube-system']) await world.client.namespaces.create({ metadata: { name } });
    await world.client.serviceAccounts.create({ metadata: { namespace: 'default', name: 'default' } });
    return world;
  }

  private constructor(seed: number, select: readonly string[], server: MemoryServer, stop: AbortController) {
    const { next, pick } = createChance(seed);
    this.chance = { next, pick, below: (limit) => Math.floor(next() * limit) };
    this.#select = select;
    this.#stop = stop;
    this.server = server;
    this.client = clientOver(new MemoryConnection(server), {});
    this.faults = { rates: noFaults, random: next, clock: this.clock };
  }

  /** Sets the faults of everything that the controllers do from now on. */
  setFaults(rates: Partial<FaultRates>): void {
    this.faults.rates = { ...noFaults, ...rates };
  }

  /** What they have on its way arrives later. */
  killControllers(): void {
    this.#controllers?.abort();
    this.#controllers = undefined;
  }

  /** Kills the controllers, if they run, and starts others under a new term. */
  async restartControllers(): Promise<void> {
    this.killControllers();
    const term = await this.#takeLease();
    const client = clientOver(new FaultyConnection(new MemoryConnection(this.server, term), this.faults), {});
    const own = new AbortController();
    this.#controllers = own;
    const options = { client, clock: this.clock, logger: createFakeLogger(), select: this.#select };
    this.#ended.push(runControllers(options, own.signal));
  }

  async #takeLease(): Promise<LeaseTerm> {
    const { leases } = this.client;
    const transitions = this.#terms++;
    const holder = `controllers-${transitions}`;
    const spec = { holderIdentity: holder, leaseTransitions: transitions };
    const before: Lease | undefined = transitions === 0 ? undefined : await leases.get(leaseAt);
    await (before ? leases.update({ ...before, spec }) : leases.create({ metadata: { ...leaseAt }, spec }));
    return { ...leaseAt, holder, transitions };
  }

  /** Lets time pass; `each` is called in every step. */
  async pass(ms: number, each: () => Promise<void> = async () => {}): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await this.clock.advance(stepMs);
      for (let turn = 0; turn < turns; turn++) await settle();
      await each();
    }
  }

  /** All pods that there are. */
  async pods(): Promise<Pod[]> {
    return (await this.client.pods.list({ namespace: 'default', limit: 500 })).items;
  }

  async stop(): Promise<void> {
    this.setFaults({});
    this.#controllers?.abort();
    let isOver = false;
    const ended = Promise.all(this.#ended).finally(() => {
      isOver = true;
    });
    // Calls of killed controllers still wait for the clock.
    while (!isOver) await this.pass(1_000);
    await ended;
    this.#stop.abort();
  }
}
