import type { EndpointSlice, Pod } from '../../api/generated/types.ts';
import { linkAbort } from '../../client/abort.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Informer } from '../../client/informer/informer.ts';

/** So long other nodes have to hear that an endpoint gets no new connections any more. */
const spreadMs = 500;
/** So long it is waited for that it does not: the controllers may be away. */
const mostMs = 5_000;

/** The index of slices by the addresses of a node's endpoints. */
export const nodeAddressIndex = (nodeName: string) => ({
  address: ({ endpoints = [] }: EndpointSlice) =>
    endpoints.flatMap((endpoint) => (endpoint.nodeName === nodeName ? (endpoint.addresses ?? []) : [])),
});

export interface DrainingOptions {
  /** With `nodeAddressIndex`. */
  readonly slices: Pick<Informer<EndpointSlice>, 'lister' | 'addHandler'>;
  readonly clock: Clock;
}

/** Holds the end of a pod's containers back while Services still lead new connections to it. */
export class Draining {
  readonly #options: DrainingOptions;

  constructor(options: DrainingOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the pod, whose deletion has begun, gets no new connections on any node: at once where it is behind no
   * Service. It takes half of its grace period at most.
   */
  async until(pod: Pod, gracePeriodSeconds: number, signal: AbortSignal): Promise<void> {
    const address = pod.status?.podIP ?? '';
    if (address === '' || pod.spec?.hostNetwork === true || this.#statesOf(address).length === 0) return;
    const { clock } = this.#options;
    const endsAt = clock.now() + Math.min(mostMs, (gracePeriodSeconds * 1_000) / 2);
    await this.#untilOut(address, endsAt, signal);
    await pause(Math.max(0, Math.min(endsAt - clock.now(), spreadMs)), signal, clock);
  }

  async #untilOut(address: string, endsAt: number, signal: AbortSignal): Promise<void> {
    const { clock, slices } = this.#options;
    const out = linkAbort(signal);
    const look = () => {
      if (!this.#statesOf(address).includes(true)) out.abort();
    };
    const leave = slices.addHandler({ name: 'draining', onAdd: look, onUpdate: look, onDelete: look });
    look();
    await pause(endsAt - clock.now(), out.signal, clock);
    leave();
    out.unlink();
  }

  /** Whether it gets new connections, by each slice that names it. */
  #statesOf(address: string): boolean[] {
    const slices = this.#options.slices.lister.byIndex('address', address);
    return slices.flatMap(({ endpoints = [] }) =>
      endpoints.filter(({ addresses }) => addresses?.includes(address)).map(({ conditions }) => conditions?.ready ?? true),
    );
  }
}
