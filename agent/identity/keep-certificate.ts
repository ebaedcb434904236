import { isUnimplemented } from '../../api/errors/index.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Clock } from '../../client/clock.ts';
import { createEventRecorder } from '../../client/events/events.ts';
import { agentMetrics } from '../metrics.ts';
import type { AgentOptions } from '../options.ts';
import { leftOf, type RenewalFailure, runRenewal } from './renewal.ts';
import { requestCertificate } from './request-certificate.ts';

type Input = Pick<AgentOptions, 'client' | 'held' | 'nodeName' | 'logger'> & {
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
};

/** Below this fraction of the lifetime, an event warns that the certificate was not renewed. */
const noticedAtRest = 0.1;
const day = 24 * 3_600_000;

/**
 * Renews the node's certificate through the API and follows the cluster's authorities, until the signal aborts; without
 * a certificate of its own, nothing.
 */
export async function keepCertificate(
  { client, held, nodeName, logger, metrics, clock }: Input,
  signal: AbortSignal,
): Promise<void> {
  if (held === undefined) return;
  const requests = client.resource('CertificateSigningRequest');
  const events = createEventRecorder({ client: client.events, component: 'kubelet', host: nodeName, clock, logger });
  const errors = metrics.counter(agentMetrics.renewErrors).with();
  const endReading = metrics.read(agentMetrics.certificateTtl, () => leftOf(held.current(), clock.now()).leftMs / 1_000);
  const onFailure = ({ leftMs, leftOfLife, error }: RenewalFailure): void => {
    errors.inc();
    if (leftOfLife > noticedAtRest) return;
    const text = `the certificate of the node ${leftMs > 0 ? `ends in ${Math.ceil(leftMs / day)} days` : 'has ended'} and cannot be renewed: ${(error as Error).message}`;
    logger.error({ leftMs }, text);
    events.event({ kind: 'Node', apiVersion: 'v1', name: nodeName, uid: nodeName }, 'Warning', 'CertificateExpiring', text);
  };
  const options = {
    held,
    request: (ends: AbortSignal) => requestCertificate({ client: requests, nodeName, clock, signal: ends }),
    authorities: (ends: AbortSignal) => client.certificates.authorities({ signal: ends }).catch(untoldByOldServers),
    onFailure,
  };
  await runRenewal({ ...options, clock, random: Math.random, logger }, signal).finally(endReading);
}

/** A server that is a version older has no such method. */
function untoldByOldServers(error: unknown): undefined {
  if (isUnimplemented(error)) return undefined;
  throw error;
}
