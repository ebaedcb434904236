import type { Pod, Service } from '../../api/generated/types.ts';
import { isStatic } from '../../api/kinds/pod/static-pods.ts';
import { type AddressRange, addressNumber, isInRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { kubernetesService } from '../../api/meta/control-plane.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import { computeServiceLinks, linkedServices } from './compute-service-links.ts';

/**
 * So long containers wait for the Services of an agent that has just started: a little longer than it takes until what
 * was kept of them is used.
 */
const knownWithinMs = 6_000;
/**
 * So long pods of the machine's own network wait for a node's network that is late. An older server has none for its
 * nodes: they start without variables then. Others have no address before the network is there.
 */
const carriedWithinMs = 30_000;

/** Which variables of Services (`enableServiceLinks`) containers get when they are made. */
export class ServiceLinks {
  readonly #clock: Clock;
  readonly #settled: Promise<void>;
  #settle: () => void = () => {};
  #isLate = false;
  /** Pods in them reach Services. Undefined: nothing carries Services on this node, or not yet. */
  #podRanges: readonly AddressRange[] | undefined;
  #servicesIn: ((namespace: string) => readonly Service[]) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Services are carried on this node, for pods in these ranges, such as "10.42.0.0/16". */
  carriedFor(podRanges: readonly string[]): void {
    this.#podRanges = podRanges.map(parseAddressRange);
  }

  /** From here on it is known which Services there are. */
  known(servicesIn: (namespace: string) => readonly Service[]): void {
    this.#servicesIn = servicesIn;
    this.#settle();
  }

  /** Returns when no container waits any longer, known or not. */
  async run(signal: AbortSignal): Promise<void> {
    await pause(knownWithinMs, signal, this.#clock);
    this.#settle();
    await pause(carriedWithinMs - knownWithinMs, signal, this.#clock);
    this.#isLate = true;
  }

  /**
   * Those of a pod with this address: where it has turned them off, of the Service `kubernetes` alone, as in
   * Kubernetes. None in the engine's network, which does not reach Services. Throws ContainerConfigError while Services
   * are not known, but for static pods: those start without a server.
   */
  async of(pod: Pod, address: string | undefined): Promise<ReadonlyMap<string, string>> {
    await this.#settled;
    if (!this.#reachesServices(pod, address)) {
      const mayReach = pod.spec?.hostNetwork === true && this.#podRanges === undefined && !this.#isLate;
      if (mayReach && !isStatic(pod))
        throw new ContainerConfigError(
          'the network of the node is not there yet, over which it reaches Services (enableServiceLinks)',
        );
      return new Map();
    }
    if (this.#servicesIn) return linksOf(pod, this.#servicesIn);
    if (isStatic(pod)) return new Map();
    throw new ContainerConfigError(
      'the Services of the cluster are not known yet, of which its variables tell (enableServiceLinks)',
    );
  }

  #reachesServices({ spec }: Pod, address = ''): boolean {
    const [ranges, number] = [this.#podRanges, addressNumber(address)];
    if (ranges === undefined) return false;
    return spec?.hostNetwork === true || (number !== undefined && ranges.some((range) => isInRange(range, number)));
  }
}

function linksOf({ metadata, spec }: Pod, servicesIn: (namespace: string) => readonly Service[]): ReadonlyMap<string, string> {
  const { namespace, name } = kubernetesService;
  const kubernetes = servicesIn(namespace).find((service) => service.metadata?.name === name);
  const own = servicesIn(metadata?.namespace ?? '');
  return computeServiceLinks(linkedServices(own, kubernetes, spec?.enableServiceLinks !== false));
}
