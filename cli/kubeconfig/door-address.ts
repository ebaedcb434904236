import { badRequest } from '../../api/errors/index.ts';

interface Address {
  readonly host: string;
  readonly port: string;
}

/**
 * Where a program beside this one reaches Kubernetes' HTTP API of the server, HOST:PORT. `served` are the addresses
 * that the server tells, `reached` is where this program reaches gRPC, `isOwn` tells the addresses of this machine.
 * Pure. Throws INVALID_ARGUMENT where it is not served, or only for programs of the server's machine.
 */
export function computeDoorAddress(served: readonly string[], reached: string, isOwn: (host: string) => boolean): string {
  const addresses = served.map(split);
  const [first] = addresses;
  const { host } = split(reached);
  if (first === undefined) throw doorIsOff();
  // It listens at every address: also at the one by which the server is known here.
  if (isEverywhere(first.host)) return join({ host, port: first.port });
  const same = addresses.find((each) => each.host === host);
  if (same) return join(same);
  if (isLoopback(host) || isOwn(host)) return join(first);
  const other = addresses.find((each) => !isLoopback(each.host));
  if (other) return join(other);
  throw badRequest(
    `the server serves Kubernetes' HTTP API at ${join(first)}, for programs of its own machine: start it with --kubernetes-listen 0.0.0.0:${first.port}, or say with --server URL how this machine reaches it`,
  );
}

export const doorIsOff = (): Error =>
  badRequest(
    'the server does not serve Kubernetes\' HTTP API: it runs with --kubernetes-listen off, or another program has the address (its log says so); "berth down" and "berth up --kubernetes-listen 127.0.0.1:PORT" turn it on',
  );

function split(address: string): Address {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: address.slice(at + 1) };
}

const join = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;
const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';
const isLoopback = (host: string): boolean => host === 'localhost' || host.startsWith('127.') || host === '::1';
