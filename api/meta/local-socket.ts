/** Linux takes 108 bytes with the zero at their end. */
const maxPathBytes = 107;

/**
 * Where a server that listens at `address` listens for programs of its own user as well: without TLS, which costs a
 * short command more than everything else that it does. The name holds the address, so that no client takes the socket
 * for another server's. Undefined where the path would be too long for a socket.
 */
export function localSocketPath(dataDir: string, address: string): string | undefined {
  const path = `${dataDir}/run/${localSocketName(address)}`;
  return Buffer.byteLength(path) <= maxPathBytes ? path : undefined;
}

/** The name of its file; an address that means "all of them" is reached through the loopback address. */
export function localSocketName(address: string): string {
  return `api-${address.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:')}.sock`;
}

/** Whether a file of that folder is one, of this run of a server or an earlier one. */
export function isLocalSocketName(name: string): boolean {
  return /^api-.+\.sock$/.test(name);
}
