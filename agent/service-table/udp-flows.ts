import { BlockList, isIPv4 } from 'node:net';
import { keepsFlows } from './choose-endpoints.ts';
import type { TableService } from './service.ts';

/** One UDP entry of conntrack: where the client sent its packets, and who answers. */
export interface UdpFlow {
  readonly destination: string;
  readonly destinationPort: number;
  readonly answering: string;
  readonly answeringPort: number;
  readonly replied: boolean;
}

/**
 * By where clients send their packets ("10.43.0.10:53", "*:30053" for a node port): the endpoints ("10.42.0.9:5353")
 * that established flows may go on with.
 */
export type UdpFronts = ReadonlyMap<string, ReadonlySet<string>>;

/** The UDP part of a Service; empty for most. */
export function computeUdpFronts(service: TableService | undefined): UdpFronts {
  const fronts = new Map<string, ReadonlySet<string>>();
  for (const port of service?.ports ?? []) {
    if (service === undefined || port.protocol !== 'UDP') continue;
    const kept = port.endpoints.filter((endpoint) => isIPv4(endpoint.address) && keepsFlows(endpoint, service));
    const endpoints = new Set(kept.map((endpoint) => `${endpoint.address}:${endpoint.port}`));
    const addresses = [...service.clusterAddresses, ...service.externalAddresses, ...service.loadBalancerAddresses].filter(
      isIPv4,
    );
    for (const address of addresses) fronts.set(`${address}:${port.port}`, endpoints);
    if (port.nodePort !== undefined) fronts.set(`*:${port.nodePort}`, endpoints);
  }
  return fronts;
}

/**
 * What went from one state of a Service to the next: endpoints that flows may no longer go on with. `appeared`: a front
 * has endpoints for the first time, so flows may exist that were never translated.
 */
export function compareUdpFronts(before: UdpFronts, after: UdpFronts): { gone: UdpFronts; appeared: boolean } {
  const gone = new Map<string, ReadonlySet<string>>();
  for (const [front, endpoints] of before) {
    const lost = [...endpoints].filter((endpoint) => !after.get(front)?.has(endpoint));
    if (lost.length > 0) gone.set(front, new Set(lost));
  }
  const appeared = [...after].some(([front, endpoints]) => endpoints.size > 0 && (before.get(front)?.size ?? 0) === 0);
  return { gone, appeared };
}

/**
 * Tells which flows have to be removed: those that go on with an endpoint that has gone, and those that began when no
 * table translated them (a sender with a fixed port would keep either alive and reach nothing). `gone`: of Services
 * that are no longer among the `fronts`.
 */
export function createFlowJudge(fronts: UdpFronts, gone: UdpFronts, serviceRanges: readonly string[]) {
  const ranges = new BlockList();
  for (const range of serviceRanges) {
    const [network = '', prefix] = range.split('/');
    ranges.addSubnet(network, Number(prefix), 'ipv4');
  }
  return (flow: UdpFlow): boolean => {
    const front = `${flow.destination}:${flow.destinationPort}`;
    const answering = `${flow.answering}:${flow.answeringPort}`;
    const kept = fronts.get(front);
    if (kept !== undefined) return !kept.has(answering);
    const translated = front !== answering;
    if (gone.get(front)?.has(answering)) return true;
    if (ranges.check(flow.destination, 'ipv4')) return translated;
    const nodePort = `*:${flow.destinationPort}`;
    const keptByPort = fronts.get(nodePort);
    // Untranslated flows to a port of this number may be others' own; an answer proves it.
    if (keptByPort !== undefined) return translated ? !keptByPort.has(answering) : !flow.replied;
    return gone.get(nodePort)?.has(answering) ?? false;
  };
}
