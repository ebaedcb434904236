import type { Logger } from 'pino';
import { splitCertificates } from '../api/meta/authority.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { listenBesides } from './advertise.ts';
import { ConnectionBounds, type ListenerLimits } from './connections/connection-bounds.ts';
import type { Keepalive } from './connections/keepalive.ts';
import type { TlsOptions } from './connections/tls.ts';
import { type HttpListener, type HttpListenerOptions, openHttpListener } from './http/listener/http-listener.ts';
import { openLocalSocket } from './local-socket.ts';
import type { ServerPki } from './pki/pki.ts';
import type { ApiServer } from './rpc/api-server.ts';
import { ListenerCredentials } from './rpc/listener/credentials.ts';
import { Listener } from './rpc/listener/listener.ts';
import { pause, systemStorageClock } from './storage/clock.ts';

export interface Listeners {
  /** Where the server listens, with the real port. */
  readonly address: string;
  readonly port: number;
  /** Where Kubernetes' HTTP API is served, with the real port; undefined: nowhere. */
  readonly kubernetes: string | undefined;
  /** Closes them: takes no new calls, lets running ones end for so long, then cuts them. */
  drain(graceMs: number): Promise<void>;
}

interface ListenersInput {
  readonly api: Pick<ApiServer, 'server' | 'refusals' | 'arrivals' | 'door'>;
  readonly pki: Pick<ServerPki, 'certificates'>;
  readonly metrics: MetricsRegistry;
  readonly tls?: Partial<TlsOptions> | undefined;
  readonly listenerLimits?: Partial<ListenerLimits> | undefined;
  readonly keepalive?: Keepalive | undefined;
  /** Holds the socket for commands of this user. */
  readonly dataDir: string;
  readonly listen: string;
  readonly kubernetesListen?: string | undefined;
  readonly kubernetesMayLack?: boolean | undefined;
  readonly advertise?: string | undefined;
  readonly log: Logger;
}

/** A machine may get its address after Berth has started. */
const retryMs = 5_000;
/** Enough for an answer that is on its way. */
const endAfterMs = 1_000;

/**
 * Listens at the listen address, and at the advertised one. Rejects when the first fails; the second is retried until
 * the signal aborts, because programs on this machine need the server meanwhile.
 */
export async function openListeners(input: ListenersInput, signal: AbortSignal): Promise<Listeners> {
  const { api, listen: at, advertise, pki, log, metrics, listenerLimits: limits } = input;
  const bounds = new ConnectionBounds({ limits, metrics, refusals: api.refusals });
  const { certificates } = pki;
  const credentials = new ListenerCredentials(certificates.serving(), input.tls);
  const listener = new Listener(api.server, { credentials, bounds });
  let trusted = splitCertificates(certificates.trusted());
  const endRenewals = certificates.observe(() => {
    credentials.swap(certificates.serving());
    const before = trusted;
    trusted = splitCertificates(certificates.trusted());
    // What an authority signed that counts no more does not go on with its connections; who dropped it hears so before.
    if (before.some((each) => !trusted.includes(each))) setTimeout(() => bounds.endUntrusted(trusted), endAfterMs).unref();
  });
  const port = await listener.open(at);
  const address = `${at.slice(0, at.lastIndexOf(':'))}:${port}`;
  log.info({ address }, 'the API server is listening');
  await openLocalSocket(listener, { dataDir: input.dataDir, address, log });
  const openBesides = async (): Promise<boolean> => {
    const besides = await listenBesides(address, advertise);
    if (besides === undefined) return false;
    await listener.open(besides);
    log.info({ address: besides }, 'the API server is listening for other machines');
    return true;
  };
  const { tls, keepalive } = input;
  const forHttp = { certificates, door: api.door, arrivals: api.arrivals, bounds, keepalive, tls, advertise, log };
  const http = await openForKubernetes(input, forHttp).catch(async (error: unknown) => {
    endRenewals();
    await listener.drain(0);
    throw error;
  });
  await Promise.all([openBesides, http?.openBesides].map((open) => keepTrying(open, input, signal)));
  const drain = async (graceMs: number): Promise<void> => {
    endRenewals();
    await Promise.all([listener.drain(graceMs), http?.drain(graceMs)]);
  };
  return { address, port, kubernetes: http?.address, drain };
}

/**
 * The listener for Kubernetes' clients; undefined where it is off, or its address is taken and the server goes on
 * without. Otherwise rejects when it cannot listen.
 */
async function openForKubernetes(
  { kubernetesListen: listen, kubernetesMayLack }: ListenersInput,
  options: Omit<HttpListenerOptions, 'listen'>,
): Promise<HttpListener | undefined> {
  if (listen === undefined) return undefined;
  try {
    return await openHttpListener({ ...options, listen });
  } catch (error) {
    const { cause } = error as { readonly cause?: NodeJS.ErrnoException };
    if (!kubernetesMayLack || cause?.code !== 'EADDRINUSE') throw error;
    options.log.warn({ address: listen }, "Kubernetes' clients are not served: another program listens at the default address");
    return undefined;
  }
}

/** Tries once, and from there on until it is open or the signal aborts: a machine may get its address later. */
async function keepTrying(
  open: (() => Promise<boolean>) | undefined,
  { advertise, log }: Pick<ListenersInput, 'advertise' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  if (open === undefined || advertise === undefined) return;
  const tryOnce = (): Promise<boolean> =>
    open().catch((error: unknown) => {
      log.warn({ err: error, advertise }, 'cannot listen at the advertised address: trying again');
      return false;
    });
  if (!(await tryOnce())) void retry(tryOnce, signal);
}

async function retry(tryOnce: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(retryMs, systemStorageClock, signal);
    if (signal.aborted || (await tryOnce())) return;
  }
}
