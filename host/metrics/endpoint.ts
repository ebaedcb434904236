import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { contentTypes, formatFor, formatMetrics, type MetricsRegistry } from '../../api/metrics/index.ts';
import { parseListen } from '../paths.ts';

export interface EndpointOptions {
  readonly registry: MetricsRegistry;
  /** HOST:PORT. */
  readonly address: string;
  /** Takes a free port of the same host when the port is taken. */
  readonly mayMove: boolean;
}

export interface Endpoint {
  /** Where it listens, with the real port. */
  readonly address: string;
  close(): void;
}

/** Prometheus asks with one connection for each server; a person and a few more besides. */
const maxConnections = 32;
/** A client that sends half a request loses its connection. */
const requestMs = 10_000;

/**
 * Answers GET /metrics, and the pages beside it, over plain HTTP with what a registry holds, without authentication.
 * Throws an Error in plain words when the port cannot be had.
 */
export async function openMetricsEndpoint({ registry, address, mayMove }: EndpointOptions): Promise<Endpoint> {
  const place = parseListen(address);
  if (place === undefined) throw new Error(`--metrics-address "${address}" must be HOST:PORT, e.g. 127.0.0.1:7444, or "off"`);
  // Not before it is needed: without metrics nothing of it is loaded.
  const { createServer } = await import('node:http');
  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => void answer(registry, request, response),
  );
  server.maxConnections = maxConnections;
  const port = await listen(server, place, mayMove);
  const host = place.host.includes(':') ? `[${place.host}]` : place.host;
  return {
    address: `${host}:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server, { host, port }: { host: string; port: number }, mayMove: boolean): Promise<number> {
  try {
    return await bind(server, host, port);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && mayMove) return bind(server, host, 0);
    const why = code === 'EADDRINUSE' ? 'the port is taken; choose another, or "off"' : message;
    throw new Error(`cannot serve metrics on ${host}:${port}: ${why} (--metrics-address)`, { cause: error });
  }
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.removeListener('error', reject);
      // Metrics alone keep no process alive.
      server.unref();
      resolve((server.address() as { port: number }).port);
    });
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answer(registry: MetricsRegistry, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, text, headers } = await decideAnswer(registry, request);
  const type = { 'content-type': 'text/plain; charset=utf-8', 'content-length': String(Buffer.byteLength(text)) };
  response.writeHead(status, { ...type, ...headers }).end(request.method === 'HEAD' ? undefined : text);
}

async function decideAnswer(registry: MetricsRegistry, { url = '', method, headers }: IncomingMessage): Promise<Answer> {
  const path = url.split('?')[0] ?? '';
  const page = registry.page(path);
  if (path !== '/metrics' && page === undefined)
    return { status: 404, text: `there is only ${['/metrics', ...registry.pagePaths()].join(', ')} here\n` };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'use GET\n', headers: { allow: 'GET, HEAD' } };
  const format = page === undefined ? formatFor(headers.accept) : 'prometheus';
  try {
    const text = page === undefined ? formatMetrics(registry, format) : await page();
    return { status: 200, text, headers: { 'content-type': contentTypes[format] } };
  } catch (error) {
    return { status: 500, text: `cannot read the metrics: ${error instanceof Error ? error.message : String(error)}\n` };
  }
}
