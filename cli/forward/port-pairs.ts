import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { isSidecar } from '../../api/kinds/pod/status-cells.ts';

/** A port here and the one in the pod that it leads to. */
export interface PortPair {
  /** 0: one that is free. */
  readonly local: number;
  readonly remote: number;
}

const highestPort = 65_535;

/**
 * Reads "8080:80", "80", ":80" and "8080:http", where http is the name of a port in the pod's spec.
 * Throws INVALID_ARGUMENT.
 */
export function parsePortPair(text: string, pod: Pod): PortPair {
  const [first = '', second, ...more] = text.split(':');
  if (more.length > 0 || text === '' || second === '')
    throw badRequest(`"${text}" is not a port: write REMOTE, LOCAL:REMOTE or :REMOTE`);
  const remote = parseRemote(second ?? first, pod);
  if (second === undefined) return { local: remote, remote };
  return { local: first === '' ? 0 : parseNumber(first, 0), remote };
}

function parseRemote(text: string, pod: Pod): number {
  if (/^\d+$/.test(text)) return parseNumber(text, 1);
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const listening = [...containers, ...initContainers.filter(isSidecar)];
  const named = listening.flatMap((each) => each.ports ?? []).find((port) => port.name === text);
  const name = pod.metadata?.name ?? '';
  if (named?.containerPort === undefined) throw badRequest(`pod "${name}" does not have a named port "${text}"`);
  if (named.protocol === 'UDP' || named.protocol === 'SCTP')
    throw badRequest(`port "${text}" of pod "${name}" is ${named.protocol}; only TCP can be forwarded`);
  return named.containerPort;
}

function parseNumber(text: string, lowest: number): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < lowest || port > highestPort)
    throw badRequest(`"${text}" is not a port: it is a number from 1 to ${highestPort}`);
  return port;
}

/** An address to listen on. */
export interface LocalAddress {
  readonly host: string;
  /** Another one is enough. */
  readonly optional: boolean;
}

/** A machine may have only one of the two. */
const localhost: readonly LocalAddress[] = [
  { host: '127.0.0.1', optional: true },
  { host: '::1', optional: true },
];

/** The addresses behind "localhost,10.0.0.5". Throws INVALID_ARGUMENT. */
export function parseAddresses(text: string): LocalAddress[] {
  return text.split(',').flatMap((each): readonly LocalAddress[] => {
    const host = each.trim();
    if (host === '') throw badRequest('--address takes addresses of this machine, e.g. localhost,10.0.0.5');
    return host === 'localhost' ? localhost : [{ host, optional: false }];
  });
}
