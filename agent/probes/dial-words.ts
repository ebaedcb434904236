/** The system's words for why a connection failed, by its code. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'read: connection reset by peer',
  EPIPE: 'write: broken pipe',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
  EINVAL: 'connect: invalid argument',
  ENOTFOUND: 'lookup: no such host',
  EAI_AGAIN: 'lookup: the name server does not answer',
};

/** "dial tcp 10.0.0.1:80: connect: connection refused": what people know from Kubernetes. */
export function dialWords(error: unknown, address: string): string {
  const code = codeOf(error);
  const known = code === undefined ? undefined : words[code];
  if (known !== undefined) return `dial tcp ${address}: ${known}`;
  return error instanceof Error ? error.message : String(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
