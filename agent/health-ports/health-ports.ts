import { createServer, type Server } from 'node:http';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { TableService } from '../service-table/service.ts';
import { wordsOf } from '../words-of.ts';
import { healthAnswer } from './health-answer.ts';

export interface HealthPortsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  /** Told once when the port of a service cannot be served, and again when that changes. */
  readonly onFailure: (key: string, words: string) => void;
  /** Where ports are served (default: all addresses). */
  readonly host?: string;
}

interface Served {
  readonly port: number;
  service: TableService;
  server?: Server | undefined;
  cancel?: () => void;
  failed?: string;
}

/** A load balancer asks every few seconds; what comes on top is turned away. */
const mostConnections = 32;
/** From the request's first byte to its last, and the longest that a connection does nothing. */
const patienceMs = 5_000;
const retryMs = 5_000;

/**
 * Serves the ports by which load balancers know which nodes have endpoints of a service with policy Local
 * (`spec.healthCheckNodePort`), as kube-proxy does: 200 with at least one ready endpoint on this node, else 503.
 */
export class HealthPorts {
  readonly #options: HealthPortsOptions;
  readonly #served = new Map<string, Served>();
  #isRunning = false;

  constructor(options: HealthPortsOptions) {
    this.#options = options;
  }

  set(key: string, service: TableService | undefined): void {
    const before = this.#served.get(key);
    const port = service?.healthPort;
    if (before && service && before.port === port) {
      before.service = service;
      return;
    }
    if (before) this.#end(key, before);
    if (service === undefined || port === undefined) return;
    const served: Served = { port, service };
    this.#served.set(key, served);
    if (this.#isRunning) this.#begin(key, served);
  }

  /** Until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#isRunning = true;
    for (const [key, served] of this.#served) this.#begin(key, served);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.#isRunning = false;
    for (const [key, served] of [...this.#served]) this.#end(key, served);
  }

  #begin(key: string, served: Served): void {
    const server = createServer(
      { requestTimeout: patienceMs, headersTimeout: patienceMs, maxHeaderSize: 4_096 },
      (request, response) => {
        const { status, body, endpoints } = healthAnswer(key, served.service, this.#options.nodeName);
        request.resume();
        response.writeHead(status, {
          ...{ 'content-type': 'application/json', 'x-content-type-options': 'nosniff', connection: 'close' },
          'x-load-balancing-endpoint-weight': String(endpoints),
        });
        response.end(body);
      },
    );
    server.maxConnections = mostConnections;
    server.setTimeout(patienceMs);
    served.server = server;
    server.on('error', (error) => this.#failed(key, served, error));
    server.listen({ port: served.port, host: this.#options.host }, () => {
      delete served.failed;
    });
  }

  #failed(key: string, served: Served, error: Error): void {
    const { clock, logger, onFailure } = this.#options;
    served.server?.close();
    served.server = undefined;
    if (this.#served.get(key) !== served || !this.#isRunning) return;
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const why = isTaken ? 'another program on the node listens on it' : wordsOf(error);
    const words = `the health port ${served.port} is not served on node ${this.#options.nodeName}: ${why}`;
    if (words !== served.failed) {
      logger.warn({ service: key }, words);
      onFailure(key, words);
    }
    served.failed = words;
    served.cancel = clock.after(retryMs, () => this.#begin(key, served));
  }

  #end(key: string, served: Served): void {
    this.#served.delete(key);
    served.cancel?.();
    served.server?.close();
    served.server?.closeAllConnections();
  }
}
