import { startResolver } from '../../agent/names/resolver.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { clusterNames } from './zone.ts';

/**
 * The resolver in a process of its own, so that its processor time and memory are not the caller's. Prints its port
 * when it serves. Arguments: the upstream server as resolv.conf has it. Bounds of a source are off: one client asks
 * all.
 */
const [, , upstream = ''] = process.argv;
const resolver = await startResolver({
  metrics: new MetricsRegistry(),
  address: '127.0.0.1',
  port: 0,
  clusterDomain: 'cluster.local',
  clusterCidrs: ['10.42.0.0/16', '10.43.0.0/16'],
  resolvConf: upstream === '' ? '' : `nameserver ${upstream}\n`,
  sourceLimits: { perSecond: 1e9, burst: 1e9 },
});
if (process.argv[3] !== 'empty') resolver.apply([clusterNames()]);
process.stdout.write(`${resolver.port}\n`);
