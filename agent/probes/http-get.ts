import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { HTTPHeader } from '../../api/generated/types.ts';

/** Kubernetes' user agent for probes, which people filter from their logs. */
export const userAgent = 'kube-probe/1.36';

export interface HttpAnswer {
  readonly message: IncomingMessage;
  /** The beginning of the body. */
  readonly body: string;
}

/**
 * One request over a connection of its own, certificates unchecked: a pod's address has none.
 * Rejects with the system's error.
 */
export function get(url: URL, headers: readonly HTTPHeader[], signal: AbortSignal, maxBytes: number): Promise<HttpAnswer> {
  const request = url.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    // Plain servers end their lines with a line feed alone, which kubelet puts up with; nothing here is passed on.
    const lenient = { rejectUnauthorized: false, insecureHTTPParser: true };
    const sent = request(url, { agent: false, headers: headersOf(headers), signal, ...lenient }, (message) => {
      readBody(message, maxBytes).then((body) => {
        resolve({ message, body });
        sent.destroy();
      }, reject);
    });
    // Else the library ends the connection without an event.
    sent.on('upgrade', (message, socket) => {
      socket.destroy();
      resolve({ message, body: '' });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/**
 * A header may come several times; "User-Agent" and "Accept" replace the usual ones,
 * and are left out when they are empty.
 */
export function headersOf(list: readonly HTTPHeader[]): Record<string, string | string[]> {
  const headers = new Map<string, string[]>([
    ['user-agent', [userAgent]],
    ['accept', ['*/*']],
  ]);
  const own = new Set<string>();
  for (const { name = '', value = '' } of list) {
    const key = name.toLowerCase();
    headers.set(key, own.has(key) ? [...(headers.get(key) ?? []), value] : [value]);
    own.add(key);
  }
  const sent = [...headers].filter(
    ([key, values]) => !((key === 'user-agent' || key === 'accept') && values.every((value) => value === '')),
  );
  return Object.fromEntries(sent.map(([key, values]) => [key, values.length === 1 ? values[0]! : values]));
}

async function readBody(message: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let left = maxBytes;
  for await (const chunk of message) {
    chunks.push((chunk as Buffer).subarray(0, left));
    left -= (chunk as Buffer).length;
    if (left <= 0) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
