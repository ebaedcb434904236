import { isIP } from 'node:net';
import { parseResolvConf } from '../../config/resolv-conf.ts';
import { encodeName } from '../wire.ts';

export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

/** Where names outside of the cluster are asked for, as a resolv.conf says. */
export interface UpstreamConfig {
  readonly servers: readonly ServerAddress[];
  /** Search domains of the machine, as keys. */
  readonly searches: readonly string[];
  /** How often each server is asked. */
  readonly attempts: number;
  /** Servers that were left out because they are this resolver itself. */
  readonly own: readonly string[];
}

/** What resolv.conf(5) allows. */
const maxServers = 3;
const maxSearches = 6;
const defaultAttempts = 2;
const maxAttempts = 5;

/** Reads a resolv.conf. Pure. `isOwn` tells which addresses are this resolver. What is no address is passed over. */
export function computeUpstream(text: string, isOwn: (server: ServerAddress) => boolean): UpstreamConfig {
  const { nameservers, searches, options } = parseResolvConf(text);
  const servers = [...new Set(nameservers)].flatMap((word): ServerAddress[] => {
    // The tests name a port, as unbound's files do; resolv.conf(5) itself knows none.
    const [address = '', port = '53'] = word.split('@');
    return isIP(address.split('%', 1)[0]!) > 0 && Number(port) > 0 ? [{ address, port: Number(port) }] : [];
  });
  const attempts = Number(options.find((option) => option.startsWith('attempts:'))?.slice('attempts:'.length));
  return {
    servers: servers.filter((server) => !isOwn(server)).slice(0, maxServers),
    own: servers.filter(isOwn).map(({ address }) => address),
    searches: searches
      .flatMap((domain) => encodeName(domain) ?? [])
      .filter((key) => key.length > 1)
      .slice(0, maxSearches),
    attempts: attempts >= 1 ? Math.min(attempts, maxAttempts) : defaultAttempts,
  };
}
