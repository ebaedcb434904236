import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';

/**
 * Whether the registry of a repository ("registry:5000/team/app") answers that a user and a password are needed. False
 * for one that is away, that hands out anonymous tokens, and behind a proxy that only the engine knows. Nothing secret
 * is sent.
 */
export async function asksForPassword(repository: string, timeoutMs: number): Promise<boolean> {
  const authority = repository.slice(0, Math.max(0, repository.indexOf('/')));
  // Without a registry's name it is Docker Hub's, which hands out tokens.
  if (!/[.:]/.test(authority) && authority !== 'localhost') return false;
  for (const scheme of ['https', 'http'] as const) {
    const challenge = await readChallenge(scheme, authority, timeoutMs);
    if (challenge !== undefined) return /^basic\b/i.test(challenge);
  }
  return false;
}

/** The header WWW-Authenticate of an answer with 401, '' for another answer, undefined for none. */
function readChallenge(scheme: 'http' | 'https', authority: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The certificate is not verified: the answer only says what credentials the registry wants.
    const options: RequestOptions & { rejectUnauthorized?: boolean } = {
      // A bound for the whole answer, also for one that comes drop by drop.
      signal: AbortSignal.timeout(timeoutMs),
      agent: false,
      rejectUnauthorized: false,
    };
    const onAnswer = (answer: IncomingMessage) => {
      answer.destroy();
      resolve(answer.statusCode === 401 ? (answer.headers['www-authenticate'] ?? '') : '');
    };
    try {
      const asked = (scheme === 'https' ? tlsRequest : plainRequest)(`${scheme}://${authority}/v2/`, options, onAnswer);
      asked.on('error', () => resolve(undefined));
      asked.on('close', () => resolve(undefined));
      asked.end();
    } catch {
      // No address that could be asked.
      resolve(undefined);
    }
  });
}
