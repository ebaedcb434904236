import { startResolver } from '../../agent/names/resolver.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';

/** The agent's resolver as a program, for a network namespace: port 53 of an address, with one Service. Prints "up". */
const [, , address = ''] = process.argv;
const fixed = { clusterDomain: 'cluster.local', clusterCidrs: ['10.117.0.0/16'], resolvConf: '', port: 53 };
const resolver = await startResolver({ ...fixed, metrics: new MetricsRegistry(), address });
const ports = [{ name: 'http', protocol: 'TCP', port: 80 }];
const web = { namespace: 'default', name: 'web', type: 'ClusterIP', clusterIPs: ['10.117.0.9'], ports } as const;
resolver.apply([{ kind: 'snapshot', services: [web], slices: [], pods: [] }]);
process.stdout.write('up\n');
