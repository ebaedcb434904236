import type { Lease } from '../../api/generated/types.ts';
import { loadBalancerLabel } from '../../api/meta/load-balancers.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { createInformer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import { createShell } from '../pod-network/shell.ts';
import type { TableService } from '../service-table/service.ts';
import { announce } from './announce.ts';
import { Announcer } from './announcer.ts';
import { LinkAddresses, linkOf } from './link-addresses.ts';

export interface OpenAnnouncerOptions {
  readonly client: Pick<Client, 'leases'>;
  readonly nodeName: string;
  readonly nodeDir: string;
  /** The node's own, its InternalIP: load balancers' addresses are on the same link. */
  readonly address: string;
  readonly nodes: () => readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenedAnnouncer {
  set(key: string, service: TableService | undefined): void;
  /** Until aborted; begins when `ready` has resolved: services are known and carried. Never throws. */
  run(ready: Promise<unknown>, signal: AbortSignal): Promise<void>;
}

/** What answers for load balancers' addresses on a node, where the node's own address is on a link. */
export function openAnnouncer(options: OpenAnnouncerOptions): OpenedAnnouncer {
  const { client, nodeName, nodeDir, address, nodes, clock, logger } = options;
  const link = linkOf(address);
  if (link === undefined) {
    logger.warn({}, `this node answers for no load balancer: no link has its address, ${address}`);
    return { set: () => {}, run: async () => {} };
  }
  const labelSelector = `${loadBalancerLabel.name}=${loadBalancerLabel.value}`;
  const scope = { namespace: namespaces.system, labelSelector };
  const leases = createInformer<Lease>({ client: client.leases, scope, name: 'load balancer leases', clock, logger });
  const shell = createShell();
  const addresses = new LinkAddresses({ nodeDir, link, shell });
  const announcer = new Announcer({
    ...{ nodeName, client: client.leases, leases, nodes, addresses, clock, logger },
    announce: (all) => announce(all, link, shell),
  });
  const begin = async (ready: Promise<unknown>, signal: AbortSignal): Promise<void> => {
    await Promise.all([ready, leases.waitForSync(signal)]);
    if (signal.aborted) return;
    await addresses
      .start()
      .catch((err: unknown) => logger.warn({ err }, 'addresses of load balancers of before stay on the link'));
    await announcer.run(signal);
  };
  return {
    set: (key, service) => announcer.set(key, service),
    run: async (ready, signal) => void (await Promise.all([leases.run(signal), begin(ready, signal)])),
  };
}
