import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Lease, ObjectMeta } from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import { annotations, namespaces } from '../../api/meta/well-known.ts';
import { type BackoffOptions, createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import type { NodeView } from './node-view.ts';

/**
 * Another agent goes by this name and is alive: two of them would fight over every pod. `holder` says which,
 * for people.
 */
export class NodeNameTakenError extends Error {
  constructor(nodeName: string, holder: string) {
    super(
      `node "${nodeName}" is run by another live agent, ${holder}: stop that one, or start this one with another --node-name`,
    );
    this.name = 'NodeNameTakenError';
  }
}

/** The holder of a lease, as text. */
export interface HolderFacts {
  readonly host: string;
  readonly dataDir: string;
  readonly pid: number;
}

/** Of this process. */
export function holderFacts(dataDir: string): HolderFacts {
  return { host: hostname(), dataDir, pid: process.pid };
}

export function describeHolder({ host, dataDir, pid }: HolderFacts): string {
  return `process ${pid} on machine ${host} with data directory ${dataDir}`;
}

/**
 * Which agent holds the lease. `holderIdentity` is the node's name, as a kubelet's; agents of the minor version before
 * write their identity there, and leave the annotation of the holder before them.
 */
function identityIn({ metadata, spec }: Lease, nodeName: string): string | undefined {
  const own = spec?.holderIdentity === nodeName ? metadata?.annotations?.[annotations.holderIdentity] : undefined;
  return own ?? spec?.holderIdentity;
}

function holderOf(lease: Lease): string {
  const found = lease.metadata?.annotations ?? {};
  const [host, dataDir, pid] = [
    found[annotations.holderHost],
    found[annotations.holderDataDir],
    found[annotations.holderProcess],
  ];
  return host && dataDir
    ? describeHolder({ host, dataDir, pid: Number(pid) })
    : `which calls itself ${lease.spec?.holderIdentity}`;
}

export interface NodeLeaseOptions {
  readonly client: Pick<ResourceClient<Lease>, 'create' | 'get' | 'update'>;
  readonly nodeName: string;
  /** The agent's Node. It is registered after the lease was acquired. */
  readonly node: Pick<NodeView, 'last' | 'read'>;
  readonly holder: string;
  readonly facts: HolderFacts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The node's lease: its heartbeat, and the lock on its name. */
export interface NodeLease {
  /** Returns when the lease is this agent's. Throws NodeNameTakenError; retries while the server is away. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Whether another agent that may be alive holds it; then this agent must not start under the name. */
  isContested(): boolean;
  /** Renews until aborted. Throws NodeNameTakenError when another took it. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Since when, on the agent's clock, no renewal has failed or been late: since then the node controller had no reason
   * to take the node for silent. Undefined when the last renewal is too long ago.
   */
  unbrokenSince(): number | undefined;
}

/** Kubernetes' figures. */
const durationSeconds = 40;
const renewMs = 10_000;
const pollMs = 2_000;
/** The node controller marks a node 30 s after the last renewal that it saw. */
const lateMs = 20_000;
/** Renews sooner after a failure: the node lifecycle controller must see the node as soon as the server is back. */
const retry: BackoffOptions = { initialMs: 1_000, maxMs: 5_000 };

/** The same machine with the same state is the same agent, however often it starts. */
export function holderIdentity(machineId: string, dataDir: string): string {
  return `${machineId}_${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;
}

export function createNodeLease(options: NodeLeaseOptions): NodeLease {
  return new RenewedLease(options);
}

class RenewedLease implements NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #key: { readonly namespace: string; readonly name: string };
  readonly #notes: Readonly<Record<string, string>>;
  #held: Lease | undefined;
  #contested = false;
  /** `renewedAt` is when the last renewal was sent: the server had it no earlier. */
  #unbroken: { readonly since: number; readonly renewedAt: number } | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#key = { namespace: namespaces.nodeLease, name: options.nodeName };
    this.#notes = {
      [annotations.holderIdentity]: options.holder,
      [annotations.holderHost]: options.facts.host,
      [annotations.holderDataDir]: options.facts.dataDir,
      [annotations.holderProcess]: String(options.facts.pid),
    };
  }

  isContested(): boolean {
    return this.#contested;
  }

  unbrokenSince(): number | undefined {
    if (this.#unbroken === undefined) return undefined;
    const { since, renewedAt } = this.#unbroken;
    const ageMs = this.#options.clock.now() - renewedAt;
    // Clocks are set back, too.
    return ageMs >= 0 && ageMs < lateMs ? since : undefined;
  }

  async acquire(signal: AbortSignal): Promise<void> {
    const { logger, nodeName, clock } = this.#options;
    const backoff = createBackoff({ maxMs: 5_000 });
    while (!signal.aborted) {
      try {
        return await this.#acquireOnce(signal);
      } catch (err) {
        if (err instanceof NodeNameTakenError) throw err;
        logger.warn({ node: nodeName, err }, 'cannot acquire the lease of the node, will retry');
        await pause(backoff.next(), signal, clock);
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, nodeName } = this.#options;
    const backoff = createBackoff(retry);
    for (let waitMs = renewMs; !signal.aborted; ) {
      await pause(waitMs, signal, clock);
      if (signal.aborted) return;
      try {
        await this.#renew();
        backoff.reset();
        waitMs = renewMs;
      } catch (err) {
        if (err instanceof NodeNameTakenError) throw err;
        waitMs = backoff.next();
        logger.warn({ node: nodeName, waitMs, err }, 'cannot renew the lease of the node, will retry');
      }
    }
  }

  #isOwn(lease: Lease): boolean {
    return identityIn(lease, this.#options.nodeName) === this.#options.holder;
  }

  /** Whether another agent holds it, or did when it was last alive. */
  #isForeign(lease: Lease): boolean {
    return Boolean(lease.spec?.holderIdentity) && !this.#isOwn(lease);
  }

  async #find(): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get(this.#key);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #take(found: Lease | undefined): Promise<Lease> {
    const { clock, nodeName, client } = this.#options;
    const now = timestamp(new Date(clock.now()));
    const spec = { holderIdentity: nodeName, leaseDurationSeconds: durationSeconds, acquireTime: now, renewTime: now };
    if (found === undefined) return client.create({ metadata: { ...this.#key, annotations: this.#notes }, spec });
    const changed = !this.#isOwn(found);
    return client.update({
      ...found,
      metadata: { ...found.metadata, annotations: { ...found.metadata?.annotations, ...this.#notes } },
      spec: { ...found.spec, ...spec, leaseTransitions: (found.spec?.leaseTransitions ?? 0) + (changed ? 1 : 0) },
    });
  }

  /** Liveness is a change seen on this machine's own clock: what the other's clock says does not matter. */
  async #waitForSilence(found: Lease, signal: AbortSignal): Promise<Lease | undefined> {
    const { clock, logger, nodeName } = this.#options;
    const waitMs = (found.spec?.leaseDurationSeconds ?? durationSeconds) * 1000;
    const until = clock.now() + waitMs;
    logger.info({ node: nodeName, holder: holderOf(found), waitMs }, 'the node has another holder, waiting whether it is alive');
    while (clock.now() < until && !signal.aborted) {
      await pause(pollMs, signal, clock);
      const next = await this.#find();
      if (next === undefined || this.#isOwn(next)) return next;
      if (next.metadata?.resourceVersion !== found.metadata?.resourceVersion)
        throw new NodeNameTakenError(nodeName, holderOf(next));
    }
    return found;
  }

  async #acquireOnce(signal: AbortSignal): Promise<void> {
    const found = await this.#find();
    const foreign = found !== undefined && this.#isForeign(found);
    this.#contested = foreign;
    const target = foreign ? await this.#waitForSilence(found, signal) : found;
    if (!signal.aborted) this.#held = await this.#take(target);
    this.#contested = false;
  }

  /**
   * With the Node as its owner, as of a kubelet's, so that the lease goes with it. The Node is read before it is named:
   * one that was deleted would take the lease with it again and again, until the agent registers anew.
   */
  async #owned(metadata: ObjectMeta = {}): Promise<ObjectMeta> {
    const { node } = this.#options;
    const owners = metadata.ownerReferences ?? [];
    const last = node.last()?.metadata?.uid;
    if (!last || owners.some(({ kind, uid }) => kind === 'Node' && uid === last)) return metadata;
    const { uid, name } = (await node.read().catch(() => undefined))?.metadata ?? {};
    if (!uid || !name) return metadata;
    const others = owners.filter(({ kind }) => kind !== 'Node');
    return { ...metadata, ownerReferences: [...others, { apiVersion: 'v1', kind: 'Node', name, uid }] };
  }

  async #renew(): Promise<void> {
    const { clock } = this.#options;
    const renewedAt = clock.now();
    try {
      this.#held = this.#held ? await this.#renewed(this.#held) : await this.#takeBack();
    } catch (error) {
      this.#held = undefined;
      this.#unbroken = undefined;
      if (!isConflict(error) && !isNotFound(error) && !isAlreadyExists(error)) throw error;
      this.#held = await this.#takeBack();
    }
    this.#unbroken = { since: this.unbrokenSince() ?? clock.now(), renewedAt };
  }

  async #renewed(lease: Lease): Promise<Lease> {
    const { client, clock } = this.#options;
    const spec = { ...lease.spec, renewTime: timestamp(new Date(clock.now())) };
    return client.update({ ...lease, metadata: await this.#owned(lease.metadata), spec });
  }

  /**
   * After a failed renewal. Throws NodeNameTakenError when another agent has taken the lease meanwhile. A lease that
   * went with its Node is made again at once, because to the controllers the silence has begun.
   */
  async #takeBack(): Promise<Lease> {
    const found = await this.#find();
    if (found !== undefined && this.#isForeign(found)) throw new NodeNameTakenError(this.#options.nodeName, holderOf(found));
    return this.#take(found);
  }
}
