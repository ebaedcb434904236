/** An address to listen on. */
export interface ListenAddress {
  /** Without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
}

/** HOST:PORT, as options have it. */
export function splitListen(listen: string): ListenAddress {
  const at = listen.lastIndexOf(':');
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) };
}

/** A host as it stands in front of a port. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Whether only programs of the same machine reach it. */
export const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1' || host === 'localhost';

/** Whether it stands for all addresses of the machine. */
export const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';
