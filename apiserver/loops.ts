import type { MetricsRegistry } from '../api/metrics/index.ts';
import { runTypeChecking } from './admission/policies/type-checking.ts';
import { LocalServices } from './aggregation/local-services.ts';
import { runSecretTokens } from './authn/accounts/secret-tokens.ts';
import { CustomKinds, type CustomKindsOptions } from './custom/custom-kinds.ts';
import type { ServerOptions } from './options.ts';
import { measureCertificates, runCertificateRenewal } from './pki/certificate-renewal.ts';
import type { ServerPki } from './pki/pki.ts';
import { runSigner } from './pki/signer.ts';
import { runExpiries } from './registry/expiry.ts';
import type { Registry } from './registry/registry.ts';
import { runCompaction } from './storage/run-compaction.ts';
import { compactionFailed } from './storage-metrics.ts';

/** What the server does by itself besides answering calls, until the signal aborts. */
export function runLoops(
  { historyMs, eventTtlMs, log, metrics }: ServerOptions & { readonly metrics: MetricsRegistry },
  { registry, pki }: { readonly registry: Registry; readonly pki: ServerPki },
  signal: AbortSignal,
): Promise<void>[] {
  const { stores } = registry;
  const requests = stores.get('CertificateSigningRequest');
  const [secrets, accounts] = [stores.get('Secret'), stores.get('ServiceAccount')];
  const { certificates: authorities, tokenKeys: keys } = pki;
  return [
    runCompaction(registry.storage, { keepMs: historyMs, onError: compactionFailed(log, metrics) }, signal),
    ...runExpiries(registry.stores, { ttlMs: eventTtlMs, log }, signal),
    ...(requests ? [runSigner({ store: requests, authority: () => pki.certificates.authorities.signer, log }, signal)] : []),
    ...(secrets && accounts ? [runSecretTokens({ secrets, accounts, keys, authorities, log }, signal)] : []),
    runCertificateRenewal({ certificates: pki.certificates, log }, signal).finally(
      measureCertificates(metrics, { ends: () => [...pki.certificates.ends(), ...pki.frontProxy.ends()] }),
    ),
    runCertificateRenewal({ certificates: pki.frontProxy, log }, signal),
  ];
}

/**
 * Serves the kinds that users have added, keeps the APIServices of all that is served, and checks policies against the
 * types of kinds; resolves when the kinds of before the start are served, and objects that were missing are written.
 */
export async function startGroups(
  custom: Omit<CustomKindsOptions, 'now' | 'log'>,
  { log, checksNoPolicyTypes }: Pick<ServerOptions, 'log' | 'checksNoPolicyTypes'>,
  signal: AbortSignal,
): Promise<{ readonly ended: readonly Promise<void>[] }> {
  const keepKinds = await new CustomKinds({ ...custom, log, now: () => new Date() }).begin(signal);
  const ended = [keepKinds()];
  const keepServices = await new LocalServices({ ...custom, log }).begin(signal);
  if (!checksNoPolicyTypes) ended.push(runTypeChecking(custom.registry, log, signal));
  return { ended: [...ended, keepServices()] };
}
