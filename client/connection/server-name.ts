import { isIP } from 'node:net';

/**
 * TLS may not name a server by its IP address (RFC 6066), so another name is sent;
 * the certificate is checked against the address.
 */
const nameForAddresses = 'localhost';

/** "127.0.0.1:7443", "[::1]:7443" or "host:7443" -> the host. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** The name that TLS sends to a host. */
export function sentName(host: string): string {
  return isIP(host) ? nameForAddresses : host;
}
