import type { IncomingMessage } from 'node:http';
import type { HTTPGetAction } from '../../api/generated/types.ts';
import { onAbort } from '../../client/abort.ts';
import { systemClock } from '../../client/clock.ts';
import { type CheckResult, failure, joinHostPort, maxOutputBytes, success } from './check-result.ts';
import { dialWords } from './dial-words.ts';
import { get } from './http-get.ts';

// As in kubelet.
const mostRedirects = 10;
const firstGood = 200;
const firstRedirect = 300;
const firstBad = 400;

/**
 * Asks for a path: 200 to 399 is healthy. Redirects are followed on the same host;
 * one that leads elsewhere is healthy with a warning.
 */
export async function checkHttp(
  action: HTTPGetAction,
  target: { readonly host: string; readonly port: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const first = urlOf(action, target);
  const abort = new AbortController();
  let late = false;
  const cancel = systemClock.after(timeoutMs, () => {
    late = true;
    abort.abort();
  });
  // Not AbortSignal.any: the worker's signal lives as long as its container and would keep every one of them.
  const unlink = onAbort(signal, () => abort.abort());
  let url = first;
  try {
    for (let redirects = 0; ; redirects++) {
      const answer = await get(url, action.httpHeaders ?? [], abort.signal, maxOutputBytes);
      const next = redirectOf(answer.message, url);
      if (next === undefined || next.hostname !== first.hostname) return judge(answer.message.statusCode ?? 0, answer.body);
      if (redirects + 1 >= mostRedirects) return failure(`Get "${next}": stopped after ${mostRedirects} redirects`);
      url = next;
    }
  } catch (error) {
    const words = late ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' : wordsOf(error, url);
    return failure(`Get "${url}": ${words}`);
  } finally {
    cancel();
    unlink();
  }
}

/** The path may bring a query; a host with colons is put into brackets. */
export function urlOf(
  { path = '/', scheme = 'HTTP' }: HTTPGetAction,
  target: { readonly host: string; readonly port: number },
): URL {
  const base = `${scheme.toLowerCase()}://${joinHostPort(target)}`;
  return new URL(path.startsWith('/') ? `${base}${path}` : `${base}/${path}`);
}

const redirects = new Set([301, 302, 303, 307, 308]);

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  const { location } = headers;
  if (!redirects.has(statusCode) || location === undefined || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  return to.protocol === 'http:' || to.protocol === 'https:' ? to : undefined;
}

// The body of a failed response may be confidential: only its status is reported.
function judge(status: number, body: string): CheckResult {
  if (status < firstGood || status >= firstBad) return failure(`HTTP probe failed with statuscode: ${status}`);
  if (status < firstRedirect) return success;
  return { outcome: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
}

/** Why the request could not be sent, in Kubernetes' words. */
export function wordsOf(error: unknown, url: URL): string {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return dialWords(error, joinHostPort({ host, port: Number(url.port) || defaultPort(url) }));
}

const defaultPort = ({ protocol }: URL): number => (protocol === 'https:' ? 443 : 80);
