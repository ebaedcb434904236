import { isIPv4 } from 'node:net';
import { addressNumber, isInRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { allowedSources } from './allowed-sources.ts';
import { type Choice, chooseEndpoints } from './choose-endpoints.ts';
import { isStanding, nameOfChain, outsideOffset, type SetName, type Spread, type TableSettings } from './layout.ts';
import { type HeldPort, isPort, type TableEndpoint, type TablePort, type TableService } from './service.ts';

/**
 * One element of a set or map, as nft writes it; `value` is empty in a set. In `allowed` an element stands for all
 * sources of a front, which are its value with spaces between: so two Services with one front never overlap.
 */
export interface TableElement {
  readonly set: SetName;
  readonly key: string;
  readonly value: string;
  /** Where several Services name one element, the lowest counts: see `ranks`. */
  readonly rank: number;
}

/** What was given out to one Service comes before what any Service may ask for. */
const ranks = { cluster: 0, loadBalancer: 1, nodePort: 2, external: 3, hostPort: 4 } as const;

/** What one Service needs in the table. */
export interface ServiceContent {
  readonly elements: readonly TableElement[];
  /** Chains besides those that every table has. */
  readonly chains: readonly Spread[];
}

interface Front {
  readonly scope: Spread['scope'];
  /** What the keys of its elements begin with: "10.43.0.1 . tcp . 80", or "tcp . 30080" for a node port. */
  readonly key: string;
}

/** IPv4 as the number that stands in a mark. */
const markOf = (address: string): string => `0x${(addressNumber(address) ?? 0).toString(16).padStart(8, '0')}`;

/**
 * What a Service needs in the table. What nft would refuse (ports and addresses that are none) is passed over, so that
 * one Service never keeps the table of all from being built. Node ports that another program holds on all addresses
 * (`held` without an address) are left out, and so are external addresses in the ranges of pods and of cluster
 * addresses: no Service takes over what leads to another one.
 */
export function computeServiceContent(
  service: TableService,
  settings: Pick<TableSettings, 'node' | 'podRanges' | 'serviceRanges'>,
  held: readonly HeldPort[] = [],
): ServiceContent {
  const { affinitySeconds } = service;
  const content = new Content(affinitySeconds === undefined ? undefined : Math.max(1, Math.round(affinitySeconds)));
  const own = {
    ...service,
    externalAddresses: outsideOf(service.externalAddresses, settings),
    loadBalancerAddresses: outsideOf(service.loadBalancerAddresses, settings),
  };
  for (const port of service.ports.filter(({ port }) => isPort(port))) addPort(content, own, port, settings.node, held);
  return { elements: content.elements, chains: content.chains };
}

function outsideOf(
  addresses: readonly string[],
  { podRanges, serviceRanges }: Pick<TableSettings, 'podRanges' | 'serviceRanges'>,
): string[] {
  if (addresses.length === 0) return [];
  const inside = [...podRanges, ...serviceRanges].map(parseAddressRange);
  return addresses.filter((address) => {
    const number = addressNumber(address);
    return number !== undefined && !inside.some((range) => isInRange(range, number));
  });
}

/** Elements of ports that another program holds on single addresses. */
export function computeHeldElements(held: readonly HeldPort[]): TableElement[] {
  return held.flatMap(({ address, protocol, port }) =>
    address === undefined || !isIPv4(address)
      ? []
      : [{ set: 'held', key: `${address} . ${protocol.toLowerCase()} . ${port}`, value: '', rank: 0 }],
  );
}

function addPort(content: Content, service: TableService, port: TablePort, node: string, held: readonly HeldPort[]): void {
  const protocol = port.protocol.toLowerCase();
  const frontOf = (address: string): Front => ({ scope: 'address', key: `${address} . ${protocol} . ${port.port}` });
  const anywhere = chooseEndpoints(port.endpoints, service);
  const here = (): Choice => chooseEndpoints(port.endpoints, service, node);

  content.rank = ranks.cluster;
  for (const address of new Set(service.clusterAddresses.filter(isIPv4))) {
    content.addFront(frontOf(address), 'any', service.internalPolicy === 'Local' ? here() : anywhere);
  }
  const keeps = service.externalPolicy === 'Local';
  const balanced = new Set(service.loadBalancerAddresses);
  for (const address of new Set([...service.externalAddresses, ...balanced])) {
    content.rank = balanced.has(address) ? ranks.loadBalancer : service.isHeldByAgent ? ranks.hostPort : ranks.external;
    const front = frontOf(address);
    content.addFront(front, 'any', anywhere);
    if (keeps) content.addFront(front, 'outside', here());
    content.add('external', front.key, '');
    content.add('sources', front.key, keeps ? 'return' : 'goto masquerade_it');
  }
  const { sourceRanges } = service;
  content.rank = ranks.loadBalancer;
  for (const address of sourceRanges ? balanced : []) {
    const allowed = allowedSources(sourceRanges ?? [], address);
    if (allowed === 'all') continue;
    const { key } = frontOf(address);
    content.add('guarded', key, '');
    content.add('allowed', key, allowed.join(' '));
    // Else its node port at this address would be a way around.
    if (port.nodePort !== undefined && isPort(port.nodePort))
      content.add('held', `${address} . ${protocol} . ${port.nodePort}`, '');
  }
  content.rank = service.isHeldByAgent ? ranks.hostPort : ranks.nodePort;
  const isHeld = held.some((one) => one.address === undefined && one.protocol === port.protocol && one.port === port.nodePort);
  if (port.nodePort !== undefined && isPort(port.nodePort) && !isHeld) {
    const front: Front = { scope: 'port', key: `${protocol} . ${port.nodePort}` };
    content.addFront(front, 'any', anywhere);
    content.add('external_ports', front.key, '');
    if (keeps) content.addFront(front, 'outside', here());
    else content.add('masqueraded_ports', front.key, '');
  }
  for (const endpoint of anywhere === 'refused' || anywhere === 'dropped' ? [] : anywhere.endpoints) {
    if (endpoint.node === node) content.add('hairpin', `${endpoint.address} . ${endpoint.address}`, '');
  }
}

class Content {
  readonly elements: TableElement[] = [];
  readonly chains: Spread[] = [];
  /** Of what is added next. */
  rank: number = ranks.cluster;
  readonly #affinitySeconds: number | undefined;

  constructor(affinitySeconds: number | undefined) {
    this.#affinitySeconds = affinitySeconds;
  }

  add(set: SetName, key: string, value: string): void {
    this.elements.push({ set, key, value, rank: this.rank });
  }

  addFront(front: Front, from: Spread['from'], choice: Choice): void {
    const prefix = front.scope === 'port' ? 'port_' : '';
    const verdicts =
      front.scope === 'port' ? (from === 'outside' ? 'outside_ports' : 'ports') : from === 'outside' ? 'outside' : 'services';
    if (choice === 'refused' || choice === 'dropped') {
      this.add(verdicts, front.key, choice === 'refused' ? 'goto refuse' : 'drop');
      return;
    }
    const endpoints = this.#affinitySeconds === undefined ? choice.endpoints : eachAddressOnce(choice.endpoints);
    const spread: Spread = { scope: front.scope, from, count: endpoints.length, affinitySeconds: this.#affinitySeconds };
    if (!isStanding(spread)) this.chains.push(spread);
    this.add(verdicts, front.key, `goto ${nameOfChain(spread)}`);
    endpoints.forEach((endpoint, index) => {
      const place = `${front.key} . ${index + (from === 'outside' ? outsideOffset : 0)}`;
      const target = `${endpoint.address} . ${endpoint.port}`;
      if (this.#affinitySeconds === undefined) {
        this.add(`${prefix}endpoints`, place, target);
        return;
      }
      const number = markOf(endpoint.address);
      this.add(`${prefix}choices`, place, number);
      this.add(`${prefix}living${from === 'outside' ? '_outside' : ''}`, `${front.key} . ${number}`, target);
    });
  }
}

/** Affinity remembers addresses, so an endpoint with two ports gets connections on the first. */
function eachAddressOnce(endpoints: readonly TableEndpoint[]): TableEndpoint[] {
  const seen = new Set<string>();
  return endpoints.filter(({ address }) => !seen.has(address) && seen.add(address));
}
