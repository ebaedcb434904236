import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { InstallationRecord } from '../installation/installation-record.ts';
import { localAddress, parseListen } from '../paths.ts';

/** What is known of how the API server is reached. */
export interface AddressFacts {
  /** Of the context that is used: HOST:PORT. */
  readonly context: string;
  /** Of the installation on this machine. */
  readonly record: Pick<InstallationRecord, 'listen' | 'advertise'> | undefined;
  /** This machine's address on its default route. */
  readonly own: string | undefined;
}

export type JoinAddress = { readonly address: string } | { readonly problem: string };

const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1' || host === 'localhost';
const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';
export const joinHost = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** The address at which other machines reach the API server. Pure. */
export function decideJoinAddress({ context, record, own }: AddressFacts): JoinAddress {
  const at = parseListen(context);
  if (at !== undefined && !isLoopback(at.host)) return { address: context };
  const isOurs = record !== undefined && localAddress(record.listen) === localAddress(context);
  const listen = parseListen(isOurs ? record.listen : context);
  const port = listen?.port ?? at?.port ?? 7443;
  if (isOurs && record.advertise !== undefined) return { address: joinHost(record.advertise, port) };
  if (listen !== undefined && !isLoopback(listen.host) && !isEverywhere(listen.host))
    return { address: record?.listen ?? context };
  if (listen !== undefined && isEverywhere(listen.host) && own !== undefined) return { address: joinHost(own, port) };
  return {
    problem: `the API server listens on ${isOurs ? record.listen : context}, which other machines do not reach. On its machine, "berth up --advertise ${own ?? 'ADDRESS'}" lets it listen there too, also while it runs; containers go on running`,
  };
}

/**
 * The address of this machine on the interface of its default route;
 * without one the first that is not for this machine alone.
 */
export function ownAddress(): string | undefined {
  const interfaces = Object.entries(networkInterfaces());
  const usable = (name: string | undefined): string | undefined =>
    interfaces
      .filter(([each]) => name === undefined || each === name)
      .flatMap(([, list]) => list ?? [])
      .find(({ address, internal, family }) => !internal && family === 'IPv4' && isIP(address) !== 0)?.address;
  const route = defaultInterface(readRoutes());
  return (route && usable(route)) || usable(undefined);
}

function readRoutes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8');
  } catch {
    // No IPv4 here.
    return '';
  }
}

/**
 * The interface with the default route of the least metric, from the kernel's table:
 * "eth0 00000000 0100007F flags refs use metric mask".
 */
export function defaultInterface(table: string): string | undefined {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}
