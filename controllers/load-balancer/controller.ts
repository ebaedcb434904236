import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Lease, Node, Service } from '../../api/generated/types.ts';
import { addressNumber } from '../../api/meta/address-range.ts';
import { findCondition, setCondition } from '../../api/meta/conditions.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { objectKey } from '../../api/meta/key.ts';
import { addressOfLease, loadBalancerCondition } from '../../api/meta/load-balancers.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { type Client, type Clock, type EventRecorder, type Informer, referenceTo } from '../../client/index.ts';
import { attemptEach } from '../attempt-each.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { OwnWrites, unshownRetryMs } from '../owned-pods/own-writes.ts';
import { StatusWriter } from '../owned-pods/status-writer.ts';
import { rule, writeStatus } from '../rules.ts';
import { type AddressPool, parseLoadBalancerPool } from './address-pool.ts';
import { decideLoadBalancers, type StatusChange } from './decide.ts';
import { decideLeases, type LeaseStep } from './decide-leases.ts';

export interface LoadBalancersOptions {
  readonly client: {
    readonly services: Pick<Client['services'], 'get' | 'updateStatus'>;
    readonly leases: Pick<Client['leases'], 'create' | 'update' | 'delete'>;
  };
  readonly services: Informer<Service>;
  readonly leases: Informer<Lease>;
  readonly nodes: Informer<Node>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly pool: AddressPool | undefined;
  readonly clock: Clock;
}

/** All are looked at together: what one service gets depends on what all others have. */
const ALL = 'all';
const quietCheckMs = 5_000;

/**
 * Gives services of type LoadBalancer their addresses, and keeps a Lease for each, which the nodes compete for. No two
 * services get one address: nothing is decided before the informers show what was written before.
 */
export class LoadBalancerController implements Controller {
  readonly name = 'load-balancer';
  readonly workers = 1;
  readonly sources: readonly Source[];
  readonly #options: LoadBalancersOptions;
  readonly #own = new OwnWrites();
  readonly #statuses: StatusWriter<Service>;
  /** Since when a Lease of an address that no service has shows this version, by name. */
  readonly #quiet = new Map<string, { readonly version: string; readonly since: number }>();

  constructor(options: LoadBalancersOptions) {
    this.#options = options;
    const { client, services, leases, nodes, clock } = options;
    this.#statuses = new StatusWriter<Service>({
      ...{ writes: client.services, client: client.services, clock },
      note: (_key, { metadata }) => this.#own.note(ALL, services, metadata?.resourceVersion),
    });
    const matters = (next: Service, old: Service) => !equalValues(factsOf(next), factsOf(old));
    const heldBy = ({ metadata, spec }: Lease) => [metadata?.labels, spec?.holderIdentity ? 'held' : 'free'];
    const addresses = (node: Node) => internalAddresses(node);
    this.sources = [
      changesOf(services, () => [ALL], { matters }),
      changesOf(leases, keysOfLease, { matters: (next, old) => !equalValues(heldBy(next), heldBy(old)) }),
      // Heartbeats change no address.
      changesOf(nodes, () => [ALL], { matters: (next, old) => !equalValues(addresses(next), addresses(old)) }),
    ];
  }

  async reconcile(_key: string, signal: AbortSignal): Promise<Again | undefined> {
    for (const service of this.#options.services.lister.list()) await this.#statuses.settle(objectKey(service), signal);
    if (!this.#own.areShown(ALL)) return { afterMs: unshownRetryMs };
    const { services, leases, nodes, pool } = this.#options;
    const taken = new Map(
      nodes.lister.list().flatMap((node) => internalAddresses(node).map((each) => [each, node.metadata?.name ?? ''] as const)),
    );
    const { changes, held } = decideLoadBalancers({ pool, services: services.lister.list(), nodes: taken });
    const { steps, isWaiting } = decideLeases(leases.lister.list(), held, (lease) => this.#quietFor(lease));
    for (const name of this.#quiet.keys()) if (!leases.lister.get(`${namespaces.system}/${name}`)) this.#quiet.delete(name);
    await attemptEach(changes, (change) => this.#writeStatus(change, signal));
    await attemptEach(steps, (step) => this.#writeLease(step, signal));
    return isWaiting ? { afterMs: quietCheckMs } : undefined;
  }

  /** On this process's own clock: what the holder's says does not matter. */
  #quietFor({ metadata }: Lease): number {
    const { name = '', resourceVersion: version = '' } = metadata ?? {};
    const now = this.#options.clock.now();
    const known = this.#quiet.get(name);
    if (known?.version === version) return now - known.since;
    this.#quiet.set(name, { version, since: now });
    return 0;
  }

  async #writeStatus({ service, ingress, condition }: StatusChange, signal: AbortSignal): Promise<void> {
    const { events, clock } = this.#options;
    const { status = {} } = service;
    const now = secondsTimestamp(new Date(clock.now()));
    const others = (status.conditions ?? []).filter(({ type }) => type !== loadBalancerCondition);
    const generation = service.metadata?.generation;
    const next = {
      ...status,
      loadBalancer: { ...status.loadBalancer, ingress: [...ingress] },
      conditions: condition
        ? setCondition(status.conditions, { ...condition, ...(generation && { observedGeneration: generation }) }, now)
        : others,
    };
    if (!(await this.#statuses.write({ ...service, status: next }, signal))) return;
    const before = findCondition(status.conditions, loadBalancerCondition);
    if (!condition || (before?.reason === condition.reason && before?.message === condition.message)) return;
    const isGood = condition.reason === 'Allocated';
    events.event(
      referenceTo('Service', service),
      isGood ? 'Normal' : 'Warning',
      isGood ? 'IPAllocated' : (condition.reason ?? ''),
      condition.message ?? '',
    );
  }

  async #writeLease(step: LeaseStep, signal: AbortSignal): Promise<void> {
    const { client, leases } = this.#options;
    const { namespace, name = '', uid, resourceVersion } = step.lease.metadata ?? {};
    try {
      const written =
        step.do === 'create'
          ? await client.leases.create(step.lease, {}, { signal })
          : step.do === 'update'
            ? await client.leases.update(step.lease, {}, { signal })
            : await client.leases.delete({ namespace, name }, { preconditions: { uid, resourceVersion } }, { signal });
      this.#own.note(ALL, leases, written.metadata?.resourceVersion);
    } catch (error) {
      // A holder has renewed it meanwhile.
      if (isConflict(error)) throw error;
      if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
    }
  }
}

const factsOf = ({ metadata, spec = {}, status }: Service) => {
  const { type, loadBalancerClass, loadBalancerIP } = spec;
  const uid = metadata?.uid;
  return [uid, metadata?.deletionTimestamp !== undefined, type, loadBalancerClass, loadBalancerIP, status];
};

const keysOfLease = ({ metadata }: Lease): string[] =>
  metadata?.namespace === namespaces.system && addressOfLease(metadata.name ?? '') !== undefined ? [ALL] : [];

function internalAddresses({ status }: Node): number[] {
  return (status?.addresses ?? []).flatMap(({ type, address = '' }) =>
    type === 'InternalIP' || type === 'ExternalIP' ? (addressNumber(address) ?? []) : [],
  );
}

export const loadBalancers: ControllerDefinition = {
  name: 'load-balancer',
  component: 'load-balancer',
  rules: [writeStatus('', 'services'), rule(['create', 'update'], 'coordination.k8s.io', 'leases')],
  watches: { Service: { whole: true }, Lease: { whole: true }, Node: { whole: true } },
  create: ({ client, informer, events, settings, clock }) =>
    new LoadBalancerController({
      ...{ client, events, clock, pool: parseLoadBalancerPool(settings) },
      ...{ services: informer('Service'), leases: informer('Lease'), nodes: informer('Node') },
    }),
};
