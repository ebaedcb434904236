import { isIPv4 } from 'node:net';
import { type BudgetBounds, ChainBudget } from './chain-budget.ts';
import { compileGroup, type GroupChain, type Isolation, type PeerSet } from './compile-group.ts';
import type { CompiledPolicy, PolicyRule } from './compile-policy.ts';
import type { Direction, PodFacts, PolicyPod } from './facts.ts';
import { runAtOnce, type Steps } from './in-turns.ts';
import { Journal, type PolicyDifference, type PolicyElement, peersOfStep } from './journal.ts';
import { type BaseSet, baseSets } from './layout.ts';

/** A pod of this node that has no connections because its policies are too large. */
export interface ClosedPod {
  readonly address: string;
  readonly namespace: string;
  readonly direction: Direction;
  /** Whether its namespace or the node has too much in all, or the pod alone. */
  readonly why: 'crowded' | 'oversized';
  /** Some of its policies: namespace/name. */
  readonly policies: readonly string[];
}

/** Of a pod's policies so many are named. */
const mostNamed = 5;
/** Pods without room are looked at again when there are so many times fewer peers. */
const fewerPeers = 0.95;

const directions: readonly Direction[] = ['ingress', 'egress'];

/** A pod of this node. Facts are undefined where they are not known: then it is closed while there is any policy. */
interface LocalPod {
  readonly facts: PodFacts | undefined;
  isolation: PodIsolation;
}

/** `namespace`: whose budget the chains count in. */
type PodIsolation = { [D in Direction]?: Isolation } & { readonly namespace?: string; readonly policies?: readonly string[] };

interface LiveSet {
  readonly set: PeerSet;
  users: number;
}

/**
 * What the table holds: chains of the policies that isolate pods of this node, and the peers that they name. A pod that
 * comes or goes as a peer changes its own elements alone; a policy changes the pods of its namespace.
 * While steps of one method pause, no other may be called that changes anything: sets are half full then.
 */
export class PolicyContent {
  readonly #policies = new Map<string, CompiledPolicy>();
  readonly #peers = new Map<string, PolicyPod>();
  readonly #locals = new Map<string, LocalPod>();
  /** Addresses of this node whose policies have to be worked out anew. */
  readonly #dirty = new Set<string>();
  readonly #chains = new Map<string, { readonly chain: GroupChain; users: number }>();
  readonly #sets = new Map<string, LiveSet>();
  /** By set, then by key: the value, and how many want it. */
  readonly #elements = new Map<string, Map<string, { readonly value: string; count: number }>>(
    Object.keys(baseSets).map((name) => [name, new Map()]),
  );
  readonly #budget: ChainBudget;
  /** Sets that outgrew their namespace's budget: they take no more peers, and the pods that use them are closed. */
  readonly #overfull = new Set<string>();
  /** How many peers there were when pods were left without room; 0: none is. */
  #peersWhenCrowded = 0;
  /** Whether there is more room than when pods were worked out. */
  #isRoomier = false;
  readonly #journal = new Journal();

  constructor(bounds?: BudgetBounds) {
    this.#budget = new ChainBudget(bounds);
  }

  /** What rules, blocks, ports and peers take of the bounds of the node. */
  get pieceCount(): number {
    return this.#budget.pieces;
  }

  get policyCount(): number {
    return this.#policies.size;
  }

  get elementCount(): number {
    let count = 0;
    for (const elements of this.#elements.values()) count += elements.size;
    return count;
  }

  /** As it was when the last difference was worked out. */
  closedPods(): ClosedPod[] {
    return [...this.#locals].flatMap(([address, { isolation }]) =>
      directions.flatMap((direction) => {
        const why = isolation[direction];
        return why === 'crowded' || why === 'oversized'
          ? [{ address, namespace: isolation.namespace ?? '', direction, why, policies: isolation.policies ?? [] }]
          : [];
      }),
    );
  }

  setPolicy(key: string, policy: CompiledPolicy | undefined): void {
    const before = this.#policies.get(key);
    if (policy === undefined) this.#policies.delete(key);
    else this.#policies.set(key, policy);
    const namespaces = new Set([before?.namespace, policy?.namespace]);
    for (const [address, { facts }] of this.#locals)
      if (facts === undefined || namespaces.has(facts.namespace)) this.#dirty.add(address);
  }

  /** A pod as a peer of others. */
  setPeer(key: string, pod: PolicyPod | undefined): void {
    runAtOnce(this.setPeerInSteps(key, pod));
  }

  *setPeerInSteps(key: string, pod: PolicyPod | undefined): Steps {
    const before = this.#peers.get(key);
    if (pod === undefined) this.#peers.delete(key);
    else this.#peers.set(key, pod);
    for (const { set } of this.#sets.values()) {
      const isOut = (each: PolicyPod | undefined) => each === undefined || (set.namespace ?? each.namespace) !== each.namespace;
      // What comes first, so that what stays is not counted out and in.
      if (!isOut(pod)) this.#addPeer(set, pod!);
      if (!isOut(before)) this.#removePeer(set, before!);
      yield;
    }
  }

  #addPeer(set: PeerSet, pod: PolicyPod): void {
    if (this.#overfull.has(set.name)) return;
    let grown = 0;
    for (const element of set.elementsOf(pod)) if (this.#add(set.name, element, '')) grown++;
    if (grown === 0) return;
    this.#budget.grow(set.name, grown);
    if (!this.#budget.hasRoomFor(set.name)) this.#overfull.add(set.name);
  }

  #removePeer(set: PeerSet, pod: PolicyPod): void {
    if (this.#overfull.has(set.name)) return;
    for (const element of set.elementsOf(pod)) if (this.#remove(set.name, element)) this.#budget.grow(set.name, -1);
  }

  /** A pod of this node by its address; null: it has gone. */
  setLocal(address: string, facts: PodFacts | undefined | null): void {
    runAtOnce(this.setLocalInSteps(address, facts));
  }

  *setLocalInSteps(address: string, facts: PodFacts | undefined | null): Steps {
    if (!isIPv4(address)) return;
    if (facts !== null) this.#locals.set(address, { facts, isolation: this.#locals.get(address)?.isolation ?? {} });
    else if (this.#locals.has(address)) {
      yield* this.#isolate(address, this.#locals.get(address)!, {});
      this.#locals.delete(address);
    }
    this.#dirty.add(address);
  }

  /** What has changed since the last difference. */
  difference(): PolicyDifference {
    return runAtOnce(this.differenceInSteps());
  }

  *differenceInSteps(): Steps<PolicyDifference> {
    yield* this.#workOut();
    return yield* this.#journal.take({
      value: (set, key) => this.#elements.get(set)?.get(key)?.value,
      chain: (name) => this.#chains.get(name)?.chain,
      hasSet: (name) => name in baseSets || this.#sets.has(name),
      set: (name) => this.#sets.get(name)?.set,
    });
  }

  /** All of it, as the difference from an empty table. To be read before anything changes. */
  whole(): PolicyDifference {
    this.difference();
    return {
      ...{ removed: [], removedChains: [], removedSets: [] },
      added: { [Symbol.iterator]: () => this.#allElements() },
      addedChains: [...this.#chains.values()].map(({ chain }) => chain),
      addedSets: [...this.#sets.values()].map(({ set }) => set),
    };
  }

  *#allElements(): Generator<PolicyElement, undefined> {
    for (const [set, elements] of this.#elements) for (const [key, { value }] of elements) yield { set, key, value };
  }

  *#workOut(): Steps {
    this.#reconsider();
    // What was left in the first round may make room for pods that were closed for want of it; they leave nothing.
    while (this.#dirty.size > 0) {
      for (const address of this.#dirty) {
        const local = this.#locals.get(address);
        if (local) yield* this.#isolate(address, local, this.#isolationOf(local.facts));
        yield;
      }
      this.#dirty.clear();
      const crowded = this.closedPods().filter(({ why }) => why === 'crowded');
      // Room of the node is room of each namespace.
      if (this.#isRoomier) for (const { address } of crowded) this.#dirty.add(address);
      this.#peersWhenCrowded = crowded.length === 0 ? 0 : Math.max(this.#peersWhenCrowded, this.#peers.size);
      this.#isRoomier = false;
    }
  }

  /** Pods whose sets are overfull, and those without room when there are far fewer peers than before. */
  #reconsider(): void {
    const isFewer = this.#peers.size < this.#peersWhenCrowded * fewerPeers;
    if (this.#overfull.size === 0 && !isFewer) return;
    if (isFewer) this.#peersWhenCrowded = 0;
    for (const [address, { isolation }] of this.#locals) {
      const isAffected = (each: Isolation): boolean =>
        typeof each === 'object' ? each.sets.some(({ name }) => this.#overfull.has(name)) : isFewer && each === 'crowded';
      if (directions.some((direction) => isAffected(isolation[direction]))) this.#dirty.add(address);
    }
  }

  #isolationOf(facts: PodFacts | undefined): PodIsolation {
    if (facts === undefined) return this.#policies.size === 0 ? {} : { ingress: 'closed', egress: 'closed' };
    const named = [...this.#policies].filter(
      ([, policy]) => policy.namespace === facts.namespace && policy.selects(facts.labels),
    );
    const chosen = named.map(([, policy]) => policy);
    const policies = named.slice(0, mostNamed).map(([key]) => key);
    const of = (direction: Direction): Isolation => {
      const lists = chosen.flatMap((policy): (readonly PolicyRule[])[] => (policy[direction] ? [policy[direction]] : []));
      return lists.length === 0 ? undefined : compileGroup(direction, lists.flat(), facts);
    };
    return { ingress: of('ingress'), egress: of('egress'), namespace: facts.namespace, policies };
  }

  /** The new chains first, so that what both use stays as it is. */
  *#isolate(address: string, local: LocalPod, wanted: PodIsolation): Steps {
    const before = local.isolation;
    const next = { ...wanted };
    const isIsolated = (isolation: PodIsolation): boolean => directions.some((each) => isolation[each] !== undefined);
    for (const direction of directions) {
      const was = before[direction];
      const is = yield* this.#use(wanted.namespace ?? '', wanted[direction]);
      next[direction] = is;
      if (verdictOf(was) !== verdictOf(is)) {
        if (was !== undefined) this.#remove(direction, address);
        if (is !== undefined) this.#add(direction, address, verdictOf(is));
      }
      if (typeof was !== 'object') continue;
      if (this.#budget.leave(before.namespace ?? '', was)) this.#isRoomier = true;
      yield* this.#leaveChain(was);
    }
    const pair = `${address} . ${address}`;
    if (isIsolated(next) && !isIsolated(before)) this.#add('itself', pair, '');
    if (!isIsolated(next) && isIsolated(before)) this.#remove('itself', pair);
    local.isolation = next;
  }

  *#use(namespace: string, isolation: Isolation): Steps<Isolation> {
    if (typeof isolation !== 'object') return isolation;
    const isOverfull = (): boolean => isolation.sets.some(({ name }) => this.#overfull.has(name));
    if (isOverfull() || !this.#budget.use(namespace, isolation)) return 'crowded';
    yield* this.#useChain(isolation);
    if (!isOverfull()) return isolation;
    this.#budget.leave(namespace, isolation);
    yield* this.#leaveChain(isolation);
    return 'crowded';
  }

  *#useChain(chain: GroupChain): Steps {
    const known = this.#chains.get(chain.name);
    if (known) {
      known.users++;
      return;
    }
    this.#journal.chain(chain.name, undefined);
    this.#chains.set(chain.name, { chain, users: 1 });
    for (const set of chain.sets) yield* this.#useSet(set);
  }

  *#leaveChain({ name }: GroupChain): Steps {
    const known = this.#chains.get(name)!;
    if (--known.users > 0) return;
    this.#journal.chain(name, known.chain);
    this.#chains.delete(name);
    for (const set of known.chain.sets) {
      this.#leaveSet(set);
      yield;
    }
  }

  *#useSet(set: PeerSet): Steps {
    const known = this.#sets.get(set.name);
    if (known) {
      known.users++;
      return;
    }
    this.#journal.set(set.name, undefined);
    this.#sets.set(set.name, { set, users: 1 });
    this.#elements.set(set.name, new Map());
    let asked = 0;
    for (const pod of this.#peers.values()) {
      if (++asked % peersOfStep === 0) yield;
      if ((set.namespace ?? pod.namespace) === pod.namespace) this.#addPeer(set, pod);
      if (this.#overfull.has(set.name)) return;
    }
  }

  #leaveSet({ name }: PeerSet): void {
    const known = this.#sets.get(name)!;
    if (--known.users > 0) return;
    for (const [key, { value }] of this.#elements.get(name)!) this.#journal.element(name, key, value);
    this.#journal.set(name, known.set);
    this.#elements.delete(name);
    this.#sets.delete(name);
    this.#overfull.delete(name);
    this.#budget.drop(name);
  }

  /** Whether it was not there. */
  #add(set: BaseSet | (string & {}), key: string, value: string): boolean {
    const elements = this.#elements.get(set)!;
    const known = elements.get(key);
    if (known) {
      known.count++;
      return false;
    }
    this.#journal.element(set, key, undefined);
    elements.set(key, { value, count: 1 });
    return true;
  }

  /** Whether it is gone. */
  #remove(set: string, key: string): boolean {
    const elements = this.#elements.get(set)!;
    const known = elements.get(key)!;
    if (--known.count > 0) return false;
    this.#journal.element(set, key, known.value);
    elements.delete(key);
    return true;
  }
}

const verdictOf = (isolation: Isolation): string =>
  isolation === undefined ? '' : typeof isolation === 'string' ? 'drop' : `jump ${isolation.name}`;
