import type { NamesSnapshot, SliceView } from '../../agent/names/changes.ts';

/** The size of issue 17's table: 5,000 services with three endpoints each; every tenth is headless. */
export const serviceCount = 5000;
const endpointsEach = 3;

const ports = [{ name: 'http', protocol: 'TCP', port: 80 }];

/** The cluster that is asked for. Queries come from a pod of namespace "bench". */
export function clusterNames(): NamesSnapshot {
  const numbers = Array.from({ length: serviceCount }, (_, n) => n);
  return {
    kind: 'snapshot',
    services: numbers.map((n) => {
      const isHeadless = n % 10 === 0;
      const clusterIPs = [isHeadless ? 'None' : `10.43.${n >> 8}.${n & 255}`];
      return { namespace: 'bench', name: `service-${n}`, type: 'ClusterIP', clusterIPs, ports };
    }),
    slices: numbers.map(sliceOf),
    pods: [{ namespace: 'bench', name: 'client', addresses: ['127.0.0.1'] }],
  };
}

function sliceOf(n: number): SliceView {
  const endpoints = Array.from({ length: endpointsEach }, (_, e) => {
    const at = n * endpointsEach + e;
    return { addresses: [`10.42.${at >> 8}.${at & 255}`], ready: true };
  });
  return { namespace: 'bench', name: `service-${n}-a`, serviceName: `service-${n}`, endpoints, ports };
}

/** Lines for dnsperf: names with a cluster address, each asked for as a client with a search path finds it at once. */
export function ownQueries(): string[] {
  const named = Array.from({ length: serviceCount }, (_, n) => n).filter((n) => n % 10 !== 0);
  return named.map((n) => `service-${n}.bench.svc.cluster.local A`);
}

/** Names of the world, as a client with `ndots:5` asks first, and as they are in full. */
const worldCount = 500;
export function worldQueries(suffix = ''): string[] {
  return Array.from({ length: worldCount }, (_, n) => `host-${n}.example.com${suffix} A`);
}
