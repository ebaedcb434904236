import type { Logger } from 'pino';
import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { isApproved, refusalOf } from '../../api/kinds/certificate-signing-request/approval.ts';
import { ownSigners } from '../../api/kinds/certificate-signing-request/signers.ts';
import { textOf } from '../../api/kinds/certificate-signing-request/text.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { AnyObject } from '../registry/any-object.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { nextVersion } from '../registry/next-version.ts';
import { serverContext } from '../registry/server-context.ts';
import { serverVersion } from '../server-version.ts';
import { pause, type StorageClock, systemStorageClock } from '../storage/clock.ts';
import { type Entry, placeOf } from '../watch/entry.ts';
import { certifiedSubject, type KeyPair } from './certificate-facts.ts';
import { checkSubject } from './check-subject.ts';

export interface SignerOptions {
  readonly store: KindStore;
  /** The key that signs; it never leaves this process. Asked for each time, as it may be renewed. */
  readonly authority: () => KeyPair;
  readonly clock?: StorageClock;
  readonly log: Logger;
}

const retryMs = 1_000;

/** Whether the signer has something to do: approved, for it, and neither signed nor failed. */
export function isDue(request: CertificateSigningRequest): boolean {
  const { spec, status } = request;
  return (
    ownSigners.includes(spec?.signerName ?? '') && isApproved(request) && !refusalOf(request) && !status?.certificate?.length
  );
}

/**
 * Signs requests for certificates of nodes and users that are approved, until the signal aborts: writes the certificate
 * into their status. It sits in the API server because the authority's key does.
 */
export async function runSigner(options: SignerOptions, signal: AbortSignal): Promise<void> {
  const { store, clock = systemStorageClock, log } = options;
  const due = new Set<string>();
  let wake = (): void => {};
  const note = (entry: Entry): void => {
    if (!isDue(store.cache.decoder.decode(entry) as CertificateSigningRequest)) return;
    due.add(entry.key);
    wake();
  };
  const leave = store.cache.observe({
    reset: (entries) => {
      for (const entry of entries) store.cache.attempt(entry.key, () => note(entry));
    },
    event: ({ type, entry }) => (type === 'DELETED' ? due.delete(entry.key) : note(entry)),
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      const [key] = due;
      if (key === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      due.delete(key);
      try {
        await signOne(options, key, new Date(clock.now()));
      } catch (error) {
        log.warn({ err: error, request: key }, 'cannot sign a certificate: trying again');
        due.add(key);
        await pause(retryMs, clock, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    leave();
  }
}

async function signOne({ store, authority, log }: SignerOptions, key: string, now: Date): Promise<void> {
  const at = placeOf(key);
  const entry = await store.read(at);
  const request = entry && (store.cache.decoder.decode(entry) as CertificateSigningRequest);
  if (!request || !isDue(request)) return;
  const status = await statusOf(authority(), request, now);
  const compute = (previous: AnyObject): AnyObject => {
    const known = previous as CertificateSigningRequest;
    if (!isDue(known)) return previous;
    const next = nextVersion(store, 'status', { ...known, status: status(known) } as AnyObject, previous);
    // A joining machine may not read anything else.
    const told = { ...next.metadata?.annotations, [annotations.serverVersion]: serverVersion() };
    return { ...next, metadata: { ...next.metadata, annotations: told } };
  };
  try {
    await store.change(at, { context: serverContext, verb: 'update-status', compute });
    log.info({ request: at.name, requester: request.spec?.username }, 'answered a request for a certificate');
  } catch (error) {
    // Gone meanwhile; or written, which is an event of its own.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

type Status = NonNullable<CertificateSigningRequest['status']>;

/** The certificate, or why there can be none: a request that cannot be signed now never can. */
async function statusOf(
  authority: KeyPair,
  { spec }: CertificateSigningRequest,
  now: Date,
): Promise<(previous: CertificateSigningRequest) => Status> {
  const at = secondsTimestamp(now);
  const { signRequest } = await import('./certificates.ts');
  try {
    const certificate = await signRequest(authority, textOf(spec?.request), now, spec?.expirationSeconds);
    // It is not issued yet.
    checkSubject(spec?.signerName ?? '', certifiedSubject(certificate));
    return ({ status }) => ({ ...status, certificate: Buffer.from(certificate) });
  } catch (error) {
    const message = `the request cannot be signed: ${(error as Error).message}`;
    const failed = { type: 'Failed', status: 'True', reason: 'SignerError', message, lastUpdateTime: at, lastTransitionTime: at };
    return ({ status }) => ({ ...status, conditions: [...(status?.conditions ?? []), failed] });
  }
}
