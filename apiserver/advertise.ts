import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { bracketed, isEverywhere, isLoopback, splitListen } from './listen-address.ts';

/**
 * Where the server listens besides, so that it is reached at the address that it advertises: there, when that address
 * is one of this machine's own. Undefined when it listens there anyway, and for an address of another machine, which
 * forwards connections.
 */
export async function listenBesides(listen: string, advertise: string | undefined): Promise<string | undefined> {
  if (advertise === undefined) return undefined;
  const { host, port } = splitListen(listen);
  const address = isIP(advertise) ? advertise : await resolve(advertise);
  if (address === undefined || isEverywhere(host) || address === host || isLoopback(address)) return undefined;
  return isOwn(address) ? `${bracketed(address)}:${port}` : undefined;
}

async function resolve(name: string): Promise<string | undefined> {
  try {
    return (await lookup(name)).address;
  } catch {
    // Others may know the name; here there is nothing to listen on.
    return undefined;
  }
}

function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((list) => list?.some((each) => each.address === address));
}

/** Why other machines would not reach the server at the advertised address; undefined when they do, or may. */
export async function advertiseProblem(listen: string, advertise: string): Promise<string | undefined> {
  const { host } = splitListen(listen);
  const address = isIP(advertise) ? advertise : await resolve(advertise);
  if (address !== undefined && isLoopback(address))
    return `--advertise ${advertise} is this machine itself: other machines would reach themselves there`;
  if (!isLoopback(host) || (await listenBesides(listen, advertise)) !== undefined) return undefined;
  return `--advertise ${advertise} is no address of this machine, and the server listens on ${listen} only: with --listen 0.0.0.0:${splitListen(listen).port} what is passed on from there arrives`;
}

/** What is to be said of an address that may be reached, and is not this machine's own; undefined for one that is. */
export async function advertiseNotice(listen: string, advertise: string): Promise<string | undefined> {
  const { host, port } = splitListen(listen);
  const address = isIP(advertise) ? advertise : await resolve(advertise);
  if (address === undefined) return `the name ${advertise} is not known on this machine: others must know it`;
  if (address === host || isLoopback(address) || isOwn(address)) return undefined;
  return `${advertise} is no address of this machine: the device that has it (NAT, a load balancer) must forward connections to port ${port} of this machine`;
}
